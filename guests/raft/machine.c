#include "machine.h"

#include <string.h>

#include "checksum.h"
#include "system.h"

// The slot that holds the key, or the free one where it belongs. At most half are ever in use.
static Slot *find_slot(const Machine *machine, const char *key) {
  uint32_t position = checksum(0, key, strlen(key));
  for (;; position++) {
    Slot *slot = (Slot *)&machine->slots[position % SLOT_COUNT];
    if (slot->key[0] == 0 || strcmp(slot->key, key) == 0) return slot;
  }
}

static Session *find_session(const Machine *machine, uint64_t client) {
  for (int i = 0; i < SESSION_COUNT_MAX; i++) {
    if (machine->sessions[i].client == client) return (Session *)&machine->sessions[i];
  }
  return NULL;
}

// A free session, or the one whose last write is the oldest.
static Session *make_session(Machine *machine) {
  Session *oldest = &machine->sessions[0];
  for (int i = 0; i < SESSION_COUNT_MAX; i++) {
    if (machine->sessions[i].index < oldest->index) oldest = &machine->sessions[i];
  }
  return oldest;
}

static Status set(Machine *machine, const Entry *entry) {
  Slot *slot = find_slot(machine, entry->key);
  if (slot->key[0] == 0) {
    if (machine->key_count == KEY_COUNT_MAX) return STATUS_FULL;
    machine->key_count++;
    memcpy(slot->key, entry->key, sizeof slot->key);
  }
  memcpy(slot->value, entry->value, sizeof slot->value);
  return STATUS_OK;
}

void machine_apply(Machine *machine, const Entry *entry, uint64_t index) {
  if (entry->operation != OPERATION_SET) return;
  Session *session = find_session(machine, entry->client);
  if (session == NULL) {
    // A session begins with its first write. A later one means that it was evicted: whether that
    // write was applied before is not known any more, so it is not applied.
    if (entry->sequence != 1) return;
    session = make_session(machine);
    *session = (Session){.client = entry->client};
  }
  if (entry->sequence <= session->sequence) return;
  session->sequence = entry->sequence;
  session->index = index;
  session->status = set(machine, entry);
}

bool machine_outcome(const Machine *machine, uint64_t client, uint64_t sequence, Session *outcome) {
  const Session *session = find_session(machine, client);
  if (session == NULL || session->sequence < sequence) return false;
  *outcome = *session;
  if (sequence < session->sequence) outcome->status = STATUS_EXPIRED;
  return true;
}

const char *machine_read(const Machine *machine, const char *key) {
  const Slot *slot = find_slot(machine, key);
  return slot->key[0] == 0 ? NULL : slot->value;
}
