// A TCP echo server in the plainest C: blocking sockets, poll() over all of them.
//
//   echo-server PORT [CONNECTIONS]   serves until CONNECTIONS have come and gone (0: for ever)
//
// Exit codes: 0 done, 1 a call failed, 64 usage.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PEERS_MAX = 64, BACKLOG = 64 };

static struct pollfd sockets[1 + PEERS_MAX];
static int socket_count;
static long long byte_count;

static int refuse(const char *what) {
  printf("echo-server: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void add(int fd) { sockets[socket_count++] = (struct pollfd){.fd = fd, .events = POLLIN}; }

static void listen_on(int port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) refuse("socket");
  int yes = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) refuse("setsockopt");
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)port);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) refuse("bind");
  if (listen(fd, BACKLOG) != 0) refuse("listen");
  add(fd);
  printf("listening on %d\n", port);
  fflush(stdout);
}

static void send_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = send(fd, bytes, count, 0);
    if (sent < 0) return;  // The peer has gone; its socket reports that itself.
    bytes += sent;
    count -= (size_t)sent;
  }
}

// False when the peer has closed or reset its side.
static int serve(int fd) {
  char buffer[4096];
  ssize_t received = recv(fd, buffer, sizeof buffer, 0);
  if (received <= 0) return 0;
  byte_count += received;
  send_all(fd, buffer, (size_t)received);
  return 1;
}

int main(int argument_count, char **arguments) {
  if (argument_count < 2) {
    printf("usage: echo-server PORT [CONNECTIONS]\n");
    return 64;
  }
  int connection_count_max = argument_count > 2 ? atoi(arguments[2]) : 0;
  int ended_count = 0;
  listen_on(atoi(arguments[1]));
  while (connection_count_max == 0 || ended_count < connection_count_max) {
    if (poll(sockets, (nfds_t)socket_count, -1) < 0) refuse("poll");
    for (int i = socket_count - 1; i >= 1; i--) {
      if (sockets[i].revents == 0) continue;
      if (serve(sockets[i].fd)) continue;
      close(sockets[i].fd);
      sockets[i] = sockets[--socket_count];
      ended_count++;
    }
    if ((sockets[0].revents & POLLIN) != 0 && socket_count <= PEERS_MAX) {
      int fd = accept(sockets[0].fd, NULL, NULL);
      if (fd < 0) refuse("accept");
      add(fd);
    }
  }
  printf("served %d connections, %lld bytes\n", ended_count, byte_count);
  return 0;
}
