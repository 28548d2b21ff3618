#include "storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checksum.h"
#include "system.h"

enum {
  PATH_SIZE_MAX = 512,
  // A vote record: checksum, generation, term, vote. The two slots lie in different sectors, so
  // that a torn write damages the one that is being replaced only.
  VOTE_SIZE = 4 + 8 + 8 + 4,
  VOTE_SLOT_SIZE = 4096,
  // A log record: checksum, size of the body, body. The checksum goes on from the one of the
  // record before, so that what an earlier life left behind the end never fits.
  RECORD_HEAD_SIZE = 4 + 4,
  BODY_SIZE_MAX = 512,
};

static void refuse(const char *what) { give_up(EXIT_SYSTEM, "%s: %s", what, strerror(errno)); }

static int open_file(const char *directory, const char *name) {
  char path[PATH_SIZE_MAX];
  int size = snprintf(path, sizeof path, "%s/%s", directory, name);
  if (size < 0 || size >= PATH_SIZE_MAX) give_up(EXIT_USAGE, "path too long: %s", directory);
  int file = open(path, O_CREAT | O_RDWR, 0644);
  if (file < 0) refuse(path);
  return file;
}

static void write_all(int file, const void *data, size_t size, uint64_t offset) {
  const uint8_t *next = data;
  while (size > 0) {
    ssize_t written = pwrite(file, next, size, (off_t)offset);
    if (written < 0) refuse("write");
    next += written;
    offset += (uint64_t)written;
    size -= (size_t)written;
  }
}

// Reads up to `size` bytes and says how many there were.
static size_t read_at(int file, void *data, size_t size, uint64_t offset) {
  size_t taken = 0;
  while (taken < size) {
    ssize_t got = pread(file, (uint8_t *)data + taken, size - taken, (off_t)(offset + taken));
    if (got < 0) refuse("read");
    if (got == 0) break;
    taken += (size_t)got;
  }
  return taken;
}

static void sync_file(int file) {
  if (fsync(file) != 0) refuse("fsync");
}

// Without this the names of new files could be lost, and the files with them.
static void sync_directory(const char *directory) {
  int file = open(directory, O_RDONLY | O_DIRECTORY);
  if (file < 0) refuse(directory);
  if (fsync(file) != 0 && errno != EINVAL && errno != EBADF) refuse("fsync of the directory");
  close(file);
}

static void write_vote(Storage *storage) {
  int voted_for = storage->voted_for;
#ifdef BUG_FORGET_VOTE
  voted_for = NO_VOTE;  // Planted: after a crash this node may vote again in the same term.
#endif
  Buffer record = {0};
  storage->vote_generation++;
  buffer_put_u32(&record, 0);
  buffer_put_u64(&record, storage->vote_generation);
  buffer_put_u64(&record, storage->term);
  buffer_put_u32(&record, (uint32_t)(voted_for + 1));
  buffer_patch_u32(&record, 0, checksum(0, record.bytes + 4, VOTE_SIZE - 4));
  write_all(storage->vote_file, record.bytes, VOTE_SIZE,
            storage->vote_generation % 2 * VOTE_SLOT_SIZE);
  sync_file(storage->vote_file);
  buffer_free(&record);
}

static void recover_vote(Storage *storage) {
  storage->voted_for = NO_VOTE;
  bool second_slot_used = false;
  for (int slot = 0; slot < 2; slot++) {
    uint8_t record[VOTE_SIZE];
    size_t size =
        read_at(storage->vote_file, record, sizeof record, (uint64_t)slot * VOTE_SLOT_SIZE);
    // Generation 1 lies in slot 1, generation 2 in slot 0: slot 0 is not empty only after both.
    if (slot == 0 && size == VOTE_SIZE && read_u32(record) != 0) second_slot_used = true;
    if (size < VOTE_SIZE || read_u32(record) != checksum(0, record + 4, VOTE_SIZE - 4)) continue;
    Reader reader = {record + 4, record + VOTE_SIZE, false};
    uint64_t generation = reader_u64(&reader);
    if (generation <= storage->vote_generation) continue;
    storage->vote_generation = generation;
    storage->term = reader_u64(&reader);
    storage->voted_for = (int)reader_u32(&reader) - 1;
  }
  if (second_slot_used && storage->vote_generation == 0) {
    give_up(EXIT_SYSTEM, "both vote records are damaged");
  }
}

static void remember_end(Storage *storage, uint64_t index, uint64_t offset, uint32_t sum) {
  if (index >= storage->end_room) {
    storage->end_room = storage->end_room == 0 ? 64 : storage->end_room * 2;
    storage->ends = realloc(storage->ends, storage->end_room * sizeof *storage->ends);
    if (storage->ends == NULL) give_up(EXIT_SYSTEM, "out of memory");
  }
  storage->ends[index] = (struct RecordEnd){offset, sum};
}

