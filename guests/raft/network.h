// The connections of one node. It dials every other node and keeps that link up for its requests
// and their replies; it serves the links of the others, and clients, on connections that come in.
#ifndef RAFT_NETWORK_H
#define RAFT_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "connection.h"
#include "raft.h"

enum { INBOUND_COUNT_MAX = 64 };

typedef enum { LINK_DOWN, LINK_DIALLING, LINK_UP } LinkState;

// The connection that this node dials to another one.
typedef struct {
  LinkState state;
  Connection connection;
  int64_t due_ns;         // Down: when to dial. Dialling: when to give up.
  int64_t back_off_ns;    // The pause before the next dial, at most.
  int64_t unanswered_ns;  // Since when a request waits for its reply; 0 for none.
} Link;

// A connection that came in.
typedef struct {
  bool used;
  uint32_t serial;  // Tells it from earlier ones in the same place.
  int peer;         // Who has said hello on it, or NO_NODE: a client, or nobody yet.
  Connection connection;
} Inbound;

typedef struct {
  Raft *raft;
  int listener;
  int64_t patience_ns;  // How long a request or a dial may stay without an answer.
  uint32_t serial;
  Link links[NODE_COUNT_MAX];
  Inbound inbound[INBOUND_COUNT_MAX];
} Network;

// Listens, and makes itself the outlet of `raft`, whose cluster is set already.
void network_open(Network *network, Raft *raft);

// Waits until something comes in or `due_ns`, and hands all that came in to the core.
void network_wait(Network *network, int64_t due_ns);

// Sends what the core has said.
void network_flush(Network *network);

#endif
