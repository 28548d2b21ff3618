// Who the nodes are.
#ifndef RAFT_CLUSTER_H
#define RAFT_CLUSTER_H

enum { NODE_COUNT_MAX = 9, NODE_NAME_SIZE_MAX = 32, PORT_DEFAULT = 7000 };

typedef struct {
  char name[NODE_NAME_SIZE_MAX + 1];
  char host[NODE_NAME_SIZE_MAX + 1];
  int port;
} Node;

typedef struct {
  int count;
  Node nodes[NODE_COUNT_MAX];
} Cluster;

// Reads `n1,n2,n3`: a node's name is its host and PORT_DEFAULT its port. Outside of the simulator,
// `n1=127.0.0.1:7001,n2=127.0.0.1:7002` says where each one is. Ends the program on anything else.
void cluster_read(Cluster *cluster, const char *text);

// The position of a name, or -1.
int cluster_find(const Cluster *cluster, const char *name);

int cluster_majority(const Cluster *cluster);

#endif
