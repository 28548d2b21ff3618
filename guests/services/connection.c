#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void sleep_ms(int64_t ms) {
  struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  nanosleep(&wait, NULL);
}

static bool wait_for(int fd, short events, int64_t deadline_ms) {
  int64_t left_ms = deadline_ms - now_ms();
  struct pollfd entry = {.fd = fd, .events = events};
  int ready = left_ms <= 0 ? 0 : poll(&entry, 1, (int)left_ms);
  if (ready == 0) errno = ETIMEDOUT;
  return ready > 0;
}

static bool is_connected(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return false;
  errno = error;
  return error == 0;
}

bool connection_open(Connection *connection, const char *host, const char *port,
                     int64_t deadline_ms) {
  connection->fd = -1;
  connection->begin = connection->end = 0;
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  if (getaddrinfo(host, port, &hints, &found) != 0) {
    errno = ENOENT;
    return false;
  }
  int one = 1, fd = socket(found->ai_family, found->ai_socktype, 0);
  bool open = fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
              setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
              (connect(fd, found->ai_addr, found->ai_addrlen) == 0 ||
               (errno == EINPROGRESS && wait_for(fd, POLLOUT, deadline_ms) && is_connected(fd)));
  freeaddrinfo(found);
  connection->fd = fd;
  if (open) return true;
  connection_close(connection);
  return false;
}

bool connection_send(Connection *connection, const char *bytes, size_t size, int64_t deadline_ms) {
  while (size > 0) {
    ssize_t sent = send(connection->fd, bytes, size, 0);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0 && !wait_for(connection->fd, POLLOUT, deadline_ms)) return false;
    if (sent < 0) continue;
    bytes += sent;
    size -= (size_t)sent;
  }
  return true;
}

// Waits for more bytes behind those that have not been taken.
static bool receive(Connection *connection, int64_t deadline_ms) {
  size_t kept = connection->end - connection->begin;
  memmove(connection->bytes, connection->bytes + connection->begin, kept);
  connection->begin = 0;
  connection->end = kept;
  for (;;) {
    ssize_t size = recv(connection->fd, connection->bytes + kept, sizeof connection->bytes - kept, 0);
    if (size > 0) {
      connection->end += (size_t)size;
      return true;
    }
    // The other side has ended, or what it says fits nowhere.
    if (size == 0) errno = ECONNRESET;
    if (size == 0 || errno != EAGAIN) return false;
    if (!wait_for(connection->fd, POLLIN, deadline_ms)) return false;
  }
}

bool connection_take_line(Connection *connection, char *line, size_t size_max,
                          int64_t deadline_ms) {
  for (;;) {
    const char *begin = connection->bytes + connection->begin;
    const char *feed = memchr(begin, '\n', connection->end - connection->begin);
    if (feed == NULL) {
      if (!receive(connection, deadline_ms)) return false;
      continue;
    }
    size_t size = (size_t)(feed - begin);
    connection->begin += size + 1;
    if (size > 0 && begin[size - 1] == '\r') size--;
    if (size >= size_max) {
      errno = EPROTO;
      return false;
    }
    memcpy(line, begin, size);
    line[size] = 0;
    return true;
  }
}

bool connection_take(Connection *connection, char *bytes, size_t size, int64_t deadline_ms) {
  while (size > 0) {
    size_t ready = connection->end - connection->begin;
    if (ready == 0) {
      if (!receive(connection, deadline_ms)) return false;
      continue;
    }
    if (ready > size) ready = size;
    memcpy(bytes, connection->bytes + connection->begin, ready);
    connection->begin += ready;
    bytes += ready;
    size -= ready;
  }
  return true;
}

void connection_close(Connection *connection) {
  if (connection->fd >= 0) close(connection->fd);
  connection->fd = -1;
}
