#include "cluster.h"

#include <stdlib.h>
#include <string.h>

#include "system.h"

static void copy_name(char *into, const char *from, size_t size, const char *whole) {
  if (size == 0 || size > NODE_NAME_SIZE_MAX) give_up(EXIT_USAGE, "bad list of nodes: %s", whole);
  memcpy(into, from, size);
  into[size] = 0;
}

static int read_port(const char *text, const char *whole) {
  char *end;
  long port = strtol(text, &end, 10);
  if (end == text || (*end != 0 && *end != ',') || port < 1 || port > 65535) {
    give_up(EXIT_USAGE, "bad port in list of nodes: %s", whole);
  }
  return (int)port;
}

// Reads one `name` or `name=host:port` of `size` bytes.
static void read_node(Node *node, const char *text, size_t size, const char *whole) {
  const char *equals = memchr(text, '=', size);
  copy_name(node->name, text, equals == NULL ? size : (size_t)(equals - text), whole);
  node->port = PORT_DEFAULT;
  if (equals == NULL) {
    memcpy(node->host, node->name, sizeof node->host);
    return;
  }
  const char *host = equals + 1;
  const char *colon = memchr(host, ':', (size_t)(text + size - host));
  size_t host_size = (size_t)((colon == NULL ? text + size : colon) - host);
  copy_name(node->host, host, host_size, whole);
  if (colon != NULL) node->port = read_port(colon + 1, whole);
}

void cluster_read(Cluster *cluster, const char *text) {
  cluster->count = 0;
  for (const char *next = text;;) {
    if (cluster->count == NODE_COUNT_MAX) {
      give_up(EXIT_USAGE, "more than %d nodes: %s", NODE_COUNT_MAX, text);
    }
    size_t size = strcspn(next, ",");
    Node *node = &cluster->nodes[cluster->count];
    read_node(node, next, size, text);
    if (cluster_find(cluster, node->name) >= 0) give_up(EXIT_USAGE, "%s twice", node->name);
    cluster->count++;
    if (next[size] == 0) return;
    next += size + 1;
  }
}

int cluster_find(const Cluster *cluster, const char *name) {
  for (int i = 0; i < cluster->count; i++) {
    if (strcmp(cluster->nodes[i].name, name) == 0) return i;
  }
  return -1;
}

int cluster_majority(const Cluster *cluster) { return cluster->count / 2 + 1; }
