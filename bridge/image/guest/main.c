// SPDX-License-Identifier: Apache-2.0
// The one program that we put into an image: the first process, and the command `athanor`.
#define _GNU_SOURCE
#include "program.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int find_user(const char *name, struct user *user) {
  FILE *file = fopen("/etc/passwd", "re");
  if (file == NULL) return -1;
  char line[1024];
  int found = -1;
  while (found != 0 && fgets(line, sizeof line, file) != NULL) {
    char who[64];
    unsigned uid, gid;
    char home[256] = "/";
    if (sscanf(line, "%63[^:]:%*[^:]:%u:%u:%*[^:]:%255[^:]", who, &uid, &gid, home) < 3) continue;
    if (strcmp(who, name) != 0) continue;
    user->uid = uid;
    user->gid = gid;
    snprintf(user->home, sizeof user->home, "%s", home);
    found = 0;
  }
  fclose(file);
  return found;
}

void become(const struct user *user) {
  gid_t groups[1] = {user->gid};
  if (setgroups(1, groups) != 0 || setresgid(user->gid, user->gid, user->gid) != 0 ||
      setresuid(user->uid, user->uid, user->uid) != 0) {
    fputs("athanor: cannot become another user\n", stderr);
    _exit(126);
  }
  setenv("HOME", user->home, 1);
}

int main(int count, char **args) {
  if (getpid() == 1) return init_main();
  return tool_main(count - 1, args + 1);
}
