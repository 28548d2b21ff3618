// Socket options: names of this libc to names of the socket imports.
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "athanor_wasi.h"

typedef struct {
  int name;
  int wasi_name;
} option_pair;

// The right column is WasmEdge's __wasi_sock_opt_so_t.
static const option_pair SOCKET_OPTIONS[] = {
    {SO_REUSEADDR, 0}, {SO_TYPE, 1},      {SO_ERROR, 2},     {SO_DONTROUTE, 3},  {SO_BROADCAST, 4},
    {SO_SNDBUF, 5},    {SO_RCVBUF, 6},    {SO_KEEPALIVE, 7}, {SO_OOBINLINE, 8},  {SO_LINGER, 9},
    {SO_RCVLOWAT, 10}, {SO_RCVTIMEO, 11}, {SO_SNDTIMEO, 12}, {SO_ACCEPTCONN, 13}};

// Finds level and name for the host; 0, or an errno. Other levels keep the libc's numbers.
static int translate(int level, int name, int *wasi_level, int *wasi_name) {
  if (level != SOL_SOCKET) {
    *wasi_level = level;
    *wasi_name = name;
    return level == IPPROTO_TCP ? 0 : ENOPROTOOPT;
  }
  *wasi_level = WASI_LEVEL_SOCKET;
  for (size_t i = 0; i < sizeof SOCKET_OPTIONS / sizeof SOCKET_OPTIONS[0]; i++) {
    if (SOCKET_OPTIONS[i].name != name) continue;
    *wasi_name = SOCKET_OPTIONS[i].wasi_name;
    return 0;
  }
  return ENOPROTOOPT;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
  int wasi_level, wasi_name;
  int error = translate(level, name, &wasi_level, &wasi_name);
  if (error == 0) error = wasi_sock_setsockopt(fd, wasi_level, wasi_name, value, size);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int getsockopt(int fd, int level, int name, void *__restrict value, socklen_t *__restrict size) {
  int wasi_level, wasi_name;
  int error = translate(level, name, &wasi_level, &wasi_name);
  uint32_t room = *size;
  if (error == 0) error = wasi_sock_getsockopt(fd, wasi_level, wasi_name, value, &room);
  if (error != 0) {
    errno = error;
    return -1;
  }
  *size = room;
  if (level == SOL_SOCKET && name == SO_TYPE && room >= sizeof(int)) {
    int type;
    memcpy(&type, value, sizeof type);
    type = type == WASI_TYPE_STREAM ? SOCK_STREAM : SOCK_DGRAM;
    memcpy(value, &type, sizeof type);
  }
  return 0;
}
