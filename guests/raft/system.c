#include "system.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS_MAX = 60000 };

static int64_t turn_ns;

int64_t now_ns(void) {
  if (turn_ns == 0) begin_turn();
  return turn_ns;
}

void begin_turn(void) {
  struct timespec time;
  if (clock_gettime(CLOCK_MONOTONIC, &time) != 0)
    give_up(EXIT_SYSTEM, "clock: %s", strerror(errno));
  turn_ns = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

uint64_t random_u64(void) {
  uint64_t drawn;
  if (getentropy(&drawn, sizeof drawn) != 0) give_up(EXIT_SYSTEM, "entropy: %s", strerror(errno));
  return drawn;
}

int64_t random_between(int64_t low, int64_t high) {
  // 64 bits for a small range: the bias of the remainder is far below anything visible.
  return low + (int64_t)(random_u64() % (uint64_t)(high - low + 1));
}

int wait_ms(int64_t now, int64_t deadline_ns) {
  if (deadline_ns <= now) return 0;
  if (deadline_ns - now > WAIT_MS_MAX * (int64_t)NS_PER_MS) return WAIT_MS_MAX;
  return (int)((deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

void sleep_ms(int64_t ms) {
  struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS};
  nanosleep(&wait, NULL);
  begin_turn();
}

static void print_line(const char *format, va_list arguments) {
  vprintf(format, arguments);
  putchar('\n');
  fflush(stdout);
}

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
}

void give_up(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  exit(code);
}
