// Terms, votes and roles (section 5.2 of the paper, and the restriction of section 5.4.1).
#include <inttypes.h>

#include "raft-parts.h"
#include "system.h"

static void set_role(Raft *raft, Role role) {
  static const char *const NAMES[] = {"follower", "candidate", "leader"};
  raft->role = role;
  say("term=%" PRIu64 " role=%s", current_term(raft), NAMES[role]);
}

void put_off_election(Raft *raft) {
  int64_t low = raft->timing.election_ns_min;
  raft->election_due_ns = now_ns() + random_between(low, 2 * low);
}

void follow(Raft *raft, uint64_t term, int leader) {
  bool new_term = term > current_term(raft);
  bool new_leader = leader != NO_NODE && (new_term || raft->leader != leader);
  Role before = raft->role;
  if (new_term) storage_set_vote(&raft->storage, term, NO_VOTE);
  raft->leader = leader;
  if (before == LEADER) {
    refuse_waiting(raft);
    put_off_election(raft);
  }
  if (before != FOLLOWER || new_term) set_role(raft, FOLLOWER);
  if (new_leader) say("following %s term=%" PRIu64, node_name(raft, leader), term);
}

void ask_for_vote(Raft *raft, int peer) {
  Message message = {.kind = MESSAGE_VOTE};
  message.as.vote = (Vote){.term = current_term(raft),
                           .from = (uint8_t)raft->self,
                           .last_index = last_index(raft),
                           .last_term = log_term(&raft->storage.log, last_index(raft))};
  raft->outlet.ask_peer(raft->outlet.context, peer, &message);
}

void start_election(Raft *raft) {
  storage_set_vote(&raft->storage, current_term(raft) + 1, raft->self);
  raft->leader = NO_NODE;
  set_role(raft, CANDIDATE);
  put_off_election(raft);
  for (int node = 0; node < raft->cluster.count; node++) {
    if (node == raft->self) continue;
    raft->peers[node].granted = false;
    if (raft->peers[node].linked) ask_for_vote(raft, node);
  }
}

// Whether a candidate's log holds all that may be committed: what a majority has is in this log
// or in one that is at least as new.
static bool is_up_to_date(const Raft *raft, const Vote *vote) {
  uint64_t own_term = log_term(&raft->storage.log, last_index(raft));
  return vote->last_term > own_term ||
         (vote->last_term == own_term && vote->last_index >= last_index(raft));
}

void serve_vote(Raft *raft, Ticket ticket, const Vote *vote) {
  if (vote->term > current_term(raft)) follow(raft, vote->term, NO_NODE);
  int voted_for = raft->storage.voted_for;
  bool granted = vote->term == current_term(raft) && raft->role == FOLLOWER &&
                 (voted_for == NO_VOTE || voted_for == vote->from) && is_up_to_date(raft, vote);
  if (granted && voted_for == NO_VOTE) {
    storage_set_vote(&raft->storage, vote->term, vote->from);
    say("voted for %s term=%" PRIu64, node_name(raft, vote->from), vote->term);
  }
  if (granted) put_off_election(raft);
  Message message = {.kind = MESSAGE_VOTE_REPLY};
  message.as.vote_reply =
      (VoteReply){.term = current_term(raft), .from = (uint8_t)raft->self, .granted = granted};
  raft->outlet.answer(raft->outlet.context, ticket, &message);
}

void receive_vote_reply(Raft *raft, const VoteReply *reply) {
  if (reply->term > current_term(raft)) follow(raft, reply->term, NO_NODE);
  if (raft->role != CANDIDATE || reply->term < current_term(raft)) return;
  if (reply->granted) raft->peers[reply->from].granted = true;
}

void count_votes(Raft *raft) {
  int count = 1;  // Its own, which is durable by now.
  for (int node = 0; node < raft->cluster.count; node++) {
    if (node != raft->self && raft->peers[node].granted) count++;
  }
  if (count < cluster_majority(&raft->cluster)) return;
  set_role(raft, LEADER);
  say("became leader term=%" PRIu64, current_term(raft));
  raft->leader = raft->self;
  start_leading(raft);
}
