// Calls itself DEPTH deep and waits there, COUNT times.
//
//   suspend COUNT [DEPTH]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

static unsigned sum;

static void wait_a_moment(void) {
  __wasi_subscription_t subscription;
  memset(&subscription, 0, sizeof subscription);
  subscription.u.tag = __WASI_EVENTTYPE_CLOCK;
  subscription.u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
  subscription.u.u.clock.timeout = 1000;
  __wasi_event_t event;
  __wasi_size_t count;
  if (__wasi_poll_oneoff(&subscription, &event, 1, &count) != 0) exit(1);
}

// Each frame keeps two values of its own over the wait.
__attribute__((noinline)) static unsigned descend(unsigned depth, unsigned seed) {
  unsigned own = seed * 2654435761u;
  if (depth == 1) {
    wait_a_moment();
    return own;
  }
  unsigned below = descend(depth - 1, own);
  return below ^ own ^ depth;
}

int main(int argument_count, char **arguments) {
  int count = argument_count > 1 ? atoi(arguments[1]) : 1;
  unsigned depth = argument_count > 2 ? (unsigned)atoi(arguments[2]) : 32;
  for (int index = 0; index < count; index++) sum += descend(depth, (unsigned)index);
  printf("%u\n", sum);
  return 0;
}
