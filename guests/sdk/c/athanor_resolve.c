// Names to addresses and back: see netdb.h.
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "athanor_wasi.h"

enum {
  RESULT_COUNT_MAX = 8,
  SOCKET_ADDRESS_ROOM = 32,  // A port, a flow, 16 bytes of address and a scope are 26.
  WASI_EAI_FIRST = 77,       // Errors of getaddrinfo follow the last errno of preview 1.
};

// One address that a name stands for, without a port.
typedef struct {
  int family;
  uint8_t bytes[16];
} host_address;

// One element of a result: freed as a whole.
typedef struct {
  struct addrinfo info;
  union {
    struct sockaddr any;
    struct sockaddr_in inet4;
    struct sockaddr_in6 inet6;
  } address;
} result_node;

static int port_of(const char *service, uint16_t *port) {
  *port = 0;
  if (service == NULL) return 0;
  char *end;
  unsigned long value = strtoul(service, &end, 10);
  if (end == service || *end != 0 || value > 65535) return EAI_SERVICE;
  *port = (uint16_t)value;
  return 0;
}

static int fitting(int family, int wanted) { return wanted == AF_UNSPEC || wanted == family; }

// Addresses that need no host. Returns how many, or an error.
static int local_addresses(const char *node, int family, int flags, host_address *found) {
  if (node != NULL) {
    if (fitting(AF_INET, family) && inet_pton(AF_INET, node, found->bytes) == 1) {
      found->family = AF_INET;
      return 1;
    }
    if (fitting(AF_INET6, family) && inet_pton(AF_INET6, node, found->bytes) == 1) {
      found->family = AF_INET6;
      return 1;
    }
    return (flags & AI_NUMERICHOST) != 0 ? EAI_NONAME : 0;
  }
  memset(found->bytes, 0, sizeof found->bytes);
  found->family = family == AF_INET6 ? AF_INET6 : AF_INET;
  if ((flags & AI_PASSIVE) != 0) return 1;
  if (found->family == AF_INET6) {
    found->bytes[15] = 1;
  } else {
    found->bytes[0] = 127;
    found->bytes[3] = 1;
  }
  return 1;
}

static int eai_of(int error) {
  static const int8_t CODES[] = {EAI_FAMILY,  EAI_AGAIN,    EAI_BADFLAGS, EAI_FAIL,
                                 EAI_FAMILY,  EAI_MEMORY,   EAI_NONAME,   EAI_NONAME,
                                 EAI_SERVICE, EAI_SOCKTYPE, EAI_SYSTEM};
  unsigned index = (unsigned)error - WASI_EAI_FIRST;
  if (index < sizeof CODES) return CODES[index];
  errno = error;
  return EAI_SYSTEM;
}

// Asks the host. Returns how many addresses, or an error.
static int host_addresses(const char *node, int family, host_address *found) {
  wasi_address_info records[RESULT_COUNT_MAX], *first = records;
  wasi_socket_address addresses[RESULT_COUNT_MAX];
  uint8_t data[RESULT_COUNT_MAX][SOCKET_ADDRESS_ROOM];
  memset(records, 0, sizeof records);
  memset(data, 0, sizeof data);
  for (int i = 0; i < RESULT_COUNT_MAX; i++) {
    addresses[i] = (wasi_socket_address){0, SOCKET_ADDRESS_ROOM, data[i]};
    records[i].address = &addresses[i];
    records[i].next = i + 1 < RESULT_COUNT_MAX ? &records[i + 1] : NULL;
  }
  wasi_address_info hints = {.family = family == AF_INET6  ? WASI_FAMILY_INET6
                                       : family == AF_INET ? WASI_FAMILY_INET4
                                                           : WASI_FAMILY_UNSPECIFIED,
                             .type = WASI_TYPE_STREAM};
  uint32_t count = 0;
  int error = wasi_sock_getaddrinfo(node, (uint32_t)strlen(node), "0", 1, &hints, &first,
                                    RESULT_COUNT_MAX, &count);
  if (error != 0) return eai_of(error);
  int taken = 0;
  for (uint32_t i = 0; i < count && i < RESULT_COUNT_MAX; i++) {
    int inet6 = addresses[i].family == WASI_FAMILY_INET6;
    if (!fitting(inet6 ? AF_INET6 : AF_INET, family)) continue;
    found[taken].family = inet6 ? AF_INET6 : AF_INET;
    memcpy(found[taken++].bytes, data[i] + (inet6 ? 6 : 2), inet6 ? 16 : 4);
  }
  return taken > 0 ? taken : EAI_NONAME;
}

