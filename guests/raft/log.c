#include "log.h"

#include <stdlib.h>
#include <string.h>

#include "system.h"

uint64_t log_last(const Log *log) { return log->count; }

const Entry *log_at(const Log *log, uint64_t index) {
  must_hold(index >= 1 && index <= log->count, "a position outside of the log is read");
  return &log->entries[index - 1];
}

uint64_t log_term(const Log *log, uint64_t index) {
  return index == 0 ? 0 : log_at(log, index)->term;
}

uint64_t log_term_start(const Log *log, uint64_t index) {
  uint64_t term = log_term(log, index);
  while (index > 1 && log_term(log, index - 1) == term) index--;
  return index;
}

void log_append(Log *log, const Entry *entry) {
  must_hold(log->count < LOG_COUNT_MAX, "the log grows past its end");
  must_hold(entry->term >= log_term(log, log->count), "terms in the log go down");
  if (log->count == log->room) {
    log->room = log->room == 0 ? 64 : log->room * 2;
    log->entries = realloc(log->entries, log->room * sizeof(Entry));
    if (log->entries == NULL) give_up(EXIT_SYSTEM, "out of memory");
  }
  log->entries[log->count++] = *entry;
}

void log_truncate(Log *log, uint64_t index) {
  must_hold(index >= 1 && index <= log->count, "the log is cut outside of itself");
  log->count = index - 1;
}

void entry_write(Buffer *buffer, const Entry *entry) {
  buffer_put_u64(buffer, entry->term);
  buffer_put_u64(buffer, entry->client);
  buffer_put_u64(buffer, entry->sequence);
  buffer_put_u8(buffer, entry->operation);
  buffer_put_text(buffer, entry->key);
  buffer_put_text(buffer, entry->value);
}

void entry_read(Reader *reader, Entry *entry) {
  // All of it, so that equal entries are equal bytes in memory too.
  memset(entry, 0, sizeof *entry);
  entry->term = reader_u64(reader);
  entry->client = reader_u64(reader);
  entry->sequence = reader_u64(reader);
  entry->operation = reader_u8(reader);
  reader_text(reader, entry->key, KEY_SIZE_MAX);
  reader_text(reader, entry->value, VALUE_SIZE_MAX);
  if (entry->operation > OPERATION_SET || entry->term == 0) reader->failed = true;
}
