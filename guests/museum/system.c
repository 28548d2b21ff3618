#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "museum.h"

enum { PORT = 7000, EXIT_SYSTEM = 74 };

static int socket_fd;

static void refuse(const char *what) { give_up("%s: %s", what, strerror(errno)); }

void open_socket(void) {
  socket_fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  if (socket_fd < 0 || bind(socket_fd, (struct sockaddr *)&here, sizeof here) != 0) {
    refuse("socket");
  }
}

void post(int to, const Message *message) {
  struct sockaddr_in there = {.sin_family = AF_INET,
                              .sin_port = htons(PORT),
                              .sin_addr.s_addr = htonl(0x0a000001u + (uint32_t)to)};
  size_t size =
      offsetof(Message, entries) + (size_t)message->entry_count * sizeof message->entries[0];
  // What cannot be sent now is lost, as on a network.
  sendto(socket_fd, message, size, 0, (struct sockaddr *)&there, sizeof there);
}

bool receive_until(int64_t deadline_ms, Message *message) {
  int64_t left_ms = deadline_ms - now_ms();
  if (left_ms <= 0) left_ms = 1;  // Zero would mean for ever.
  struct timeval timeout = {.tv_sec = left_ms / 1000, .tv_usec = (int)(left_ms % 1000) * 1000};
  setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  return recvfrom(socket_fd, message, sizeof *message, 0, NULL, NULL) > 0;
}

int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void pause_until(int64_t deadline_ms) {
  int64_t left_ms = deadline_ms - now_ms();
  if (left_ms <= 0) return;
  struct timespec wait = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
  nanosleep(&wait, NULL);
}

int random_below(int below) {
  uint32_t drawn;
  if (getentropy(&drawn, sizeof drawn) != 0) refuse("entropy");
  return (int)(drawn % (uint32_t)below);
}

static void print_line(const char *format, va_list arguments) {
  char line[256];
  int size = vsnprintf(line, sizeof line - 1, format, arguments);
  if (size > (int)sizeof line - 2) size = (int)sizeof line - 2;
  line[size] = '\n';
  if (write(1, line, (size_t)size + 1) < 0) exit(EXIT_SYSTEM);
}

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
}

void give_up(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  exit(EXIT_SYSTEM);
}

static void sync_root(void) {
  int directory = open("/", O_RDONLY | O_DIRECTORY);
  if (directory < 0 || fsync(directory) != 0) refuse("sync of the directory");
  close(directory);
}

void replace_file(const char *path, const void *bytes, size_t size) {
  char draft[64];
  snprintf(draft, sizeof draft, "%s.draft", path);
  int file = open(draft, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0 || write(file, bytes, size) != (ssize_t)size || fsync(file) != 0) refuse(draft);
  close(file);
  if (rename(draft, path) != 0) refuse(path);
  sync_root();
}

void overwrite_file(const char *path, const void *bytes, size_t size) {
  int file = open_file(path);
  if (pwrite(file, bytes, size, 0) != (ssize_t)size || fsync(file) != 0) refuse(path);
  close(file);
}

size_t read_file(const char *path, void *bytes, size_t size_max) {
  int file = open(path, O_RDONLY);
  if (file < 0) return 0;
  ssize_t size = read(file, bytes, size_max);
  if (size < 0) refuse(path);
  close(file);
  return (size_t)size;
}

int open_file(const char *path) {
  int file = open(path, O_CREAT | O_RDWR, 0644);
  if (file < 0) refuse(path);
  sync_root();
  return file;
}

uint32_t checksum(const void *bytes, size_t size) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 16777619u;
  return hash;
}
