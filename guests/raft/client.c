// A client that writes and reads through the cluster and checks what it is told.
//
//   raft-client --servers LIST [--name c1] [--count 60] [--pause-ms 20] [--timeout-ms 400]
//               [--tries 1000]
//
// Every value is written once. The client's keys are its own, so it knows what each must hold: the
// last write that was acknowledged. Positions in the log never go back, neither for writes nor for
// reads. Exit codes: 0 all operations were acknowledged, 1 gave up, 2 a wrong answer, 64 usage.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "session.h"
#include "system.h"

enum { KEY_COUNT = 8, NAME_SIZE_MAX = 12, EXIT_WRONG = 2 };

static ClientSession session;
static char expected[KEY_COUNT][VALUE_SIZE_MAX + 1];  // Empty: never written.
static uint64_t seen_index;

// A wrong answer in what every answer says: its status and its position in the log.
static void check(const Answer *answer, const char *what, const char *key, bool must_grow) {
  if (answer->status != STATUS_OK && answer->status != STATUS_NOT_FOUND) {
    give_up(EXIT_WRONG, "wrong: %s %s has status %d", what, key, (int)answer->status);
  }
  if (answer->index < seen_index || (must_grow && answer->index == seen_index)) {
    give_up(EXIT_WRONG, "wrong: %s %s went back from index=%" PRIu64 " to index=%" PRIu64, what,
            key, seen_index, answer->index);
  }
  seen_index = answer->index;
}

static void write_key(const char *name, int number, int key_number, const char *key) {
  char value[VALUE_SIZE_MAX + 1];
  snprintf(value, sizeof value, "%s.%d", name, number);
  Answer answer = session_ask(&session, OPERATION_SET, key, value);
  check(&answer, "write", key, true);
  strcpy(expected[key_number], value);
  say("write %d %s=%s index=%" PRIu64, number, key, value, answer.index);
}

static void read_key(int number, int key_number, const char *key) {
  Answer answer = session_ask(&session, OPERATION_GET, key, "");
  check(&answer, "read", key, false);
  if (strcmp(answer.value, expected[key_number]) != 0) {
    give_up(EXIT_WRONG, "wrong: read %s=%s expected=%s", key, answer.value, expected[key_number]);
  }
  say("read %d %s=%s index=%" PRIu64, number, key, answer.value, answer.index);
}

int main(int argument_count, char **arguments) {
  static const char *const NAMES[] = {"--servers",  "--name",       "--count",
                                      "--pause-ms", "--timeout-ms", "--tries"};
  options_check(argument_count, arguments, NAMES, sizeof NAMES / sizeof NAMES[0]);
  cluster_read(&session.cluster, option_text(argument_count, arguments, "--servers", NULL));
  const char *name = option_text(argument_count, arguments, "--name", "c1");
  if (strlen(name) > NAME_SIZE_MAX) give_up(EXIT_USAGE, "--name is longer than %d", NAME_SIZE_MAX);
  int count = option_number(argument_count, arguments, "--count", 60, 1, 1000000);
  int pause_ms = option_number(argument_count, arguments, "--pause-ms", 20, 0, 60000);
  session.timeout_ms = option_number(argument_count, arguments, "--timeout-ms", 400, 1, 60000);
  session.try_count_max = option_number(argument_count, arguments, "--tries", 1000, 1, 1000000);
  session_start(&session);
  for (int number = 1; number <= count; number++) {
    int key_number = (int)random_between(0, KEY_COUNT - 1);
    char key[KEY_SIZE_MAX + 1];
    // The session is part of the key: a client that starts again begins with keys of its own.
    snprintf(key, sizeof key, "%s.%08" PRIx32 ".k%d", name, (uint32_t)session.id, key_number);
    bool is_write = number == 1 || random_between(0, 2) > 0;
    if (is_write) {
      write_key(name, number, key_number, key);
    } else {
      read_key(number, key_number, key);
    }
    sleep_ms(random_between(0, 2 * pause_ms));
  }
  say("done operations=%d retries=%d", count, session.retry_count);
  return 0;
}
