// A client of Redis that finds out what a loss of power takes.
//
//   redis-client HOST PORT [PAUSE_MS [WINDOW_MS]]
//
// Writes numbered keys, one after another, each acknowledged before the next, until the server is
// gone. When it is back, reads every key. What it asks and learns is a history of the set "keys"
// (see docs/properties.md). The last line says how many acknowledged keys are missing, and how much
// earlier than the last acknowledgement the first of them was acknowledged: the loss window. That
// it is at most WINDOW_MS (2000, if not given) is asserted. Exit codes: 0 done, 1 gave up, 2 the
// server said something unexpected, 64 usage.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <athanor/sim.h>

#include "connection.h"

enum {
  ANSWER_MS = 1000,  // An answer that takes longer never comes: the server is gone.
  RETRY_MS = 50,
  BACK_MS = 60000,
  KEY_COUNT_MAX = 10000,
  BATCH_COUNT_MAX = 100,
  LINE_SIZE_MAX = 128,
  // What Redis says of appendfsync everysec: a second, or two at worst.
  WINDOW_MS = 2000,
};

static Connection connection;
static int64_t acknowledged_ms[KEY_COUNT_MAX];
static bool found[KEY_COUNT_MAX];

static void say_unexpected(const char *what, const char *line) {
  printf("unexpected answer to %s: %s\n", what, line);
  exit(2);
}

static bool ask(const char *request, char *line) {
  int64_t deadline_ms = now_ms() + ANSWER_MS;
  return connection_send(&connection, request, strlen(request), deadline_ms) &&
         connection_take_line(&connection, line, LINE_SIZE_MAX, deadline_ms);
}

// Connects to a server that answers, however long it takes to start.
static void connect_at_last(const char *host, const char *port) {
  char line[LINE_SIZE_MAX];
  int64_t end_ms = now_ms() + BACK_MS;
  while (now_ms() < end_ms) {
    if (connection_open(&connection, host, port, now_ms() + ANSWER_MS)) {
      if (ask("PING\r\n", line) && strcmp(line, "+PONG") == 0) return;
      connection_close(&connection);
    }
    sleep_ms(RETRY_MS);
  }
  printf("gave up\n");
  exit(1);
}

// Writes keys until the server is gone; gives how many were acknowledged.
static int write_keys(int64_t pause_ms) {
  char request[LINE_SIZE_MAX], line[LINE_SIZE_MAX] = "";
  for (int key = 0; key < KEY_COUNT_MAX; key++) {
    printf("op invoke client add%d add keys %d\n", key, key);
    snprintf(request, sizeof request, "SET key:%d %d\r\n", key, key);
    if (!ask(request, line)) {
      printf("op info client add%d\n", key);
      printf("the server is gone: %s\n", strerror(errno));
      return key;
    }
    if (strcmp(line, "+OK") != 0) say_unexpected("SET", line);
    printf("op ok client add%d\n", key);
    fflush(stdout);
    acknowledged_ms[key] = now_ms();
    sleep_ms(pause_ms);
  }
  return KEY_COUNT_MAX;
}

// The next line of an answer.
static const char *next_line(char *line) {
  if (connection_take_line(&connection, line, LINE_SIZE_MAX, now_ms() + ANSWER_MS)) return line;
  say_unexpected("MGET", strerror(errno));
  return NULL;
}

// Asks for the keys from `begin` on, and notes which are there with their value.
static void read_batch(int begin, int end) {
  static char request[BATCH_COUNT_MAX * 16 + 8];
  char line[LINE_SIZE_MAX] = "";
  int size = snprintf(request, sizeof request, "MGET");
  for (int key = begin; key < end; key++)
    size += snprintf(request + size, sizeof request - (size_t)size, " key:%d", key);
  snprintf(request + size, sizeof request - (size_t)size, "\r\n");
  if (!ask(request, line) || line[0] != '*' || atoi(line + 1) != end - begin)
    say_unexpected("MGET", line);
  for (int key = begin; key < end; key++) {
    found[key] = strcmp(next_line(line), "$-1") != 0;
    if (found[key] && atoi(next_line(line)) != key) say_unexpected("MGET", line);
  }
}

static void read_keys(int count) {
  printf("op invoke client read members keys\n");
  for (int key = 0; key < count; key += BATCH_COUNT_MAX)
    read_batch(key, key + BATCH_COUNT_MAX < count ? key + BATCH_COUNT_MAX : count);
  printf("op ok client read ");
  bool first = true;
  for (int key = 0; key < count; key++) {
    if (!found[key]) continue;
    printf(first ? "%d" : ",%d", key);
    first = false;
  }
  printf(first ? "nil\n" : "\n");
}

static void tell_loss(int acknowledged_count, int window_ms_max) {
  int lost = 0;
  int64_t window_ms = 0;
  for (int key = acknowledged_count - 1; key >= 0; key--) {
    if (found[key]) continue;
    lost++;
    window_ms = acknowledged_ms[acknowledged_count - 1] - acknowledged_ms[key];
  }
  char name[64];
  snprintf(name, sizeof name, "the loss window is at most %d ms", window_ms_max);
  sim_always(window_ms <= window_ms_max, name);
  printf("lost %d of %d acknowledged keys, window %lld ms\n", lost, acknowledged_count,
         (long long)window_ms);
}

int main(int argument_count, char **arguments) {
  if (argument_count < 3) {
    printf("usage: redis-client HOST PORT [PAUSE_MS [WINDOW_MS]]\n");
    return 64;
  }
  const char *host = arguments[1], *port = arguments[2];
  int64_t pause_ms = argument_count > 3 ? atoi(arguments[3]) : 5;
  int window_ms_max = argument_count > 4 ? atoi(arguments[4]) : WINDOW_MS;
  connect_at_last(host, port);
  printf("connected\n");
  fflush(stdout);
  int acknowledged_count = write_keys(pause_ms);
  connection_close(&connection);
  connect_at_last(host, port);
  // The one that was not answered may be there as well.
  int count = acknowledged_count < KEY_COUNT_MAX ? acknowledged_count + 1 : acknowledged_count;
  read_keys(count);
  tell_loss(acknowledged_count, window_ms_max);
  return 0;
}
