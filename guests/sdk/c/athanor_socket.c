// Sockets, connections and data: see athanor/socket.h.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "athanor_wasi.h"

// An address on its way to or from the host.
typedef struct {
  uint8_t bytes[WASI_ADDRESS_SIZE];
  wasi_address where;
  uint32_t port;
} address_box;

static int fail(int error) {
  errno = error;
  return -1;
}

static int result_of(int error) { return error == 0 ? 0 : fail(error); }

static void box_open(address_box *box) {
  memset(box->bytes, 0, sizeof box->bytes);
  box->where = (wasi_address){box->bytes, sizeof box->bytes};
  box->port = 0;
}

// 0, or an errno.
static int box_put(address_box *box, const struct sockaddr *address, socklen_t size) {
  if (address == NULL) return EFAULT;
  if (size < sizeof(struct sockaddr_in)) return EINVAL;
  box_open(box);
  box->bytes[0] = (uint8_t)address->sa_family;
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in *inet4 = (const void *)address;
    box->bytes[0] = WASI_FAMILY_INET4;
    memcpy(box->bytes + 2, &inet4->sin_addr, 4);
    box->port = ntohs(inet4->sin_port);
    return 0;
  }
  if (address->sa_family != AF_INET6) return EAFNOSUPPORT;
  if (size < sizeof(struct sockaddr_in6)) return EINVAL;
  const struct sockaddr_in6 *inet6 = (const void *)address;
  box->bytes[0] = WASI_FAMILY_INET6;
  memcpy(box->bytes + 2, &inet6->sin6_addr, 16);
  box->port = ntohs(inet6->sin6_port);
  return 0;
}

// Writes what fits and sets `size` to the whole size, as POSIX asks.
static void box_take(const address_box *box, struct sockaddr *address, socklen_t *size) {
  if (address == NULL || size == NULL) return;
  union {
    struct sockaddr_in inet4;
    struct sockaddr_in6 inet6;
  } found;
  memset(&found, 0, sizeof found);
  socklen_t whole;
  if (box->bytes[0] == WASI_FAMILY_INET6) {
    whole = sizeof found.inet6;
    found.inet6.sin6_family = AF_INET6;
    found.inet6.sin6_port = htons((uint16_t)box->port);
    memcpy(&found.inet6.sin6_addr, box->bytes + 2, 16);
  } else {
    whole = sizeof found.inet4;
    found.inet4.sin_family = AF_INET;
    found.inet4.sin_port = htons((uint16_t)box->port);
    memcpy(&found.inet4.sin_addr, box->bytes + 2, 4);
  }
  memcpy(address, &found, *size < whole ? *size : whole);
  *size = whole;
}

