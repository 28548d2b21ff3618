// What survives a crash: the current term, the vote in it, and the log.
//
// Changes are collected and become durable in storage_sync, so that one fsync serves all that came
// in at once. The server answers nobody between a change and its sync: that is the whole rule of
// durability in Raft ("updated on stable storage before responding to RPCs").
#ifndef RAFT_STORAGE_H
#define RAFT_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "log.h"

enum { NO_VOTE = -1 };

typedef struct {
  int vote_file;
  uint64_t vote_generation;  // Of the newest vote record; its slot is the generation's parity.
  uint64_t term;
  int voted_for;
  bool vote_changed;

  int log_file;
  Log log;
  // Where each record ends and its checksum: `ends[i]` is for position i, `ends[0]` for none.
  struct RecordEnd {
    uint64_t offset;
    uint32_t checksum;
  } *ends;
  uint64_t end_room;
  uint64_t written_count;  // Records in the file that are also in the log.
  bool log_changed;
  Buffer pending;  // Records that were not written yet.
} Storage;

// Opens or makes the files in `directory` and recovers what they hold. The end of the log that a
// crash left torn is cut off. Returns whether there was anything.
bool storage_open(Storage *storage, const char *directory);

void storage_set_vote(Storage *storage, uint64_t term, int voted_for);
void storage_append(Storage *storage, const Entry *entry);
// Drops the log from position `index` on.
void storage_truncate(Storage *storage, uint64_t index);

bool storage_is_dirty(const Storage *storage);
// Makes all changes durable. Ends the program when the system refuses: after a failed fsync nobody
// knows what is on the disk.
void storage_sync(Storage *storage);

#endif
