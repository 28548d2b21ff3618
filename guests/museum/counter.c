// retry-without-key: a request that timed out may have been done; sending it again does it twice.
//
// Node 0 is a counter, node 1 adds to it. With the bug a request carries no key by which the server
// could know it again. Source of the case: FoundationDB's commit_unknown_result, among others.
#include <stdlib.h>

#include "museum.h"

enum { ADD = 1, ANSWER, SERVER = 0, CLIENT = 1, ADDITION_COUNT = 20, TIMEOUT_MS = 40 };

static void serve(bool bug) {
  Message message;
  int total = 0, last_key = 0;
  for (;;) {
    if (!receive_until(now_ms() + 60000, &message) || message.kind != ADD) continue;
    if (bug || message.a != last_key) total++;
    last_key = message.a;
    post(message.from, &(Message){.kind = ANSWER, .from = SERVER, .a = message.a, .b = total});
  }
}

static void use(void) {
  Message message;
  for (int key = 1; key <= ADDITION_COUNT; key++) {
    bool done = false;
    while (!done) {
      post(SERVER, &(Message){.kind = ADD, .from = CLIENT, .a = key});
      int64_t deadline_ms = now_ms() + TIMEOUT_MS;
      while (!done && receive_until(deadline_ms, &message)) done = message.a == key;
    }
    if (message.b != key) give_up("wrong: %d additions, the counter is %d", key, message.b);
  }
  say("done");
  exit(0);
}

void run_counter(Role role) {
  if (role.self == SERVER) serve(role.bug);
  use();
}