static int set_blocking(int fd, int blocking) {
  int flags = fcntl(fd, F_GETFL, 0);
  if (flags < 0) return -1;
  return fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

int socket(int family, int type, int protocol) {
  int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (family != AF_INET && family != AF_INET6) return fail(EAFNOSUPPORT);
  if (kind != SOCK_STREAM && kind != SOCK_DGRAM) return fail(EPROTONOSUPPORT);
  int natural = kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
  if (protocol != 0 && protocol != natural) return fail(EPROTONOSUPPORT);
  int fd = -1;
  int error = wasi_sock_open(family == AF_INET ? WASI_FAMILY_INET4 : WASI_FAMILY_INET6,
                             kind == SOCK_STREAM ? WASI_TYPE_STREAM : WASI_TYPE_DATAGRAM, &fd);
  if (error != 0) return fail(error);
  if ((type & SOCK_NONBLOCK) != 0 && set_blocking(fd, 0) != 0) {
    error = errno;
    close(fd);
    return fail(error);
  }
  return fd;
}

int bind(int fd, const struct sockaddr *address, socklen_t size) {
  address_box box;
  int error = box_put(&box, address, size);
  return result_of(error != 0 ? error : wasi_sock_bind(fd, &box.where, box.port));
}

int listen(int fd, int backlog) { return result_of(wasi_sock_listen(fd, backlog)); }

int connect(int fd, const struct sockaddr *address, socklen_t size) {
  address_box box;
  int error = box_put(&box, address, size);
  return result_of(error != 0 ? error : wasi_sock_connect(fd, &box.where, box.port));
}

int accept4(int fd, struct sockaddr *__restrict address, socklen_t *__restrict size, int flags) {
  if ((flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != 0) return fail(EINVAL);
  int accepted = -1;
  int error = wasi_sock_accept(fd, (flags & SOCK_NONBLOCK) != 0 ? O_NONBLOCK : 0, &accepted);
  if (error != 0) return fail(error);
  if (address != NULL && getpeername(accepted, address, size) != 0) {
    error = errno;  // It was reset while it waited.
    close(accepted);
    return fail(error == ENOTCONN ? ECONNABORTED : error);
  }
  return accepted;
}

int accept(int fd, struct sockaddr *__restrict address, socklen_t *__restrict size) {
  return accept4(fd, address, size, 0);
}

int getsockname(int fd, struct sockaddr *__restrict address, socklen_t *__restrict size) {
  address_box box;
  box_open(&box);
  int error = wasi_sock_getlocaladdr(fd, &box.where, &box.port);
  if (error == 0) box_take(&box, address, size);
  return result_of(error);
}

int getpeername(int fd, struct sockaddr *__restrict address, socklen_t *__restrict size) {
  address_box box;
  box_open(&box);
  int error = wasi_sock_getpeeraddr(fd, &box.where, &box.port);
  if (error == 0) box_take(&box, address, size);
  return result_of(error);
}

int shutdown(int fd, int how) {
  if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return fail(EINVAL);
  return result_of(wasi_sock_shutdown(fd, how));
}

// Preview 1 has no such flag for one call, so the descriptor's own is set around it. Returns
// whether it must be cleared afterwards, or -1.
static int dont_wait(int fd, int flags) {
  if ((flags & MSG_DONTWAIT) == 0) return 0;
  int now = fcntl(fd, F_GETFL, 0);
  if (now < 0) return -1;
  if ((now & O_NONBLOCK) != 0) return 0;
  return set_blocking(fd, 0) == 0 ? 1 : -1;
}

static ssize_t finish(int fd, int restore, int error, uint32_t size) {
  if (restore == 1 && set_blocking(fd, 1) != 0 && error == 0) error = errno;
  return error == 0 ? (ssize_t)size : fail(error);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *address,
               socklen_t address_size) {
  if ((flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL)) != 0) return fail(EOPNOTSUPP);
  wasi_vector vector = {data, (uint32_t)size};
  uint32_t sent = 0;
  address_box box;
  int error = address == NULL ? 0 : box_put(&box, address, address_size);
  if (error != 0) return fail(error);
  int restore = dont_wait(fd, flags);
  if (restore < 0) return -1;
  error = address == NULL ? wasi_sock_send(fd, &vector, 1, 0, &sent)
                          : wasi_sock_send_to(fd, &vector, 1, &box.where, box.port, 0, &sent);
  return finish(fd, restore, error, sent);
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
  return sendto(fd, data, size, flags, NULL, 0);
}

ssize_t recvfrom(int fd, void *__restrict data, size_t size, int flags,
                 struct sockaddr *__restrict address, socklen_t *__restrict address_size) {
  if ((flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK | MSG_WAITALL)) != 0) {
    return fail(EOPNOTSUPP);
  }
  wasi_vector vector = {data, (uint32_t)size};
  uint32_t received = 0;
  uint16_t flags_out = 0;
  int flags_in = flags & (MSG_PEEK | MSG_WAITALL);
  int restore = dont_wait(fd, flags);
  if (restore < 0) return -1;
  int error;
  if (address == NULL) {
    error = wasi_sock_recv(fd, &vector, 1, flags_in, &received, &flags_out);
  } else {
    address_box box;
    box_open(&box);
    error =
        wasi_sock_recv_from(fd, &vector, 1, &box.where, flags_in, &box.port, &received, &flags_out);
    if (error == 0) box_take(&box, address, address_size);
  }
  return finish(fd, restore, error, received);
}

ssize_t recv(int fd, void *data, size_t size, int flags) {
  return recvfrom(fd, data, size, flags, NULL, NULL);
}
