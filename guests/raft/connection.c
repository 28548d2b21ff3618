#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "system.h"

enum { BACKLOG = 32, READ_SIZE = 16384 };

void connection_start(Connection *connection, int fd) {
  *connection = (Connection){.fd = fd, .heard_ns = now_ns()};
}

void connection_close(Connection *connection) {
  close(connection->fd);
  buffer_free(&connection->in);
  buffer_free(&connection->out);
  connection->fd = NO_SOCKET;
}

static bool would_block(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

bool connection_receive(Connection *connection) {
  // One read for each readiness: a busy peer cannot keep the others from their turn, and frames
  // are taken out in between, so that what is left over stays below a frame.
  uint8_t *room = buffer_reserve(&connection->in, READ_SIZE);
  ssize_t size = recv(connection->fd, room, READ_SIZE, 0);
  if (size < 0) return would_block();
  if (size == 0) {
    errno = 0;
    return false;
  }
  connection->in.end += (size_t)size;
  connection->heard_ns = now_ns();
  return true;
}

bool connection_flush(Connection *connection) {
  Buffer *out = &connection->out;
  while (buffer_size(out) > 0) {
    ssize_t size = send(connection->fd, out->bytes + out->start, buffer_size(out), MSG_NOSIGNAL);
    if (size < 0) return would_block();
    buffer_drop(out, (size_t)size);
  }
  return true;
}

bool connection_put(Connection *connection, const Message *message) {
  if (buffer_size(&connection->out) > OUT_SIZE_MAX) return false;
  message_write(&connection->out, message);
  return true;
}

static bool set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL, 0);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

// Small messages that are waited for: each one leaves at once.
static bool set_no_delay(int fd) {
  int yes = 1;
  return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0;
}

static int close_failed(int fd) {
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int dial(const Node *node) {
  char port[8];
  snprintf(port, sizeof port, "%d", node->port);
  struct addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof hints);
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(node->host, port, &hints, &found) != 0) {
    errno = ENOENT;
    return -1;
  }
  int fd = socket(found->ai_family, found->ai_socktype, 0);
  if (fd >= 0 && (!set_nonblocking(fd) || !set_no_delay(fd) ||
                  (connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS))) {
    fd = close_failed(fd);
  }
  freeaddrinfo(found);
  return fd;
}

bool dial_succeeded(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return false;
  errno = error;
  return error == 0;
}

int listen_on(int port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons((uint16_t)port);
  int yes = 1;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0 ||
      !set_nonblocking(fd)) {
    give_up(EXIT_SYSTEM, "listen on port %d: %s", port, strerror(errno));
  }
  return fd;
}

int accept_from(int listener) {
  int fd = accept(listener, NULL, NULL);
  if (fd < 0) return -1;
  return set_nonblocking(fd) && set_no_delay(fd) ? fd : close_failed(fd);
}
