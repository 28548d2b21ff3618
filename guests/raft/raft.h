// One node's part in the consensus: "In Search of an Understandable Consensus Algorithm", Ongaro
// and Ousterhout, 2014, figure 2; reads and client sessions as in Ongaro's dissertation, chapter 6.
//
// The core knows neither sockets nor frames. It is told what came in and what time it is by calls,
// and it speaks through an Outlet. Whoever drives it calls raft_settle after a batch of calls and
// lets nothing out before that: raft_settle makes the state durable first.
#ifndef RAFT_RAFT_H
#define RAFT_RAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster.h"
#include "machine.h"
#include "message.h"
#include "storage.h"

enum { WAITING_COUNT_MAX = 128, NO_NODE = -1 };

typedef enum { FOLLOWER, CANDIDATE, LEADER } Role;

// Names the connection that a request came in on, for as long as it exists.
typedef uint64_t Ticket;

// Where messages go. Both may drop what they get: Raft expects no more from a network.
typedef struct {
  void *context;
  void (*ask_peer)(void *context, int peer, const Message *message);
  void (*answer)(void *context, Ticket ticket, const Message *message);
} Outlet;

typedef struct {
  int64_t heartbeat_ns;
  // A follower that hears no leader waits this long at least, and twice this at most.
  int64_t election_ns_min;
} Timing;

typedef struct {
  bool linked;
  bool granted;  // Whether it has voted for this node, while that is a candidate.
  // While it is the leader:
  uint64_t next;       // The next position to send.
  uint64_t match;      // Up to here that log is known to equal ours, durably.
  uint64_t batch_end;  // Last position of the batch under way, 0 for none.
  uint64_t round;      // The newest round that it has answered.
  int64_t heard_ns;
  int64_t heartbeat_due_ns;
} Peer;

// A client that waits for its write, or for its read.
typedef struct {
  Ticket ticket;
  Request request;
  // A write is at this position; a read waits until this position is applied.
  uint64_t index;
  // A read also waits until a majority has answered this round: so it is known that no other
  // leader has committed anything since it came in.
  uint64_t round;
} Waiting;

typedef struct {
  Waiting items[WAITING_COUNT_MAX];
  int count;
} WaitingList;

typedef struct {
  Cluster cluster;
  int self;
  Timing timing;
  Outlet outlet;
  Storage storage;  // Term, vote and log.
  Machine machine;
  Role role;
  int leader;  // Who leads this term, or NO_NODE.
  uint64_t commit;
  uint64_t applied;
  int64_t election_due_ns;
  Peer peers[NODE_COUNT_MAX];  // That of `self` is not used.
  uint64_t term_start;         // Position of this leader's no-op.
  uint64_t round;
  bool round_wanted;
  WaitingList writes;  // In the order of their positions.
  WaitingList reads;
} Raft;

// Recovers the node from `directory`. All fields that are set before the call stay: `cluster`,
// `self`, `timing` and `outlet`.
void raft_open(Raft *raft, const char *directory);

void raft_link_up(Raft *raft, int peer);
void raft_link_down(Raft *raft, int peer);
// A request of another node. Messages that name no other node are ignored, here and below.
void raft_serve(Raft *raft, Ticket ticket, const Message *message);
// A reply of another node.
void raft_receive(Raft *raft, const Message *message);
// A request of a client.
void raft_request(Raft *raft, Ticket ticket, const Request *request);

// When raft_tick is due.
int64_t raft_due_ns(const Raft *raft);
void raft_tick(Raft *raft);

// Makes durable what the calls before have changed and draws the consequences. Afterwards what was
// given to the outlet may leave.
void raft_settle(Raft *raft);

#endif
