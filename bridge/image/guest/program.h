// SPDX-License-Identifier: Apache-2.0
// What the parts of the one program of an image share.
#ifndef ATHANOR_PROGRAM_H
#define ATHANOR_PROGRAM_H

#include <sys/types.h>

struct user {
  uid_t uid;
  gid_t gid;
  char home[256];
};

// Reads /etc/passwd. 0, or -1 when there is no such user.
int find_user(const char *name, struct user *user);
// Becomes that user for good, HOME included; ends the process if that fails.
void become(const struct user *user);

// Brings up the interfaces as the kernel's command line says.
void configure_network(char *command_line);
// Loads the modules of the image in its order, with their parameters of the command line.
void load_modules(const char *command_line);
// Says a line on the console.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Tells the status, puts the disks away and powers off; never returns.
_Noreturn void power_off(int status);

int init_main(void);
int tool_main(int count, char **args);

#endif