static struct addrinfo *result_make(const host_address *address, int type, uint16_t port) {
  result_node *node = calloc(1, sizeof *node);
  if (node == NULL) return NULL;
  node->info.ai_family = address->family;
  node->info.ai_socktype = type;
  node->info.ai_protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
  node->info.ai_addr = &node->address.any;
  if (address->family == AF_INET6) {
    node->info.ai_addrlen = sizeof node->address.inet6;
    node->address.inet6.sin6_family = AF_INET6;
    node->address.inet6.sin6_port = htons(port);
    memcpy(&node->address.inet6.sin6_addr, address->bytes, 16);
  } else {
    node->info.ai_addrlen = sizeof node->address.inet4;
    node->address.inet4.sin_family = AF_INET;
    node->address.inet4.sin_port = htons(port);
    memcpy(&node->address.inet4.sin_addr, address->bytes, 4);
  }
  return &node->info;
}

int getaddrinfo(const char *__restrict node, const char *__restrict service,
                const struct addrinfo *__restrict hints, struct addrinfo **__restrict result) {
  int family = hints == NULL ? AF_UNSPEC : hints->ai_family;
  int wanted = hints == NULL ? 0 : hints->ai_socktype;
  int flags = hints == NULL ? 0 : hints->ai_flags;
  if (node == NULL && service == NULL) return EAI_NONAME;
  if (family != AF_UNSPEC && family != AF_INET && family != AF_INET6) return EAI_FAMILY;
  if (wanted != 0 && wanted != SOCK_STREAM && wanted != SOCK_DGRAM) return EAI_SOCKTYPE;
  uint16_t port;
  int error = port_of(service, &port);
  if (error != 0) return error;
  host_address found[RESULT_COUNT_MAX];
  int count = local_addresses(node, family, flags, found);
  if (count == 0) count = host_addresses(node, family, found);
  if (count < 0) return count;
  struct addrinfo *list = NULL, **last = &list;
  static const int TYPES[] = {SOCK_STREAM, SOCK_DGRAM};
  for (int i = 0; i < count; i++) {
    for (int t = 0; t < 2; t++) {
      if (wanted != 0 && wanted != TYPES[t]) continue;
      *last = result_make(&found[i], TYPES[t], port);
      if (*last == NULL) {
        freeaddrinfo(list);
        return EAI_MEMORY;
      }
      last = &(*last)->ai_next;
    }
  }
  *result = list;
  return 0;
}

void freeaddrinfo(struct addrinfo *list) {
  while (list != NULL) {
    struct addrinfo *next = list->ai_next;
    free(list);  // The first member of its result_node.
    list = next;
  }
}

const char *gai_strerror(int code) {
  switch (code) {
    case 0:
      return "Success";
    case EAI_BADFLAGS:
      return "Invalid flags";
    case EAI_NONAME:
      return "Name does not resolve";
    case EAI_AGAIN:
      return "Try again";
    case EAI_FAIL:
      return "Non-recoverable error";
    case EAI_FAMILY:
      return "Unrecognized address family";
    case EAI_SOCKTYPE:
      return "Unrecognized socket type";
    case EAI_SERVICE:
      return "Unrecognized service";
    case EAI_MEMORY:
      return "Out of memory";
    case EAI_SYSTEM:
      return "System error";
    case EAI_OVERFLOW:
      return "Overflow";
    default:
      return "Unknown error";
  }
}

int getnameinfo(const struct sockaddr *__restrict address, socklen_t size, char *__restrict host,
                socklen_t host_size, char *__restrict service, socklen_t service_size, int flags) {
  int inet6 = address->sa_family == AF_INET6;
  if (!inet6 && address->sa_family != AF_INET) return EAI_FAMILY;
  if (size < (inet6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in))) return EAI_FAMILY;
  if ((flags & NI_NAMEREQD) != 0) return EAI_NONAME;
  const struct sockaddr_in *inet4_address = (const void *)address;
  const struct sockaddr_in6 *inet6_address = (const void *)address;
  if (host != NULL && host_size > 0) {
    const void *bytes = inet6 ? (const void *)&inet6_address->sin6_addr : &inet4_address->sin_addr;
    if (inet_ntop(address->sa_family, bytes, host, host_size) == NULL) return EAI_OVERFLOW;
  }
  if (service != NULL && service_size > 0) {
    unsigned port = ntohs(inet6 ? inet6_address->sin6_port : inet4_address->sin_port);
    int needed = snprintf(service, service_size, "%u", port);
    if (needed < 0 || (socklen_t)needed >= service_size) return EAI_OVERFLOW;
  }
  return 0;
}
