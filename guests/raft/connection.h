// One TCP connection that never blocks.
#ifndef RAFT_CONNECTION_H
#define RAFT_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "cluster.h"
#include "message.h"

enum {
  NO_SOCKET = -1,
  // A connection with more than this to send has a peer that does not read; it gets no more.
  OUT_SIZE_MAX = 256 * 1024,
};

typedef struct {
  int fd;
  Buffer in;
  Buffer out;
  int64_t heard_ns;  // When the last bytes came in.
} Connection;

void connection_start(Connection *connection, int fd);
void connection_close(Connection *connection);

// Takes what has come in. False when the other side has closed or the connection is broken, with
// errno 0 or the reason.
bool connection_receive(Connection *connection);
// Sends what the other side takes now. False when the connection is broken, with errno.
bool connection_flush(Connection *connection);
// Puts a message into the queue. False when the queue is too long already.
bool connection_put(Connection *connection, const Message *message);

// Begins to connect to a node: the socket, or -1 with errno. Ready for writing when it is decided.
int dial(const Node *node);
// Whether a dialled socket is connected, with errno otherwise.
bool dial_succeeded(int fd);

// A listening socket on all addresses. Ends the program when that is refused.
int listen_on(int port);
// A new connection, or -1 when there is none.
int accept_from(int listener);

#endif
