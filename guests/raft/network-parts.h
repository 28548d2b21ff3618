// What network.c calls in link.c.
#ifndef RAFT_NETWORK_PARTS_H
#define RAFT_NETWORK_PARTS_H

#include "network.h"

void link_reset(Link *link);
// The socket is ready: connected or refused, or there is something to read.
void link_ready(Network *network, int node);
// The other node was heard: if the link is down, the next dial is worth a try now.
void link_hasten(Network *network, int node);
void link_send(Network *network, int node, const Message *message);
void link_flush(Network *network, int node);
int64_t link_due_ns(const Network *network, int node);
void link_tick(Network *network, int node);

#endif
