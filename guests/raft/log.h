// The log of operations, in memory. Positions ("indexes") start at 1, as in the paper.
#ifndef RAFT_LOG_H
#define RAFT_LOG_H

#include <stdint.h>

#include "buffer.h"

enum {
  KEY_SIZE_MAX = 40,
  VALUE_SIZE_MAX = 120,
  // The log is never compacted, so it has an end; a full log refuses writes.
  LOG_COUNT_MAX = 65536,
};

// Numbers on the wire and on disk.
enum { OPERATION_NOOP = 0, OPERATION_SET = 1, OPERATION_GET = 2 };

typedef struct {
  uint64_t term;
  uint64_t client;    // Session of the client that asked; 0 for a no-op.
  uint64_t sequence;  // Number of the request within the session.
  uint8_t operation;  // OPERATION_NOOP or OPERATION_SET: reads are not logged.
  char key[KEY_SIZE_MAX + 1];
  char value[VALUE_SIZE_MAX + 1];
} Entry;

typedef struct {
  Entry *entries;
  uint64_t count;
  uint64_t room;
} Log;

uint64_t log_last(const Log *log);
// The entry at a position from 1 to log_last.
const Entry *log_at(const Log *log, uint64_t index);
// The term at a position; 0 at position 0.
uint64_t log_term(const Log *log, uint64_t index);
// The first position that has the same term as `index` and all between.
uint64_t log_term_start(const Log *log, uint64_t index);
void log_append(Log *log, const Entry *entry);
// Drops all entries from `index` on.
void log_truncate(Log *log, uint64_t index);

void entry_write(Buffer *buffer, const Entry *entry);
// Fails the reader when the entry is not valid.
void entry_read(Reader *reader, Entry *entry);

#endif
