// A TCP connection to a service whose every wait has an end.
#ifndef SERVICES_CONNECTION_H
#define SERVICES_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int fd;  // -1: not connected.
  char bytes[65536];
  size_t begin, end;  // What has come and was not taken yet.
} Connection;

int64_t now_ms(void);
void sleep_ms(int64_t ms);

// All of these are false when the connection broke or the deadline passed, with errno.
bool connection_open(Connection *connection, const char *host, const char *port,
                     int64_t deadline_ms);
bool connection_send(Connection *connection, const char *bytes, size_t size, int64_t deadline_ms);
// Takes a line without its CR LF.
bool connection_take_line(Connection *connection, char *line, size_t size_max,
                          int64_t deadline_ms);
bool connection_take(Connection *connection, char *bytes, size_t size, int64_t deadline_ms);

void connection_close(Connection *connection);

#endif
