// Uses the processor and the clock, and waits: what horizons and fuel are tested with.
//
//   spin count N        N rounds of integer work, no calls, then one line
//   spin clock MS       reads the monotonic clock in a loop until MS milliseconds have passed
//   spin sleep MS N     sleeps MS milliseconds N times; prints the time after each
//   spin ticks MS N     works between sleeps, so that processor time and waiting mix
//
// Times are printed relative to the start, in nanoseconds.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void sleep_ms(int64_t ms) {
  struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000 * 1000000)};
  nanosleep(&wait, NULL);
}

static uint32_t work(int64_t round_count) {
  uint32_t state = 1;
  for (int64_t round = 0; round < round_count; round++) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
  }
  return state;
}

int main(int argument_count, char **arguments) {
  if (argument_count < 3) {
    printf("usage: spin (count N | clock MS | sleep MS N | ticks MS N)\n");
    return 64;
  }
  const char *mode = arguments[1];
  int64_t amount = strtoll(arguments[2], NULL, 10);
  int64_t repeat_count = argument_count > 3 ? strtoll(arguments[3], NULL, 10) : 1;
  int64_t start_ns = now_ns();
  if (strcmp(mode, "count") == 0) {
    printf("count %u\n", work(amount));
  } else if (strcmp(mode, "clock") == 0) {
    int64_t read_count = 1;
    while (now_ns() - start_ns < amount * 1000000) read_count++;
    printf("clock %lld reads\n", (long long)read_count);
  } else if (strcmp(mode, "sleep") == 0 || strcmp(mode, "ticks") == 0) {
    for (int64_t i = 0; i < repeat_count; i++) {
      if (mode[0] == 't') printf("work %u\n", work(10000));
      sleep_ms(amount);
      printf("tick %lld at %lld\n", (long long)i, (long long)(now_ns() - start_ns));
      fflush(stdout);
    }
  } else {
    printf("unknown mode: %s\n", mode);
    return 64;
  }
  return 0;
}
