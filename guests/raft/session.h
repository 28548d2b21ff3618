// A client's session: one request after the other, each sent again until a leader answers it.
#ifndef RAFT_SESSION_H
#define RAFT_SESSION_H

#include <stdint.h>

#include "cluster.h"
#include "connection.h"
#include "message.h"

typedef struct {
  Cluster cluster;
  uint64_t id;        // Drawn; names the session to the servers.
  uint64_t sequence;  // Of the last request.
  int server;         // Whom to ask.
  Connection connection;
  int timeout_ms;  // For a connection, and for an answer.
  int try_count_max;
  int retry_count;  // In all.
} ClientSession;

// Sets the session up; `cluster`, `timeout_ms` and `try_count_max` are given.
void session_start(ClientSession *session);

// Asks until there is an answer that is final. A write that is sent twice is applied once. Ends
// the program (exit 1) after `try_count_max` tries for one request.
Answer session_ask(ClientSession *session, uint8_t operation, const char *key, const char *value);

#endif