// Reads the record behind position `index - 1`; false when there is no whole one.
static bool recover_record(Storage *storage, uint64_t index) {
  struct RecordEnd before = storage->ends[index - 1];
  uint8_t record[RECORD_HEAD_SIZE + BODY_SIZE_MAX];
  size_t size = read_at(storage->log_file, record, sizeof record, before.offset);
  if (size < RECORD_HEAD_SIZE) return false;
  uint32_t body_size = read_u32(record + 4);
  if (body_size > size - RECORD_HEAD_SIZE) return false;
  uint32_t sum = checksum(before.checksum, record + 4, 4 + body_size);
  if (sum != read_u32(record)) return false;
  Reader reader = {record + RECORD_HEAD_SIZE, record + RECORD_HEAD_SIZE + body_size, false};
  Entry entry;
  entry_read(&reader, &entry);
  if (reader.failed || reader.next != reader.end) give_up(EXIT_SYSTEM, "a log record is damaged");
  log_append(&storage->log, &entry);
  remember_end(storage, index, before.offset + RECORD_HEAD_SIZE + body_size, sum);
  return true;
}

bool storage_open(Storage *storage, const char *directory) {
  *storage = (Storage){.voted_for = NO_VOTE};
  if (mkdir(directory, 0755) != 0 && errno != EEXIST) refuse(directory);
  storage->vote_file = open_file(directory, "vote");
  storage->log_file = open_file(directory, "log");
  recover_vote(storage);
  remember_end(storage, 0, 0, 0);
  while (recover_record(storage, log_last(&storage->log) + 1)) {
  }
  storage->written_count = log_last(&storage->log);
  uint64_t end = storage->ends[storage->written_count].offset;
  if (ftruncate(storage->log_file, (off_t)end) != 0) refuse("truncate");
  sync_file(storage->log_file);
  sync_file(storage->vote_file);
  sync_directory(directory);
  return storage->vote_generation > 0 || storage->written_count > 0;
}

void storage_set_vote(Storage *storage, uint64_t term, int voted_for) {
  must_hold(term > storage->term || (term == storage->term && storage->voted_for == NO_VOTE),
            "a vote is taken back");
  storage->term = term;
  storage->voted_for = voted_for;
  storage->vote_changed = true;
}

void storage_append(Storage *storage, const Entry *entry) {
  struct RecordEnd before = storage->ends[log_last(&storage->log)];
  log_append(&storage->log, entry);
  buffer_reserve(&storage->pending, RECORD_HEAD_SIZE);
  size_t start = storage->pending.end;
  buffer_put_u32(&storage->pending, 0);
  buffer_put_u32(&storage->pending, 0);
  entry_write(&storage->pending, entry);
  size_t body_size = storage->pending.end - start - RECORD_HEAD_SIZE;
  must_hold(body_size <= BODY_SIZE_MAX, "a log record is too large");
  buffer_patch_u32(&storage->pending, start + 4, (uint32_t)body_size);
  uint32_t sum = checksum(before.checksum, storage->pending.bytes + start + 4, 4 + body_size);
  buffer_patch_u32(&storage->pending, start, sum);
  remember_end(storage, log_last(&storage->log), before.offset + RECORD_HEAD_SIZE + body_size, sum);
  storage->log_changed = true;
}

// Writes the records that are not in the file yet.
static void write_pending(Storage *storage) {
  uint64_t offset = storage->ends[storage->written_count].offset;
  write_all(storage->log_file, storage->pending.bytes, storage->pending.end, offset);
  buffer_clear(&storage->pending);
  storage->written_count = log_last(&storage->log);
}

void storage_truncate(Storage *storage, uint64_t index) {
  write_pending(storage);
  log_truncate(&storage->log, index);
  storage->written_count = index - 1;
  if (ftruncate(storage->log_file, (off_t)storage->ends[index - 1].offset) != 0) refuse("truncate");
  storage->log_changed = true;
}

bool storage_is_dirty(const Storage *storage) {
  return storage->vote_changed || storage->log_changed;
}

void storage_sync(Storage *storage) {
  if (storage->vote_changed) write_vote(storage);
  if (storage->log_changed) {
    write_pending(storage);
#ifndef BUG_NO_FSYNC  // Planted: answers go out although the records are in the cache only.
    sync_file(storage->log_file);
#endif
  }
  storage->vote_changed = storage->log_changed = false;
}
