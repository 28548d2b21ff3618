// What the socket library offers and no other guest uses: datagrams by recvfrom, MSG_DONTWAIT,
// MSG_PEEK, markers. One program, two roles.
#include <arpa/inet.h>
#include <athanor/sim.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PORT = 5353, COUNT = 5 };

static void die(const char *what) {
  printf("%s: %s\n", what, strerror(errno));
  exit(1);
}

static void answer(int fd) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) die("bind");
  for (int n = 0; n < COUNT; n++) {
    char bytes[64];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    ssize_t peeked = recvfrom(fd, bytes, 4, MSG_PEEK, NULL, NULL);
    ssize_t length = recvfrom(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size);
    if (length < 0) die("recvfrom");
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &from.sin_addr, text, sizeof text);
    printf("%zd of %zd bytes from %s\n", peeked, length, text);
    if (sendto(fd, bytes, length, 0, (struct sockaddr *)&from, size) != length) die("sendto");
  }
}

static void ask(int fd, const char *server) {
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
  if (getaddrinfo(server, "5353", &hints, &found) != 0) die("getaddrinfo");
  for (int n = 0; n < COUNT; n++) {
    char bytes[64];
    if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) != -1 || errno != EAGAIN) die("nothing yet");
    int length = 10 + n;
    memset(bytes, 'a' + n, length);
    if (sendto(fd, bytes, length, 0, found->ai_addr, found->ai_addrlen) != length) die("sendto");
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    if (poll(&entry, 1, 1000) != 1 || entry.revents != POLLIN) die("poll");
    if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) != length) die("recv");
    printf("answer %d: %.*s\n", n, length, bytes);
  }
  freeaddrinfo(found);
}

int main(int argc, char **argv) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) die("socket");
  if (argc > 1) ask(fd, argv[1]);
  else answer(fd);
  sim_sometimes(true, "all went over");
  return 0;
}
