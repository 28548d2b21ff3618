// A preview 2 program with the imports of wasi:sockets as core functions, and stdio by the adapter.
//   tcp server PORT CONNECTIONS     echoes what each client sends, in capitals
//   tcp client HOST PORT MESSAGE... sends each message, prints each answer
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IMPORT(interface, name) \
  __attribute__((import_module("wasi:" interface "@0.2.12"), import_name(name)))

IMPORT("sockets/instance-network", "instance-network") int32_t instance_network(void);
IMPORT("sockets/tcp-create-socket", "create-tcp-socket")
void create_tcp_socket(int32_t family, uint8_t *result);
IMPORT("sockets/ip-name-lookup", "resolve-addresses")
void resolve_addresses(int32_t network, const char *name, size_t length, uint8_t *result);
IMPORT("sockets/ip-name-lookup", "[method]resolve-address-stream.resolve-next-address")
void resolve_next(int32_t self, uint8_t *result);

// An address is a discriminant and eleven numbers; IPv4 uses five: port, a, b, c, d.
#define ADDRESS int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, \
                int32_t, int32_t, int32_t
#define IPV4(port, a, b, c, d) 0, port, a, b, c, d, 0, 0, 0, 0, 0, 0

IMPORT("sockets/tcp", "[method]tcp-socket.start-bind")
void start_bind(int32_t self, int32_t network, ADDRESS, uint8_t *result);
IMPORT("sockets/tcp", "[method]tcp-socket.finish-bind")
void finish_bind(int32_t self, uint8_t *result);
IMPORT("sockets/tcp", "[method]tcp-socket.start-listen")
void start_listen(int32_t self, uint8_t *result);
IMPORT("sockets/tcp", "[method]tcp-socket.finish-listen")
void finish_listen(int32_t self, uint8_t *result);
IMPORT("sockets/tcp", "[method]tcp-socket.accept") void accept_one(int32_t self, uint8_t *result);
IMPORT("sockets/tcp", "[method]tcp-socket.start-connect")
void start_connect(int32_t self, int32_t network, ADDRESS, uint8_t *result);
IMPORT("sockets/tcp", "[method]tcp-socket.finish-connect")
void finish_connect(int32_t self, uint8_t *result);
IMPORT("sockets/tcp", "[method]tcp-socket.subscribe") int32_t subscribe(int32_t self);
IMPORT("sockets/tcp", "[resource-drop]tcp-socket") void drop_socket(int32_t self);
IMPORT("io/streams", "[method]input-stream.blocking-read")
void blocking_read(int32_t self, int64_t length, uint8_t *result);
IMPORT("io/streams", "[method]output-stream.blocking-write-and-flush")
void blocking_write(int32_t self, const char *bytes, size_t length, uint8_t *result);
IMPORT("io/streams", "[resource-drop]input-stream") void drop_input(int32_t self);
IMPORT("io/streams", "[resource-drop]output-stream") void drop_output(int32_t self);
IMPORT("io/poll", "[method]pollable.block") void block(int32_t self);
IMPORT("io/poll", "[resource-drop]pollable") void drop_pollable(int32_t self);

__attribute__((export_name("cabi_realloc")))
void *cabi_realloc(void *old, size_t old_size, size_t alignment, size_t size) {
  (void)old_size, (void)alignment;
  return realloc(old, size == 0 ? 1 : size);
}

typedef struct { int32_t input, output; } connection;

static int32_t word(const uint8_t *at) {
  int32_t value;
  memcpy(&value, at, 4);
  return value;
}

static void check(const char *what, const uint8_t *result) {
  if (result[0] == 0) return;
  printf("%s failed\n", what);
  exit(1);
}

static int32_t make_socket(void) {
  uint8_t result[8];
  create_tcp_socket(0, result);
  check("create", result);
  return word(result + 4);
}

static void wait_for(int32_t socket) {
  int32_t pollable = subscribe(socket);
  block(pollable);
  drop_pollable(pollable);
}

static void echo(connection peer) {
  for (;;) {
    uint8_t result[12];
    blocking_read(peer.input, 1000, result);
    if (result[0] != 0) break;
    char *bytes = (char *)(intptr_t)word(result + 4);
    size_t length = word(result + 8);
    for (size_t i = 0; i < length; i++) bytes[i] = toupper(bytes[i]);
    printf("echo %.*s\n", (int)length, bytes);
    blocking_write(peer.output, bytes, length, result);
    check("write", result);
    free(bytes);
  }
  drop_input(peer.input);
  drop_output(peer.output);
}

static int serve(int port, int connections) {
  uint8_t result[16];
  int32_t socket = make_socket();
  start_bind(socket, instance_network(), IPV4(port, 0, 0, 0, 0), result);
  check("bind", result);
  finish_bind(socket, result);
  check("bind", result);
  start_listen(socket, result);
  check("listen", result);
  finish_listen(socket, result);
  check("listen", result);
  for (int count = 0; count < connections; count++) {
    wait_for(socket);
    accept_one(socket, result);
    check("accept", result);
    FILE *log = fopen("/accepted", "a");
    fprintf(log, "connection %d\n", count);
    fclose(log);
    echo((connection){word(result + 8), word(result + 12)});
    drop_socket(word(result + 4));
  }
  drop_socket(socket);
  return 0;
}

static connection connect_to(const char *host, int port) {
  uint8_t result[64];
  int32_t network = instance_network();
  for (int attempt = 0; attempt < 50; attempt++) {
    resolve_addresses(network, host, strlen(host), result);
    check("resolve", result);
    resolve_next(word(result + 4), result);
    // result<option<ip-address>>: tag, option's tag, variant's tag, four bytes; u16 alignment.
    check("resolve", result);
    uint8_t *ip = result + 6;
    int32_t socket = make_socket();
    uint8_t outcome[12];
    start_connect(socket, network, IPV4(port, ip[0], ip[1], ip[2], ip[3]), outcome);
    check("connect", outcome);
    wait_for(socket);
    finish_connect(socket, outcome);
    if (outcome[0] == 0) {
      drop_socket(socket);
      return (connection){word(outcome + 4), word(outcome + 8)};
    }
    drop_socket(socket);
    usleep(20000);
  }
  printf("cannot connect\n");
  exit(1);
}

static int ask(const char *host, int port, int count, char **messages) {
  connection peer = connect_to(host, port);
  for (int i = 0; i < count; i++) {
    uint8_t result[12];
    blocking_write(peer.output, messages[i], strlen(messages[i]), result);
    check("write", result);
    blocking_read(peer.input, 1000, result);
    check("read", result);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%.*s after %ld ms\n", (int)word(result + 8), (char *)(intptr_t)word(result + 4),
           (long)(now.tv_sec - 1) * 1000 + now.tv_nsec / 1000000);
    free((void *)(intptr_t)word(result + 4));
  }
  drop_input(peer.input);
  drop_output(peer.output);
  return 0;
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc == 4 && strcmp(argv[1], "server") == 0) return serve(atoi(argv[2]), atoi(argv[3]));
  if (argc > 4 && strcmp(argv[1], "client") == 0) {
    return ask(argv[2], atoi(argv[3]), argc - 4, argv + 4);
  }
  return 2;
}
