// The state machine: a key-value store, and for each client session its last write and the answer,
// so that a write that is sent twice is applied once (section 6.3 of Ongaro's dissertation).
//
// All of it is a function of the log: equal logs give equal stores, evictions included.
#ifndef RAFT_MACHINE_H
#define RAFT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"

enum { SLOT_COUNT = 2048, KEY_COUNT_MAX = SLOT_COUNT / 2, SESSION_COUNT_MAX = 64 };

// What a client is told. Numbers on the wire.
typedef enum {
  STATUS_OK = 0,
  STATUS_NOT_FOUND = 1,   // A read of a key that was never set.
  STATUS_NOT_LEADER = 2,  // Ask the node that is named, or another one. May or may not happen yet.
  STATUS_BUSY = 3,        // Ask again later. Nothing happened.
  STATUS_EXPIRED = 4,     // Older than the session's last write, or the session was forgotten.
  STATUS_FULL = 5,        // There is no room for another key, or in the log.
} Status;

typedef struct {
  uint64_t client;  // 0: free.
  uint64_t sequence;
  uint64_t index;  // Position of that write in the log: names it, and orders evictions.
  Status status;
} Session;

typedef struct {
  char key[KEY_SIZE_MAX + 1];  // Empty: free.
  char value[VALUE_SIZE_MAX + 1];
} Slot;

typedef struct {
  Slot slots[SLOT_COUNT];
  int key_count;
  Session sessions[SESSION_COUNT_MAX];
} Machine;

// Applies the entry at position `index`. A write that was applied before changes nothing.
void machine_apply(Machine *machine, const Entry *entry, uint64_t index);

// The outcome of a write that was applied: false when this session has applied none as new as it.
bool machine_outcome(const Machine *machine, uint64_t client, uint64_t sequence, Session *outcome);

// The value of a key, or NULL.
const char *machine_read(const Machine *machine, const char *key);

#endif
