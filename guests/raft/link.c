// Links: dialling, giving up, trying again.
#include <errno.h>
#include <string.h>

#include "network-parts.h"
#include "system.h"

enum { BACK_OFF_MS_MIN = 20, BACK_OFF_MS_MAX = 500 };

static const char *reason(void) { return errno == 0 ? "closed" : strerror(errno); }

void link_reset(Link *link) {
  *link =
      (Link){.state = LINK_DOWN, .due_ns = now_ns(), .back_off_ns = BACK_OFF_MS_MIN * NS_PER_MS};
  link->connection.fd = NO_SOCKET;
}

static void retry_later(Link *link) {
  link->state = LINK_DOWN;
  // Half of the pause is drawn, so that nodes which lost one another do not move in step.
  link->due_ns = now_ns() + random_between(link->back_off_ns / 2, link->back_off_ns);
  link->back_off_ns *= 2;
  if (link->back_off_ns > BACK_OFF_MS_MAX * (int64_t)NS_PER_MS) {
    link->back_off_ns = BACK_OFF_MS_MAX * (int64_t)NS_PER_MS;
  }
}

void link_lose(Network *network, int node, const char *why) {
  Link *link = &network->links[node];
  if (link->state == LINK_UP) {
    say("link %s lost: %s", network->raft->cluster.nodes[node].name, why);
    raft_link_down(network->raft, node);
  }
  if (link->connection.fd != NO_SOCKET) connection_close(&link->connection);
  link->unanswered_ns = 0;
  retry_later(link);
}

static void begin(Network *network, int node) {
  Link *link = &network->links[node];
  int fd = dial(&network->raft->cluster.nodes[node]);
  if (fd < 0) {
    retry_later(link);
    return;
  }
  connection_start(&link->connection, fd);
  link->state = LINK_DIALLING;
  link->due_ns = now_ns() + network->patience_ns;
}

static void finish_dialling(Network *network, int node) {
  Link *link = &network->links[node];
  if (!dial_succeeded(link->connection.fd)) {
    link_lose(network, node, reason());
    return;
  }
  link->state = LINK_UP;
  say("link %s up", network->raft->cluster.nodes[node].name);
  Message hello = {.kind = MESSAGE_HELLO, .as.hello = {(uint8_t)network->raft->self}};
  connection_put(&link->connection, &hello);
  raft_link_up(network->raft, node);
}

static void receive(Network *network, int node) {
  Link *link = &network->links[node];
  bool open = connection_receive(&link->connection);
  const char *why = reason();
  static Entry room[BATCH_COUNT_MAX];
  Message message = {.room = room};
  int found;
  while ((found = message_read(&link->connection.in, &message)) > 0) {
    link->unanswered_ns = 0;
    link->back_off_ns = BACK_OFF_MS_MIN * NS_PER_MS;
    raft_receive(network->raft, &message);
  }
  if (!open || found < 0) link_lose(network, node, open ? "not a message" : why);
}

void link_ready(Network *network, int node) {
  if (network->links[node].state == LINK_DIALLING) {
    finish_dialling(network, node);
  } else {
    receive(network, node);
  }
}

void link_hasten(Network *network, int node) {
  Link *link = &network->links[node];
  int64_t dialled_ns = link->due_ns - network->patience_ns;
  if (link->state == LINK_DOWN) {
    link->due_ns = now_ns();
  } else if (link->state == LINK_DIALLING && now_ns() - dialled_ns > network->patience_ns / 4) {
    // That call went to a host that was gone, and TCP would repeat it after a second only.
    link_lose(network, node, "dialled again");
    link->due_ns = now_ns();
  }
}

void link_send(Network *network, int node, const Message *message) {
  Link *link = &network->links[node];
  if (link->state != LINK_UP) return;
  if (!connection_put(&link->connection, message)) return;
  if (link->unanswered_ns == 0) link->unanswered_ns = now_ns();
}

void link_flush(Network *network, int node) {
  Link *link = &network->links[node];
  if (link->state != LINK_UP || connection_flush(&link->connection)) return;
  link_lose(network, node, reason());
}

// When link_tick has something to do.
int64_t link_due_ns(const Network *network, int node) {
  const Link *link = &network->links[node];
  if (link->state != LINK_UP) return link->due_ns;
  return link->unanswered_ns == 0 ? INT64_MAX : link->unanswered_ns + network->patience_ns;
}

void link_tick(Network *network, int node) {
  if (now_ns() < link_due_ns(network, node)) return;
  switch (network->links[node].state) {
    case LINK_DOWN:
      begin(network, node);
      break;
    case LINK_DIALLING:
    case LINK_UP:
      // The other side may be gone without a word. TCP would wait for minutes.
      link_lose(network, node, "no answer");
      break;
  }
}
