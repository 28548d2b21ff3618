// <netdb.h> for programs that run in the simulator. The sysroot of preview 1 has none.
//
// Names are those of the scenario's nodes and their aliases, `localhost`, and numeric addresses.
// Services are port numbers.
#ifndef ATHANOR_NETDB_H
#define ATHANOR_NETDB_H

#ifndef __wasm__
#error "this netdb.h is for WebAssembly; elsewhere the system has its own"
#endif

#include <netinet/in.h>
#include <sys/socket.h>

struct addrinfo {
  int ai_flags;
  int ai_family;
  int ai_socktype;
  int ai_protocol;
  socklen_t ai_addrlen;
  struct sockaddr *ai_addr;
  char *ai_canonname;  // Always NULL.
  struct addrinfo *ai_next;
};

#define AI_PASSIVE 0x01
#define AI_CANONNAME 0x02
#define AI_NUMERICHOST 0x04
#define AI_V4MAPPED 0x08
#define AI_ALL 0x10
#define AI_ADDRCONFIG 0x20
#define AI_NUMERICSERV 0x400

#define NI_NUMERICHOST 0x01
#define NI_NUMERICSERV 0x02
#define NI_NAMEREQD 0x08
#define NI_DGRAM 0x10
#define NI_MAXHOST 255
#define NI_MAXSERV 32

#define EAI_BADFLAGS -1
#define EAI_NONAME -2
#define EAI_AGAIN -3
#define EAI_FAIL -4
#define EAI_FAMILY -6
#define EAI_SOCKTYPE -7
#define EAI_SERVICE -8
#define EAI_MEMORY -10
#define EAI_SYSTEM -11
#define EAI_OVERFLOW -12

#ifdef __cplusplus
extern "C" {
#endif

// 0, or one of EAI_…; the result belongs to the caller, who gives it to freeaddrinfo.
int getaddrinfo(const char *__restrict node, const char *__restrict service,
                const struct addrinfo *__restrict hints, struct addrinfo **__restrict result);
void freeaddrinfo(struct addrinfo *list);
const char *gai_strerror(int code);
// Writes numbers only: nothing maps addresses back to names, so NI_NAMEREQD is EAI_NONAME.
int getnameinfo(const struct sockaddr *__restrict address, socklen_t size, char *__restrict host,
                socklen_t host_size, char *__restrict service, socklen_t service_size, int flags);

#ifdef __cplusplus
}
#endif

#endif
