#include <stdlib.h>
#include <string.h>

#include "replicas.h"

enum { WRITE_COUNT = 30, TIMEOUT_MS = 60 };

ReplicaCase replica_case(const char *name, bool bug) {
  if (strcmp(name, "vote-in-two-writes") == 0) {
    return (ReplicaCase){
        .replica_count = 3, .members = 7, .short_reigns = true, .two_writes = bug};
  }
  if (strcmp(name, "membership-change") == 0) {
    return (ReplicaCase){.replica_count = 5,
                         .members = 15,
                         .keeps_log = true,
                         .changes_members = true,
                         .short_reigns = true,
                         .changes_early = bug};
  }
  if (strcmp(name, "stale-read") == 0) {
    return (ReplicaCase){
        .replica_count = 3, .members = 7, .serves_reads = true, .client_rounds = bug};
  }
  return (ReplicaCase){.replica_count = 3, .members = 7, .keeps_log = true, .truncates = bug};
}

static bool ask(int server, Role role, Message request, Message *answer) {
  request.kind = REQUEST;
  request.from = role.self;
  post(server, &request);
  int64_t deadline_ms = now_ms() + TIMEOUT_MS;
  while (receive_until(deadline_ms, answer)) {
    if (answer->kind == ANSWER && answer->a == request.a && answer->c == request.c) return true;
  }
  return false;
}

// Writes growing numbers and reads: what is read must not be older than what was acknowledged.
void run_replica_client(const ReplicaCase *rules, Role role) {
  Message answer;
  int server = 0, number = 0, read_number = 1;
  for (int value = 1; value <= WRITE_COUNT; value++) {
    number++;
    while (!ask(server, role, (Message){.a = number, .b = value, .c = OPERATION_WRITE}, &answer)) {
      server = (server + 1) % rules->replica_count;
    }
    if (!rules->serves_reads) continue;
    // A read that was not answered is given up. With the bug, the next one uses its number again.
    int reader = random_below(rules->replica_count);
    bool answered = ask(reader, role, (Message){.a = read_number}, &answer);
    if (answered && answer.b < value) give_up("wrong: acknowledged %d, read %d", value, answer.b);
    if (answered || !rules->client_rounds) read_number++;
  }
  say("done");
  exit(0);
}
