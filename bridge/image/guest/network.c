// SPDX-License-Identifier: Apache-2.0
// Static addresses from the kernel's command line; there is no DHCP.
//
//   athanor.name=n1                        the host name
//   athanor.address=10.0.0.1/24            once for each interface, eth0 first; IPv6 as well
//   athanor.address=eth0,fd00::1/64        a further address of an interface
//   athanor.gateway=10.0.0.254
//   athanor.host=n2,10.0.0.2               a line of /etc/hosts
#define _GNU_SOURCE
#include "program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <net/route.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// <linux/ipv6.h> has these; it does not go together with <netinet/in.h>.
struct address6 {
  struct in6_addr address;
  uint32_t prefix_length;
  int interface;
};

static void complain(const char *what, const char *about) {
  say("network: %s %s: %s", what, about, strerror(errno));
}

static void bring_up(const char *interface) {
  struct ifreq request = {0};
  int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
  if (ioctl(handle, SIOCGIFFLAGS, &request) != 0) complain("no interface", interface);
  request.ifr_flags |= IFF_UP | IFF_RUNNING;
  if (ioctl(handle, SIOCSIFFLAGS, &request) != 0) complain("cannot bring up", interface);
  close(handle);
}

static void add_address4(const char *interface, struct in_addr address, int length) {
  struct ifreq request = {0};
  struct sockaddr_in *socket_address = (struct sockaddr_in *)&request.ifr_addr;
  int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
  socket_address->sin_family = AF_INET;
  socket_address->sin_addr = address;
  if (ioctl(handle, SIOCSIFADDR, &request) != 0) complain("cannot set the address of", interface);
  socket_address->sin_addr.s_addr = length == 0 ? 0 : htonl(~0u << (32 - length));
  if (ioctl(handle, SIOCSIFNETMASK, &request) != 0) complain("cannot set the mask of", interface);
  close(handle);
}

static void add_address6(const char *interface, struct in6_addr address, int length) {
  struct ifreq request = {0};
  int handle = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
  // Duplicate detection waits a second; addresses here are given, not guessed.
  char path[128];
  snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/accept_dad", interface);
  FILE *file = fopen(path, "we");
  if (file != NULL) {
    fputs("0", file);
    fclose(file);
  }
  struct address6 wanted = {address, (uint32_t)length, 0};
  if (ioctl(handle, SIOCGIFINDEX, &request) == 0) wanted.interface = request.ifr_ifindex;
  if (ioctl(handle, SIOCSIFADDR, &wanted) != 0) complain("cannot set the address of", interface);
  close(handle);
}

static void add_address(const char *interface, char *text) {
  char *slash = strchr(text, '/');
  int length = slash == NULL ? -1 : atoi(slash + 1);
  struct in_addr address4;
  struct in6_addr address6;
  if (slash != NULL) *slash = '\0';
  bring_up(interface);
  if (inet_pton(AF_INET, text, &address4) == 1) {
    add_address4(interface, address4, length < 0 || length > 32 ? 24 : length);
  } else if (inet_pton(AF_INET6, text, &address6) == 1) {
    add_address6(interface, address6, length < 0 || length > 128 ? 64 : length);
  } else {
    say("network: %s is no address", text);
  }
}

static void add_gateway(const char *text) {
  struct rtentry route = {0};
  struct sockaddr_in *gateway = (struct sockaddr_in *)&route.rt_gateway;
  int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  gateway->sin_family = route.rt_dst.sa_family = route.rt_genmask.sa_family = AF_INET;
  route.rt_flags = RTF_UP | RTF_GATEWAY;
  if (inet_pton(AF_INET, text, &gateway->sin_addr) != 1) say("network: %s is no gateway", text);
  else if (ioctl(handle, SIOCADDRT, &route) != 0) complain("cannot use the gateway", text);
  close(handle);
}

static char *value_of(char *word, const char *key) {
  size_t size = strlen(key);
  return strncmp(word, key, size) == 0 && word[size] == '=' ? word + size + 1 : NULL;
}

void configure_network(char *command_line) {
  FILE *hosts = fopen("/etc/hosts", "we");
  char name[65] = "machine";
  int next = 0;
  char *rest = NULL;
  if (hosts != NULL) fputs("127.0.0.1 localhost\n::1 localhost\n", hosts);
  bring_up("lo");
  for (char *word = strtok_r(command_line, " \n", &rest); word != NULL;
       word = strtok_r(NULL, " \n", &rest)) {
    char *value;
    if ((value = value_of(word, "athanor.name")) != NULL) {
      snprintf(name, sizeof name, "%s", value);
    } else if ((value = value_of(word, "athanor.address")) != NULL) {
      char interface[IFNAMSIZ];
      char *comma = strchr(value, ',');
      if (comma != NULL) {
        *comma = '\0';
        snprintf(interface, sizeof interface, "%s", value);
      } else {
        snprintf(interface, sizeof interface, "eth%d", next++);
      }
      add_address(interface, comma == NULL ? value : comma + 1);
    } else if ((value = value_of(word, "athanor.gateway")) != NULL) {
      add_gateway(value);
    } else if ((value = value_of(word, "athanor.host")) != NULL && hosts != NULL) {
      char *comma = strchr(value, ',');
      if (comma == NULL) continue;
      *comma = '\0';
      fprintf(hosts, "%s %s\n", comma + 1, value);
    }
  }
  sethostname(name, strlen(name));
  if (hosts != NULL) fclose(hosts);
}
