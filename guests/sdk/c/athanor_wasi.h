// The socket imports that this library stands on. Internal.
//
// Source: WasmEdge, lib/host/wasi/wasimodule.cpp and thirdparty/wasi/api.hpp, version 2 of the
// extension. Every import returns a WASI errno, which is also this libc's errno.
#ifndef ATHANOR_WASI_H
#define ATHANOR_WASI_H

#include <stdint.h>
#include <sys/socket.h>

#define ATHANOR_IMPORT(name) \
  __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))

enum {
  WASI_FAMILY_UNSPECIFIED = 0,
  WASI_FAMILY_INET4 = 1,
  WASI_FAMILY_INET6 = 2,
  WASI_TYPE_ANY = 0,
  WASI_TYPE_DATAGRAM = 1,
  WASI_TYPE_STREAM = 2,
  WASI_LEVEL_SOCKET = 0,
  WASI_ADDRESS_SIZE = 128,
};

// Where an address lies: a u16 family, then 4 or 16 bytes in network order.
typedef struct {
  uint8_t *bytes;
  uint32_t size;
} wasi_address;

typedef struct {
  const void *bytes;
  uint32_t size;
} wasi_vector;

// __wasi_sockaddr_t: `data` holds the port in network order, then the address.
typedef struct {
  uint8_t family;
  uint32_t size;
  uint8_t *data;
} wasi_socket_address;

// __wasi_addrinfo_t.
typedef struct wasi_address_info {
  uint16_t flags;
  uint8_t family;
  uint8_t type;
  uint32_t protocol;
  uint32_t address_size;
  wasi_socket_address *address;
  char *name;
  uint32_t name_size;
  struct wasi_address_info *next;
} wasi_address_info;

_Static_assert(sizeof(wasi_address) == 8, "two words");
_Static_assert(sizeof(wasi_socket_address) == 12, "three words");
_Static_assert(sizeof(wasi_address_info) == 28, "seven words");

ATHANOR_IMPORT(sock_open) int wasi_sock_open(int family, int type, int *fd);
ATHANOR_IMPORT(sock_bind) int wasi_sock_bind(int fd, const wasi_address *address, uint32_t port);
ATHANOR_IMPORT(sock_listen) int wasi_sock_listen(int fd, int backlog);
ATHANOR_IMPORT(sock_accept) int wasi_sock_accept(int fd, int flags, int *accepted);
ATHANOR_IMPORT(sock_connect)
int wasi_sock_connect(int fd, const wasi_address *address, uint32_t port);
ATHANOR_IMPORT(sock_recv)
int wasi_sock_recv(int fd, const wasi_vector *vectors, uint32_t count, int flags, uint32_t *size,
                   uint16_t *flags_out);
ATHANOR_IMPORT(sock_recv_from)
int wasi_sock_recv_from(int fd, const wasi_vector *vectors, uint32_t count, wasi_address *address,
                        int flags, uint32_t *port, uint32_t *size, uint16_t *flags_out);
ATHANOR_IMPORT(sock_send)
int wasi_sock_send(int fd, const wasi_vector *vectors, uint32_t count, int flags, uint32_t *size);
ATHANOR_IMPORT(sock_send_to)
int wasi_sock_send_to(int fd, const wasi_vector *vectors, uint32_t count,
                      const wasi_address *address, uint32_t port, int flags, uint32_t *size);
ATHANOR_IMPORT(sock_shutdown) int wasi_sock_shutdown(int fd, int how);
ATHANOR_IMPORT(sock_getlocaladdr)
int wasi_sock_getlocaladdr(int fd, wasi_address *address, uint32_t *port);
ATHANOR_IMPORT(sock_getpeeraddr)
int wasi_sock_getpeeraddr(int fd, wasi_address *address, uint32_t *port);
// `size` points to the room, and to the size afterwards.
ATHANOR_IMPORT(sock_getsockopt)
int wasi_sock_getsockopt(int fd, int level, int name, void *value, uint32_t *size);
ATHANOR_IMPORT(sock_setsockopt)
int wasi_sock_setsockopt(int fd, int level, int name, const void *value, uint32_t size);
ATHANOR_IMPORT(sock_getaddrinfo)
int wasi_sock_getaddrinfo(const char *node, uint32_t node_size, const char *service,
                          uint32_t service_size, const wasi_address_info *hints,
                          wasi_address_info **first, uint32_t count_max, uint32_t *count);

#endif
