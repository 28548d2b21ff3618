// What the parts of the core call in one another.
#ifndef RAFT_RAFT_PARTS_H
#define RAFT_RAFT_PARTS_H

#include "raft.h"

// raft.c
const char *node_name(const Raft *raft, int node);
uint64_t current_term(const Raft *raft);
uint64_t last_index(const Raft *raft);
// The value that a majority of the nodes has reached: `own` for this node, `of_peer` for others.
uint64_t reached_by_majority(const Raft *raft, uint64_t own, uint64_t (*of_peer)(const Peer *peer));

// election.c
// Follows in `term`, which is at least the current one; `leader` may be NO_NODE.
void follow(Raft *raft, uint64_t term, int leader);
void put_off_election(Raft *raft);
void start_election(Raft *raft);
void ask_for_vote(Raft *raft, int peer);
void serve_vote(Raft *raft, Ticket ticket, const Vote *vote);
void receive_vote_reply(Raft *raft, const VoteReply *reply);
// Becomes leader if a majority has voted for this candidate.
void count_votes(Raft *raft);

// replication.c
void start_leading(Raft *raft);
void serve_append(Raft *raft, Ticket ticket, const Append *append);
void receive_append_reply(Raft *raft, const AppendReply *reply);
// Steps down when a majority has not been heard for an election timeout.
void check_majority(Raft *raft);
void advance_commit(Raft *raft);
// Sends entries, heartbeats and rounds that are due.
void replicate(Raft *raft);

// request.c
void answer_writes(Raft *raft);
void answer_reads(Raft *raft);
// Tells all who wait to ask another node.
void refuse_waiting(Raft *raft);

#endif
