#include "raft.h"

#include <inttypes.h>

#include "raft-parts.h"
#include "system.h"

const char *node_name(const Raft *raft, int node) { return raft->cluster.nodes[node].name; }

uint64_t current_term(const Raft *raft) { return raft->storage.term; }

uint64_t last_index(const Raft *raft) { return log_last(&raft->storage.log); }

uint64_t reached_by_majority(const Raft *raft, uint64_t own, uint64_t (*of_peer)(const Peer *)) {
  uint64_t values[NODE_COUNT_MAX];
  // Insertion into descending order: the majority-th value was reached by that many nodes.
  for (int node = 0; node < raft->cluster.count; node++) {
    uint64_t value = node == raft->self ? own : of_peer(&raft->peers[node]);
    int place = node;
    for (; place > 0 && values[place - 1] < value; place--) values[place] = values[place - 1];
    values[place] = value;
  }
  return values[cluster_majority(&raft->cluster) - 1];
}

void raft_open(Raft *raft, const char *directory) {
  bool restarted = storage_open(&raft->storage, directory);
  raft->leader = NO_NODE;
  say("%s term=%" PRIu64 " last=%" PRIu64, restarted ? "restarted" : "started", current_term(raft),
      last_index(raft));
  must_hold(current_term(raft) >= log_term(&raft->storage.log, last_index(raft)),
            "the log is newer than the term");
  put_off_election(raft);
}

void raft_link_up(Raft *raft, int peer) {
  raft->peers[peer].linked = true;
  raft->peers[peer].batch_end = 0;
  raft->peers[peer].heartbeat_due_ns = now_ns();
  if (raft->role == CANDIDATE && !raft->peers[peer].granted) ask_for_vote(raft, peer);
}

void raft_link_down(Raft *raft, int peer) {
  raft->peers[peer].linked = false;
  raft->peers[peer].batch_end = 0;
}

static bool is_peer(const Raft *raft, int node) {
  return node < raft->cluster.count && node != raft->self;
}

void raft_serve(Raft *raft, Ticket ticket, const Message *message) {
  if (message->kind == MESSAGE_VOTE && is_peer(raft, message->as.vote.from)) {
    serve_vote(raft, ticket, &message->as.vote);
  } else if (message->kind == MESSAGE_APPEND && is_peer(raft, message->as.append.from)) {
    serve_append(raft, ticket, &message->as.append);
  }
}

void raft_receive(Raft *raft, const Message *message) {
  if (message->kind == MESSAGE_VOTE_REPLY && is_peer(raft, message->as.vote_reply.from)) {
    receive_vote_reply(raft, &message->as.vote_reply);
  } else if (message->kind == MESSAGE_APPEND_REPLY &&
             is_peer(raft, message->as.append_reply.from)) {
    receive_append_reply(raft, &message->as.append_reply);
  }
}

int64_t raft_due_ns(const Raft *raft) {
  if (raft->role != LEADER) return raft->election_due_ns;
  int64_t due_ns = INT64_MAX;
  for (int node = 0; node < raft->cluster.count; node++) {
    if (node != raft->self && raft->peers[node].heartbeat_due_ns < due_ns) {
      due_ns = raft->peers[node].heartbeat_due_ns;
    }
  }
  return due_ns;
}

void raft_tick(Raft *raft) {
  if (raft->role == LEADER) {
    check_majority(raft);
  } else if (now_ns() >= raft->election_due_ns) {
    start_election(raft);
  }
}

static void apply_committed(Raft *raft) {
  while (raft->applied < raft->commit) {
    uint64_t index = ++raft->applied;
    const Entry *entry = log_at(&raft->storage.log, index);
    machine_apply(&raft->machine, entry, index);
    if (entry->operation == OPERATION_NOOP) {
      say("applied index=%" PRIu64 " term=%" PRIu64 " op=noop -", index, entry->term);
    } else {
      say("applied index=%" PRIu64 " term=%" PRIu64 " op=set %s=%s", index, entry->term, entry->key,
          entry->value);
    }
  }
}

void raft_settle(Raft *raft) {
  // A second time when the first has made this node a leader: it then appends its no-op.
  do {
    storage_sync(&raft->storage);
    if (raft->role == LEADER) advance_commit(raft);
    apply_committed(raft);
    answer_writes(raft);
    if (raft->role == CANDIDATE) count_votes(raft);
  } while (storage_is_dirty(&raft->storage));
  if (raft->role == LEADER) replicate(raft);
  answer_reads(raft);
}
