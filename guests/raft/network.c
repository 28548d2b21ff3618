#include "network.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "network-parts.h"
#include "system.h"

static Ticket ticket_of(const Network *network, const Inbound *inbound) {
  return (Ticket)inbound->serial << 32 | (Ticket)(inbound - network->inbound);
}

static void drop(Inbound *inbound) {
  connection_close(&inbound->connection);
  inbound->used = false;
}

static void ask_peer(void *context, int peer, const Message *message) {
  link_send(context, peer, message);
}

// An answer goes back on the connection that brought the request, or nowhere.
static void answer(void *context, Ticket ticket, const Message *message) {
  Network *network = context;
  Inbound *inbound = &network->inbound[ticket & 0xffffffff];
  if (!inbound->used || inbound->serial != ticket >> 32) return;
  connection_put(&inbound->connection, message);
}

void network_open(Network *network, Raft *raft) {
  network->raft = raft;
  network->listener = listen_on(raft->cluster.nodes[raft->self].port);
  network->patience_ns = 4 * raft->timing.election_ns_min;
  for (int node = 0; node < raft->cluster.count; node++) link_reset(&network->links[node]);
  raft->outlet = (Outlet){network, ask_peer, answer};
}

static void accept_all(Network *network) {
  int fd;
  while ((fd = accept_from(network->listener)) >= 0) {
    // With all places taken, the one that was silent for longest is given up.
    Inbound *place = &network->inbound[0];
    for (int i = 0; i < INBOUND_COUNT_MAX && place->used; i++) {
      Inbound *other = &network->inbound[i];
      if (!other->used || other->connection.heard_ns < place->connection.heard_ns) place = other;
    }
    if (place->used) drop(place);
    *place = (Inbound){.used = true, .serial = ++network->serial, .peer = NO_NODE};
    connection_start(&place->connection, fd);
  }
}

// A node dials again when it has lost its link, even if nobody has told this side: the connection
// that it had before is dead.
static void greet(Network *network, Inbound *inbound, int peer) {
  if (peer == network->raft->self || peer >= network->raft->cluster.count) return;
  for (int i = 0; i < INBOUND_COUNT_MAX; i++) {
    Inbound *other = &network->inbound[i];
    if (other->used && other->peer == peer && other->serial < inbound->serial) drop(other);
  }
  inbound->peer = peer;
  link_hasten(network, peer);
}

static void serve(Network *network, Inbound *inbound) {
  static Entry room[BATCH_COUNT_MAX];
  Message message = {.room = room};
  Ticket ticket = ticket_of(network, inbound);
  bool open = connection_receive(&inbound->connection);
  int found;
  while ((found = message_read(&inbound->connection.in, &message)) > 0) {
    if (message.kind == MESSAGE_HELLO) {
      greet(network, inbound, message.as.hello.from);
    } else if (message.kind == MESSAGE_REQUEST) {
      raft_request(network->raft, ticket, &message.as.request);
    } else {
      raft_serve(network->raft, ticket, &message);
    }
  }
  if (!open || found < 0) drop(inbound);
}

static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

static struct pollfd interest(const Connection *connection, bool dialling) {
  short events = dialling ? POLLOUT : POLLIN;
  if (buffer_size(&connection->out) > 0) events |= POLLOUT;
  return (struct pollfd){.fd = connection->fd, .events = events};
}

void network_wait(Network *network, int64_t due_ns) {
  int node_count = network->raft->cluster.count, self = network->raft->self;
  struct pollfd entries[1 + NODE_COUNT_MAX + INBOUND_COUNT_MAX];
  entries[0] = (struct pollfd){.fd = network->listener, .events = POLLIN};
  struct pollfd *links = entries + 1, *inbound = links + node_count;
  for (int node = 0; node < node_count; node++) {
    const Link *link = &network->links[node];
    links[node] = interest(&link->connection, link->state == LINK_DIALLING);
    if (node != self) due_ns = earlier(due_ns, link_due_ns(network, node));
  }
  for (int i = 0; i < INBOUND_COUNT_MAX; i++) {
    inbound[i] = interest(&network->inbound[i].connection, false);
    if (!network->inbound[i].used) inbound[i].fd = -1;
  }
  int count = 1 + node_count + INBOUND_COUNT_MAX;
  if (poll(entries, (nfds_t)count, wait_ms(now_ns(), due_ns)) < 0 && errno != EINTR) {
    give_up(EXIT_SYSTEM, "poll: %s", strerror(errno));
  }
  begin_turn();
  for (int node = 0; node < node_count; node++) {
    if (node == self) continue;
    // Ready only for writing: the queue goes out with the next flush.
    bool is_dialling = network->links[node].state == LINK_DIALLING;
    if ((links[node].revents & ~(is_dialling ? 0 : POLLOUT)) != 0) link_ready(network, node);
    link_tick(network, node);
  }
  for (int i = 0; i < INBOUND_COUNT_MAX; i++) {
    // A connection that replaced another in the meantime is only read without need.
    if ((inbound[i].revents & ~POLLOUT) != 0 && network->inbound[i].used) {
      serve(network, &network->inbound[i]);
    }
  }
  if (entries[0].revents != 0) accept_all(network);
}

void network_flush(Network *network) {
  for (int node = 0; node < network->raft->cluster.count; node++) {
    if (node != network->raft->self) link_flush(network, node);
  }
  for (int i = 0; i < INBOUND_COUNT_MAX; i++) {
    Inbound *inbound = &network->inbound[i];
    if (inbound->used && !connection_flush(&inbound->connection)) drop(inbound);
  }
}
