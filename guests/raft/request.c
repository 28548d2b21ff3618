// What clients ask for, and when they are answered.
#include <string.h>

#include "raft-parts.h"
#include "system.h"

static void answer(Raft *raft, Ticket ticket, const Request *request, const Session *outcome,
                   const char *value) {
  Message message = {.kind = MESSAGE_ANSWER};
  Answer *fields = &message.as.answer;
  memset(fields, 0, sizeof *fields);
  fields->sequence = request->sequence;
  fields->status = outcome->status;
  fields->index = outcome->index;
  if (raft->leader != NO_NODE) strcpy(fields->leader, node_name(raft, raft->leader));
  if (value != NULL) strcpy(fields->value, value);
  raft->outlet.answer(raft->outlet.context, ticket, &message);
}

static void refuse(Raft *raft, Ticket ticket, const Request *request, Status status) {
  Session outcome = {.status = status};
  answer(raft, ticket, request, &outcome, NULL);
}

// A write that is sent again after it was applied is answered at once; one that is still on its
// way is appended again, and the session makes it one.
static void accept_write(Raft *raft, Ticket ticket, const Request *request) {
  Session outcome;
  if (machine_outcome(&raft->machine, request->client, request->sequence, &outcome)) {
    answer(raft, ticket, request, &outcome, NULL);
    return;
  }
  if (last_index(raft) == LOG_COUNT_MAX) {
    refuse(raft, ticket, request, STATUS_FULL);
    return;
  }
  Entry entry;
  memset(&entry, 0, sizeof entry);
  entry.term = current_term(raft);
  entry.client = request->client;
  entry.sequence = request->sequence;
  entry.operation = request->operation;
  strcpy(entry.key, request->key);
  strcpy(entry.value, request->value);
  storage_append(&raft->storage, &entry);
  raft->writes.items[raft->writes.count++] =
      (Waiting){.ticket = ticket, .request = *request, .index = last_index(raft)};
}

// A read is not logged: it is answered from a state at least as new as all that was committed when
// it came in, once a majority has confirmed that this node still leads.
static void accept_read(Raft *raft, Ticket ticket, const Request *request) {
  // Until the first entry of its own term is committed, a leader does not know what was.
  uint64_t index = raft->commit > raft->term_start ? raft->commit : raft->term_start;
  raft->reads.items[raft->reads.count++] =
      (Waiting){.ticket = ticket, .request = *request, .index = index, .round = raft->round + 1};
  raft->round_wanted = true;
}

void raft_request(Raft *raft, Ticket ticket, const Request *request) {
  bool is_read = request->operation == OPERATION_GET;
  WaitingList *list = is_read ? &raft->reads : &raft->writes;
  if (raft->role != LEADER) {
    refuse(raft, ticket, request, STATUS_NOT_LEADER);
  } else if (list->count == WAITING_COUNT_MAX) {
    refuse(raft, ticket, request, STATUS_BUSY);
  } else if (is_read) {
    accept_read(raft, ticket, request);
  } else {
    accept_write(raft, ticket, request);
  }
}

static void drop_first(WaitingList *list, int count) {
  list->count -= count;
  memmove(list->items, list->items + count, (size_t)list->count * sizeof(Waiting));
}

void answer_writes(Raft *raft) {
  int done = 0;
  for (; done < raft->writes.count; done++) {
    const Waiting *write = &raft->writes.items[done];
    if (write->index > raft->applied) break;
    Session outcome = {.status = STATUS_EXPIRED};
    machine_outcome(&raft->machine, write->request.client, write->request.sequence, &outcome);
    answer(raft, write->ticket, &write->request, &outcome, NULL);
  }
  if (done > 0) drop_first(&raft->writes, done);
}

static uint64_t round_of(const Peer *peer) { return peer->round; }

void answer_reads(Raft *raft) {
  if (raft->reads.count == 0) return;
  uint64_t confirmed = reached_by_majority(raft, raft->round, round_of);
  int done = 0;
  for (; done < raft->reads.count; done++) {
    const Waiting *read = &raft->reads.items[done];
    if (read->round > confirmed || read->index > raft->applied) break;
    const char *value = machine_read(&raft->machine, read->request.key);
    Session outcome = {.index = raft->applied,
                       .status = value == NULL ? STATUS_NOT_FOUND : STATUS_OK};
    answer(raft, read->ticket, &read->request, &outcome, value);
  }
  if (done > 0) drop_first(&raft->reads, done);
}

void refuse_waiting(Raft *raft) {
  for (int i = 0; i < raft->writes.count; i++) {
    refuse(raft, raft->writes.items[i].ticket, &raft->writes.items[i].request, STATUS_NOT_LEADER);
  }
  for (int i = 0; i < raft->reads.count; i++) {
    refuse(raft, raft->reads.items[i].ticket, &raft->reads.items[i].request, STATUS_NOT_LEADER);
  }
  raft->writes.count = raft->reads.count = 0;
}
