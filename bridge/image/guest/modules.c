// SPDX-License-Identifier: Apache-2.0
// Loads kernel modules. The order was worked out when the image was made.
#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLDER "/usr/lib/athanor/modules"

// Appends each `name.parameter=value` of the command line as `parameter=value`.
static void parameters_of(const char *name, const char *command_line, char *to, size_t room) {
  size_t at = 0;
  size_t size = strlen(name);
  to[0] = '\0';
  while (*command_line != '\0') {
    size_t length = strcspn(command_line, " \n");
    int ours = length > size && strncmp(command_line, name, size) == 0 && command_line[size] == '.';
    if (ours && at + (length - size) < room) {
      memcpy(to + at, command_line + size + 1, length - size - 1);
      at += length - size - 1;
      to[at++] = ' ';
      to[at] = '\0';
    }
    command_line += length;
    command_line += strspn(command_line, " \n");
  }
}

static void load(const char *name, const char *command_line) {
  char path[256], parameters[2048];
  snprintf(path, sizeof path, FOLDER "/%s.ko", name);
  parameters_of(name, command_line, parameters, sizeof parameters);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || syscall(SYS_finit_module, file, parameters, 0) != 0) {
    if (errno != EEXIST) say("cannot load the module %s: %s", name, strerror(errno));
  }
  if (file >= 0) close(file);
}

void load_modules(const char *command_line) {
  FILE *list = fopen(FOLDER "/order", "re");
  if (list == NULL) return;
  char name[128];
  while (fscanf(list, "%127s", name) == 1) load(name, command_line);
  fclose(list);
}
