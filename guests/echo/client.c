// A TCP echo client: sends messages, checks that each comes back, measures round trips.
//
//   echo-client HOST PORT MESSAGES SIZE [PAUSE_MS]
//
// Connects again (with a pause of 100 ms, for up to 100 tries) when the connection is refused or
// breaks. Exit codes: 0 done, 1 gave up, 2 a wrong echo, 64 usage.
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TRIES_MAX = 100, RETRY_MS = 100, SIZE_MAX_BYTES = 65536 };

static char message[SIZE_MAX_BYTES], echo[SIZE_MAX_BYTES];

static void sleep_ms(int ms) {
  struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
  nanosleep(&wait, NULL);
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int connect_once(const char *host, const char *port) {
  struct addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof hints);
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, port, &hints, &found) != 0) {
    errno = ENOENT;
    return -1;
  }
  int fd = socket(found->ai_family, found->ai_socktype, 0);
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
    int error = errno;
    close(fd);
    errno = error;
    fd = -1;
  }
  freeaddrinfo(found);
  return fd;
}

static int connect_at_last(const char *host, const char *port) {
  for (int try = 1; try <= TRIES_MAX; try++) {
    int fd = connect_once(host, port);
    if (fd >= 0) return fd;
    if (try == 1) printf("connect: %s\n", strerror(errno));
    sleep_ms(RETRY_MS);
  }
  printf("gave up\n");
  exit(1);
}

static int send_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = send(fd, bytes, count, 0);
    if (sent < 0) return 0;
    bytes += sent;
    count -= (size_t)sent;
  }
  return 1;
}

static int receive_all(int fd, char *bytes, size_t count) {
  while (count > 0) {
    ssize_t received = recv(fd, bytes, count, 0);
    if (received <= 0) return 0;
    bytes += received;
    count -= (size_t)received;
  }
  return 1;
}

int main(int argument_count, char **arguments) {
  if (argument_count < 5) {
    printf("usage: echo-client HOST PORT MESSAGES SIZE [PAUSE_MS]\n");
    return 64;
  }
  const char *host = arguments[1], *port = arguments[2];
  int message_count = atoi(arguments[3]), size = atoi(arguments[4]);
  int pause_ms = argument_count > 5 ? atoi(arguments[5]) : 0;
  if (size < 1 || size > SIZE_MAX_BYTES) return 64;
  int fd = connect_at_last(host, port);
  int64_t total_ns = 0, longest_ns = 0;
  for (int index = 0; index < message_count;) {
    for (int i = 0; i < size; i++) message[i] = (char)(index * 7 + i);
    int64_t start_ns = now_ns();
    if (!send_all(fd, message, (size_t)size) || !receive_all(fd, echo, (size_t)size)) {
      printf("broken at %d\n", index);
      close(fd);
      fd = connect_at_last(host, port);
      continue;  // The message is sent again: an echo has no state to damage.
    }
    int64_t taken_ns = now_ns() - start_ns;
    total_ns += taken_ns;
    if (taken_ns > longest_ns) longest_ns = taken_ns;
    if (memcmp(message, echo, (size_t)size) != 0) {
      printf("wrong echo at %d\n", index);
      return 2;
    }
    index++;
    if (pause_ms > 0) sleep_ms(pause_ms);
  }
  close(fd);
  printf("ok: %d echoes of %d bytes, mean %lld ns, longest %lld ns\n", message_count, size,
         (long long)(message_count > 0 ? total_ns / message_count : 0), (long long)longest_ns);
  return 0;
}
