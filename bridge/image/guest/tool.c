// SPDX-License-Identifier: Apache-2.0
// The command `athanor` inside a machine: the doorbell for shells, and `as` to change the user.
#include "athanor.h"
#include "program.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>

static const char USAGE[] =
    "usage: athanor always|always-or-unreached|sometimes NAME true|false [JSON]\n"
    "       athanor reachable|unreachable|log NAME [JSON]\n"
    "       athanor line TEXT\n"
    "       athanor bell VALUE         below 16777216\n"
    "       athanor random             32 bits as a decimal number\n"
    "       athanor ready\n"
    "       athanor as USER COMMAND [ARGUMENT...]\n";

static int usage(void) {
  fputs(USAGE, stderr);
  return 64;
}

static int done(int result) {
  if (result == 0) return 0;
  fputs("athanor: the doorbell cannot be used, or the line is too long\n", stderr);
  return 1;
}

static int assertion(int count, char **args) {
  if (count < 3 || count > 4) return usage();
  int yes = strcmp(args[2], "true") == 0;
  if (!yes && strcmp(args[2], "false") != 0) return usage();
  return done(athanor_mark(args[0], args[1], yes, count == 4 ? args[3] : NULL));
}

static int plain(int count, char **args) {
  if (count < 2 || count > 3) return usage();
  int yes = strcmp(args[0], "unreachable") != 0;
  return done(athanor_mark(args[0], args[1], yes, count == 3 ? args[2] : NULL));
}

// The tool is set-user-ID so that every program may use the doorbell; `as` is for root alone.
static int as(int count, char **args) {
  if (count < 3) return usage();
  if (getuid() != 0) {
    fputs("athanor: only root may become another user\n", stderr);
    return 1;
  }
  struct user user;
  if (find_user(args[1], &user) != 0) {
    fprintf(stderr, "athanor: there is no user %s\n", args[1]);
    return 1;
  }
  become(&user);
  execvp(args[2], args + 2);
  fprintf(stderr, "athanor: %s: %s\n", args[2], strerror(errno));
  return 127;
}

int tool_main(int count, char **args) {
  if (count < 1) return usage();
  const char *verb = args[0];
  if (strcmp(verb, "as") == 0) return as(count, args);
  if (strcmp(verb, "always") == 0 || strcmp(verb, "always-or-unreached") == 0 ||
      strcmp(verb, "sometimes") == 0)
    return assertion(count, args);
  if (strcmp(verb, "reachable") == 0 || strcmp(verb, "unreachable") == 0 ||
      strcmp(verb, "log") == 0)
    return plain(count, args);
  if (strcmp(verb, "line") == 0 && count == 2)
    return done(athanor_line(args[1], strlen(args[1])));
  if (strcmp(verb, "ready") == 0 && count == 1) return done(athanor_ready());
  if (strcmp(verb, "bell") == 0 && count == 2) {
    char *end;
    unsigned long value = strtoul(args[1], &end, 0);
    if (*args[1] == '\0' || *end != '\0' || value >= ATHANOR_BELL_READY) return usage();
    return done(athanor_bell((uint32_t)value));
  }
  if (strcmp(verb, "random") == 0 && count == 1) {
    uint32_t value;
    if (athanor_random(&value) != 0) return done(-1);
    printf("%u\n", value);
    return 0;
  }
  return usage();
}
