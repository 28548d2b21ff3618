// SPDX-License-Identifier: Apache-2.0
// The first process of a machine. It mounts what Linux needs, loads modules, configures the network,
// mounts the data disk, runs the commands of the image, says that the machine is ready, and powers
// off with the status of the main command.
#define _GNU_SOURCE
#include "athanor.h"
#include "program.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define FOLDER "/usr/lib/athanor"
#define READY_INTERVAL_NS 10000000
#define DISK_WAIT_MS 10000

static char mount_point[256];

void say(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("athanor: ", stdout);
  vprintf(format, list);
  putchar('\n');
  fflush(stdout);
  va_end(list);
}

static void nap(long nanoseconds) {
  struct timespec time = {0, nanoseconds};
  nanosleep(&time, NULL);
}

_Noreturn void power_off(int status) {
  say("exit %d", status);
  sync();
  if (mount_point[0] != '\0') umount2(mount_point, MNT_DETACH);
  athanor_bell(ATHANOR_BELL_EXIT + (uint32_t)(status & 255));
  // Without ACPI there is no power switch: a reset ends a QEMU that was told -no-reboot.
  reboot(access("/sys/firmware/acpi/tables/FACP", F_OK) == 0 ? RB_POWER_OFF : RB_AUTOBOOT);
  for (;;) pause();
}

static void mount_one(const char *type, const char *path, const char *options) {
  mkdir(path, 0755);
  if (mount(type, path, type, MS_NOSUID, options) != 0) {
    say("cannot mount %s on %s: %s", type, path, strerror(errno));
  }
}

static void mount_all(void) {
  mount_one("devtmpfs", "/dev", "mode=0755");
  mount_one("proc", "/proc", NULL);
  mount_one("sysfs", "/sys", NULL);
  mount_one("tmpfs", "/run", "mode=0755");
  mount_one("tmpfs", "/tmp", "mode=1777");
  mount_one("tmpfs", "/dev/shm", "mode=1777");
  mount_one("devpts", "/dev/pts", "mode=0620,ptmxmode=0666");
  // Names that devtmpfs does not make.
  symlink("/proc/self/fd", "/dev/fd");
  symlink("/proc/self/fd/0", "/dev/stdin");
  symlink("/proc/self/fd/1", "/dev/stdout");
  symlink("/proc/self/fd/2", "/dev/stderr");
}

static size_t read_file(const char *path, char *to, size_t room) {
  to[0] = '\0';
  FILE *file = fopen(path, "re");
  if (file == NULL) return 0;
  size_t size = fread(to, 1, room - 1, file);
  to[size] = '\0';
  fclose(file);
  return size;
}

// `device path type`, one data disk.
static void mount_disk(void) {
  char line[512], device[128], type[32];
  if (read_file(FOLDER "/disk", line, sizeof line) == 0) return;
  if (sscanf(line, "%127s %255s %31s", device, mount_point, type) != 3) return;
  for (int waited = 0; access(device, F_OK) != 0 && waited < DISK_WAIT_MS; waited++) nap(1000000);
  mkdir(mount_point, 0755);
  if (mount(device, mount_point, type, MS_NOATIME, NULL) == 0) return;
  say("cannot mount %s on %s: %s", device, mount_point, strerror(errno));
  mount_point[0] = '\0';
  power_off(126);
}

static void set_environment(void) {
  static char text[65536];
  char *rest = NULL;
  setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
  setenv("HOME", "/root", 1);
  setenv("LANG", "C.UTF-8", 1);
  setenv("TERM", "dumb", 1);
  read_file(FOLDER "/environment", text, sizeof text);
  // The strings stay where they are for as long as the machine runs.
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    putenv(line);
  }
}

static pid_t start(const char *script, const struct user *user, int quiet) {
  pid_t child = fork();
  if (child != 0) return child;
  setsid();
  if (quiet) {
    int null = open("/dev/null", O_RDWR);
    dup2(null, 1);
    dup2(null, 2);
  }
  if (user != NULL) become(user);
  execl("/bin/sh", "sh", script, (char *)NULL);
  _exit(127);
}

static int status_of(int raw) {
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

// Waits for `wanted` and buries everybody else's children on the way. While `other` is alive;
// when that ends first, its status goes to `other_status` and -1 comes back.
static int wait_for(pid_t wanted, pid_t other, int *other_status) {
  for (;;) {
    int raw;
    pid_t ended = waitpid(-1, &raw, 0);
    if (ended == wanted) return status_of(raw);
    if (ended == other && other > 0) {
      *other_status = status_of(raw);
      return -1;
    }
    if (ended < 0 && errno != EINTR) return 127;
  }
}

static void run_setup(void) {
  for (int number = 1;; number++) {
    char path[64];
    snprintf(path, sizeof path, FOLDER "/setup-%d", number);
    if (access(path, F_OK) != 0) return;
    int status = wait_for(start(path, NULL, 0), -1, NULL);
    if (status == 0) continue;
    say("setup command %d ended with status %d", number, status);
    power_off(status);
  }
}

// Asks the ready command until it is content. Ends the machine when the main command ends first.
static void wait_until_ready(pid_t main_command, const struct user *user) {
  if (access(FOLDER "/ready", F_OK) != 0) return;
  for (;;) {
    int main_status = 0;
    pid_t question = start(FOLDER "/ready", user, 1);
    int status = wait_for(question, main_command, &main_status);
    if (status == 0) return;
    if (status < 0) {
      say("the main command ended before the machine was ready");
      power_off(main_status == 0 ? 1 : main_status);
    }
    nap(READY_INTERVAL_NS);
  }
}

int init_main(void) {
  static char command_line[4096], copy[4096], name[64];
  struct user user;
  struct user *chosen = NULL;
  umask(022);
  mount_all();
  read_file("/proc/cmdline", command_line, sizeof command_line);
  memcpy(copy, command_line, sizeof copy);
  load_modules(command_line);
  configure_network(copy);
  set_environment();
  mount_disk();
  run_setup();
  if (read_file(FOLDER "/user", name, sizeof name) > 0) {
    name[strcspn(name, "\n")] = '\0';
    if (find_user(name, &user) != 0) {
      say("there is no user %s", name);
      power_off(126);
    }
    chosen = &user;
  }
  pid_t main_command = access(FOLDER "/main", F_OK) == 0 ? start(FOLDER "/main", chosen, 0) : 0;
  wait_until_ready(main_command, chosen);
  say("ready");
  athanor_ready();
  if (main_command == 0) power_off(0);
  power_off(wait_for(main_command, -1, NULL));
}
