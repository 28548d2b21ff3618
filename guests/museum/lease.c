// lease-without-fence: a holder whose lease ended while it was paused still writes.
//
// Node 0 gives leases with growing tokens, node 1 is the storage, nodes 2 and 3 work. With the bug
// the storage does not look at the token. Source of the case: the debate about Redlock.
#include <stdlib.h>

#include "museum.h"

enum {
  ACQUIRE = 1,
  GRANTED,
  RELEASE,
  WRITE,
  WRITTEN,
  LOCK = 0,
  STORAGE = 1,
  LEASE_MS = 100,
  WORK_MS = 40,
  TIMEOUT_MS = 30,
  ROUND_COUNT = 25
};

static void lock(void) {
  Message message;
  int holder = NOBODY, token = 0;
  int64_t end_ms = 0;
  for (;;) {
    if (!receive_until(now_ms() + 60000, &message)) continue;
    // A release that was overtaken by the next request must not end the next lease.
    if (message.kind == RELEASE && message.from == holder && message.a == token) holder = NOBODY;
    if (message.kind != ACQUIRE) continue;
    if (holder != NOBODY && holder != message.from && now_ms() < end_ms) continue;
    holder = message.from;
    end_ms = now_ms() + LEASE_MS;
    say("grants token=%d to=%d", ++token, holder);
    post(holder, &(Message){.kind = GRANTED, .a = token});
  }
}

static void store(bool bug) {
  Message message;
  int newest = 0;
  for (;;) {
    if (!receive_until(now_ms() + 60000, &message) || message.kind != WRITE) continue;
    bool late = message.a < newest;
    if (late && bug) say("wrong: token %d wrote after token %d", message.a, newest);
    if (!late) newest = message.a;
    post(message.from, &(Message){.kind = WRITTEN, .a = message.a});
  }
}

static bool ask(int to, const Message *question, int kind, Message *answer) {
  post(to, question);
  int64_t deadline_ms = now_ms() + TIMEOUT_MS;
  while (receive_until(deadline_ms, answer)) {
    if (answer->kind == kind) return true;
  }
  return false;
}

static void work(int self) {
  Message message;
  for (int round = 0; round < ROUND_COUNT;) {
    if (!ask(LOCK, &(Message){.kind = ACQUIRE, .from = self}, GRANTED, &message)) continue;
    int token = message.a;
    int64_t end_ms = now_ms() + LEASE_MS;
    pause_until(now_ms() + random_below(WORK_MS));
    // The holder looks at the clock, and is paused after that: no care on this side is enough.
    if (now_ms() >= end_ms) continue;
    if (ask(STORAGE, &(Message){.kind = WRITE, .from = self, .a = token}, WRITTEN, &message)) {
      round++;
    }
    post(LOCK, &(Message){.kind = RELEASE, .from = self, .a = token});
  }
  say("done");
  exit(0);
}

void run_lease(Role role) {
  if (role.self == LOCK) lock();
  if (role.self == STORAGE) store(role.bug);
  work(role.self);
}
