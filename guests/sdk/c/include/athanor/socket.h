// BSD sockets for programs that run in the simulator (WASI preview 1).
//
// The sysroot's <sys/socket.h> has accept, recv, send, shutdown and getsockopt, which is all that
// the standard preview 1 knows. This library adds the rest over the socket imports that WasmEdge
// introduced in module wasi_snapshot_preview1, and replaces those five and poll by versions that
// know what a program written for Unix expects (peer addresses, MSG_DONTWAIT, all options).
//
// Ordinary sources need no change: <sys/socket.h>, <netinet/in.h>, <arpa/inet.h>, <netdb.h> and
// <poll.h> are enough, since this folder comes before the sysroot. Nodes of a scenario are known to
// getaddrinfo by name. Calls block in virtual time unless O_NONBLOCK is set. Not thread-safe, like
// everything in a program of one thread. There are no signals: a write to a closed connection is
// EPIPE, nothing more.
#ifndef ATHANOR_SOCKET_H
#define ATHANOR_SOCKET_H

#ifndef __wasm__
#error "athanor/socket.h is for WebAssembly; elsewhere the system's own headers do the same"
#endif

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

// Options of level SOL_SOCKET, numbered as the sysroot numbers them for preview 2. The level
// IPPROTO_TCP knows TCP_NODELAY (<netinet/tcp.h>). All others are ENOPROTOOPT.
#ifndef SO_REUSEADDR
#define SO_REUSEADDR 2
#define SO_ERROR 4
#define SO_DONTROUTE 5
#define SO_BROADCAST 6
#define SO_SNDBUF 7
#define SO_RCVBUF 8
#define SO_KEEPALIVE 9
#define SO_OOBINLINE 10
#define SO_LINGER 13
#define SO_RCVLOWAT 18
#define SO_ACCEPTCONN 30
#define SO_RCVTIMEO 66
#define SO_SNDTIMEO 67
#endif

#ifndef SOMAXCONN
#define SOMAXCONN 128
#endif

// Flags beside MSG_PEEK, MSG_WAITALL and MSG_TRUNC.
#ifndef MSG_DONTWAIT
#define MSG_DONTWAIT 0x0040
#define MSG_NOSIGNAL 0x4000  // Always so.
#endif

#ifdef __cplusplus
extern "C" {
#endif

// `type` may have SOCK_NONBLOCK and SOCK_CLOEXEC added; `protocol` must fit or be 0.
int socket(int family, int type, int protocol);
int bind(int fd, const struct sockaddr *address, socklen_t size);
int listen(int fd, int backlog);
// On a non-blocking socket EINPROGRESS: wait for POLLOUT, then read SO_ERROR.
int connect(int fd, const struct sockaddr *address, socklen_t size);
int getsockname(int fd, struct sockaddr *__restrict address, socklen_t *__restrict size);
int getpeername(int fd, struct sockaddr *__restrict address, socklen_t *__restrict size);
ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *address,
               socklen_t address_size);
ssize_t recvfrom(int fd, void *__restrict data, size_t size, int flags,
                 struct sockaddr *__restrict address, socklen_t *__restrict address_size);
int setsockopt(int fd, int level, int name, const void *value, socklen_t size);

#ifdef __cplusplus
}
#endif

#endif
