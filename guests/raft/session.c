#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "system.h"

enum { PAUSE_MS_MIN = 10, PAUSE_MS_MAX = 60, EXIT_GAVE_UP = 1 };

void session_start(ClientSession *session) {
  do {
    session->id = random_u64();
  } while (session->id == 0);
  session->server = (int)random_between(0, session->cluster.count - 1);
  session->connection.fd = NO_SOCKET;
}

static void disconnect(ClientSession *session) {
  if (session->connection.fd != NO_SOCKET) connection_close(&session->connection);
}

// Waits for the socket; false at the deadline, with errno.
static bool wait_for(int fd, short events, int64_t deadline_ns) {
  struct pollfd entry = {.fd = fd, .events = events};
  int ready = poll(&entry, 1, wait_ms(now_ns(), deadline_ns));
  if (ready == 0) errno = ETIMEDOUT;
  begin_turn();
  return ready > 0;
}

static bool connect_to_server(ClientSession *session, int64_t deadline_ns) {
  if (session->connection.fd != NO_SOCKET) return true;
  int fd = dial(&session->cluster.nodes[session->server]);
  if (fd < 0) return false;
  connection_start(&session->connection, fd);
  return wait_for(fd, POLLOUT, deadline_ns) && dial_succeeded(fd);
}

static bool send_request(ClientSession *session, const Request *request, int64_t deadline_ns) {
  Message message = {.kind = MESSAGE_REQUEST};
  message.as.request = *request;
  connection_put(&session->connection, &message);
  while (connection_flush(&session->connection)) {
    if (buffer_size(&session->connection.out) == 0) return true;
    if (!wait_for(session->connection.fd, POLLOUT, deadline_ns)) return false;
  }
  return false;
}

static bool receive_answer(ClientSession *session, uint64_t sequence, int64_t deadline_ns,
                           Answer *answer) {
  static Entry room[BATCH_COUNT_MAX];
  Message message = {.room = room};
  while (wait_for(session->connection.fd, POLLIN, deadline_ns)) {
    if (!connection_receive(&session->connection)) return false;
    int found;
    while ((found = message_read(&session->connection.in, &message)) > 0) {
      // An answer to an earlier request came too late for it.
      if (message.kind != MESSAGE_ANSWER || message.as.answer.sequence != sequence) continue;
      *answer = message.as.answer;
      return true;
    }
    if (found < 0) {
      errno = EPROTO;
      return false;
    }
  }
  return false;
}

// One try. False, with errno, when there was no answer.
static bool ask_server(ClientSession *session, const Request *request, Answer *answer) {
  int64_t deadline_ns = now_ns() + session->timeout_ms * (int64_t)NS_PER_MS;
  return connect_to_server(session, deadline_ns) && send_request(session, request, deadline_ns) &&
         receive_answer(session, request->sequence, deadline_ns, answer);
}

static void turn_to(ClientSession *session, int server) {
  if (server == session->server) return;
  disconnect(session);
  session->server = server;
}

// Chooses whom to ask next, and waits a little unless somebody knows the leader.
static void choose_server(ClientSession *session, const Answer *answer) {
  const char *server = session->cluster.nodes[session->server].name;
  int next = (session->server + 1) % session->cluster.count;
  if (answer == NULL) {
    say("retry sequence=%" PRIu64 " %s: %s", session->sequence, server,
        errno == 0 ? "closed" : strerror(errno));
    disconnect(session);
  } else if (answer->status == STATUS_BUSY) {
    next = session->server;
  } else {
    int leader = cluster_find(&session->cluster, answer->leader);
    say("redirect sequence=%" PRIu64 " %s: leader is %s", session->sequence, server,
        leader < 0 ? "unknown" : answer->leader);
    if (leader >= 0 && leader != session->server) {
      turn_to(session, leader);
      return;
    }
  }
  turn_to(session, next);
  sleep_ms(random_between(PAUSE_MS_MIN, PAUSE_MS_MAX));
}

Answer session_ask(ClientSession *session, uint8_t operation, const char *key, const char *value) {
  Request request = {
      .client = session->id, .sequence = ++session->sequence, .operation = operation};
  strcpy(request.key, key);
  strcpy(request.value, value);
  for (int try = 0; try < session->try_count_max; try++) {
    Answer answer;
    bool answered = ask_server(session, &request, &answer);
    if (answered && answer.status != STATUS_NOT_LEADER && answer.status != STATUS_BUSY) {
      return answer;
    }
    session->retry_count++;
    choose_server(session, answered ? &answer : NULL);
  }
  give_up(EXIT_GAVE_UP, "gave up sequence=%" PRIu64, request.sequence);
}
