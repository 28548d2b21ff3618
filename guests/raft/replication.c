// The leader's log on all nodes (section 5.3 of the paper), and commitment (section 5.4.2).
#include <inttypes.h>

#include "raft-parts.h"
#include "system.h"

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

void start_leading(Raft *raft) {
  // Entries of earlier terms are never committed by counting; this one is, and they with it.
  Entry noop = {.term = current_term(raft), .operation = OPERATION_NOOP};
  for (int node = 0; node < raft->cluster.count; node++) {
    Peer *peer = &raft->peers[node];
    peer->next = last_index(raft) + 1;
    peer->match = 0;
    peer->batch_end = 0;
    peer->round = 0;
    peer->heard_ns = peer->heartbeat_due_ns = now_ns();
  }
  raft->term_start = last_index(raft) + 1;
  raft->round = 0;
  raft->round_wanted = false;
  storage_append(&raft->storage, &noop);
}

static void reply(Raft *raft, Ticket ticket, const Append *append, bool accepted, uint64_t index) {
  Message message = {.kind = MESSAGE_APPEND_REPLY};
  message.as.append_reply = (AppendReply){.term = current_term(raft),
                                          .from = (uint8_t)raft->self,
                                          .accepted = accepted,
                                          .index = index,
                                          .round = append->round};
  raft->outlet.answer(raft->outlet.context, ticket, &message);
}

// Where the leader should try again: whole terms are skipped, so that a long wrong end costs one
// message for each term in it.
static uint64_t retry_index(const Raft *raft, uint64_t before_index) {
  if (before_index > last_index(raft)) return last_index(raft) + 1;
  return larger(log_term_start(&raft->storage.log, before_index), raft->commit + 1);
}

static void take_entries(Raft *raft, const Append *append) {
  for (int i = 0; i < append->count; i++) {
    uint64_t index = append->before_index + 1 + (uint64_t)i;
    if (index <= last_index(raft)) {
      if (log_term(&raft->storage.log, index) == append->entries[i].term) continue;
      must_hold(index > raft->commit, "a committed entry would be overwritten");
      say("truncated from=%" PRIu64 " last=%" PRIu64, index, last_index(raft));
      storage_truncate(&raft->storage, index);
    }
    storage_append(&raft->storage, &append->entries[i]);
  }
}

void serve_append(Raft *raft, Ticket ticket, const Append *append) {
  if (append->term < current_term(raft)) {
    reply(raft, ticket, append, false, 0);
    return;
  }
  must_hold(append->term > current_term(raft) || raft->role != LEADER, "two leaders in one term");
  follow(raft, append->term, append->from);
  put_off_election(raft);
  const Log *log = &raft->storage.log;
  if (append->before_index > last_index(raft) ||
      log_term(log, append->before_index) != append->before_term) {
    must_hold(append->before_index > raft->commit, "a committed entry is not in the leader's log");
    reply(raft, ticket, append, false, retry_index(raft, append->before_index));
    return;
  }
  if (append->before_index + append->count > LOG_COUNT_MAX) return;
  take_entries(raft, append);
  uint64_t equal_until = append->before_index + append->count;
  raft->commit = larger(raft->commit, smaller(append->commit, equal_until));
  reply(raft, ticket, append, true, equal_until);
}

void receive_append_reply(Raft *raft, const AppendReply *reply) {
  if (reply->term > current_term(raft)) follow(raft, reply->term, NO_NODE);
  if (raft->role != LEADER || reply->term < current_term(raft)) return;
  if (!reply->accepted && reply->index == 0) return;  // To what it sent in an earlier term.
  Peer *peer = &raft->peers[reply->from];
  peer->heard_ns = now_ns();
  peer->round = larger(peer->round, smaller(reply->round, raft->round));
  if (reply->accepted) {
    peer->match = larger(peer->match, smaller(reply->index, last_index(raft)));
    peer->next = larger(peer->next, peer->match + 1);
    if (peer->match >= peer->batch_end) peer->batch_end = 0;
  } else {
    must_hold(reply->index > peer->match, "a node lost entries that it had acknowledged");
    peer->next = smaller(reply->index, peer->next);
    peer->batch_end = 0;
    peer->heartbeat_due_ns = now_ns();  // Find the common part without waiting.
  }
}

void check_majority(Raft *raft) {
  int64_t patience_ns = 2 * raft->timing.election_ns_min;
  int count = 1;
  for (int node = 0; node < raft->cluster.count; node++) {
    if (node != raft->self && now_ns() - raft->peers[node].heard_ns <= patience_ns) count++;
  }
  if (count >= cluster_majority(&raft->cluster)) return;
  say("lost the majority term=%" PRIu64, current_term(raft));
  follow(raft, current_term(raft), NO_NODE);
}

static uint64_t match_of(const Peer *peer) { return peer->match; }

void advance_commit(Raft *raft) {
  uint64_t index = reached_by_majority(raft, last_index(raft), match_of);
  if (index <= raft->commit) return;
  if (log_term(&raft->storage.log, index) != current_term(raft)) return;
  raft->commit = index;
}

static void send_append(Raft *raft, int node) {
  Peer *peer = &raft->peers[node];
  uint64_t count = 0;
  if (peer->batch_end == 0) {
    count = smaller(last_index(raft) + 1 - peer->next, BATCH_COUNT_MAX);
    if (count > 0) peer->batch_end = peer->next + count - 1;
  }
  Message message = {.kind = MESSAGE_APPEND};
  message.as.append =
      (Append){.term = current_term(raft),
               .from = (uint8_t)raft->self,
               .before_index = peer->next - 1,
               .before_term = log_term(&raft->storage.log, peer->next - 1),
               .commit = raft->commit,
               .round = raft->round,
               .count = (uint8_t)count,
               .entries = count == 0 ? NULL : log_at(&raft->storage.log, peer->next)};
  raft->outlet.ask_peer(raft->outlet.context, node, &message);
}

void replicate(Raft *raft) {
  bool new_round = raft->round_wanted;
  raft->round_wanted = false;
  if (new_round) raft->round++;
  int64_t now = now_ns();
  for (int node = 0; node < raft->cluster.count; node++) {
    if (node == raft->self) continue;
    Peer *peer = &raft->peers[node];
    bool has_batch = peer->batch_end == 0 && peer->next <= last_index(raft);
    bool is_due = now >= peer->heartbeat_due_ns;
    if (!has_batch && !is_due && !new_round) continue;
    peer->heartbeat_due_ns = now + raft->timing.heartbeat_ns;
    if (peer->linked) send_append(raft, node);
  }
}
