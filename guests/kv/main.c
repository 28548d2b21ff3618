// A key-value store with a write-ahead log: crash it anywhere, start it again, nothing that was
// acknowledged may be missing.
//
//   kv DIRECTORY OPERATIONS   recovers, checks what it finds, goes on to OPERATIONS, checks again
//
// Operation i is a function of i alone, so the right content after n operations is known without
// any memory of earlier runs. "recovered n" must never print less than the last "synced n".
// Exit codes: 0 done, 1 the file system refused, 2 the content is wrong, 64 usage.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_COUNT = 97, VALUE_SIZE_MAX = 120, SYNC_EVERY = 8, LOG_SIZE_MAX = 32768 };

typedef struct {
  uint32_t size;  // 0: no value
  uint8_t bytes[VALUE_SIZE_MAX];
} Value;

// One record of the log. The checksum covers everything behind it.
typedef struct {
  uint32_t checksum;
  uint32_t operation;  // operations applied once this record is
  uint32_t key;
  Value value;
} Record;

static Value table[KEY_COUNT];
static uint32_t operation_count;

static void refuse(const char *what, const char *path) {
  printf("kv: %s %s: %s\n", what, path, strerror(errno));
  exit(1);
}

static uint32_t checksum(const void *data, size_t size) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * 16777619u;
  return hash;
}

static uint32_t mix(uint32_t value) {
  value = (value ^ (value >> 16)) * 0x7feb352du;
  value = (value ^ (value >> 15)) * 0x846ca68bu;
  return value ^ (value >> 16);
}

static Record operation(uint32_t index) {
  Record record;
  memset(&record, 0, sizeof record);
  uint32_t draw = mix(index + 1);
  record.operation = index + 1;
  record.key = draw % KEY_COUNT;
  record.value.size = draw % 11 == 0 ? 0 : 1 + (draw >> 8) % VALUE_SIZE_MAX;
  for (uint32_t i = 0; i < record.value.size; i++)
    record.value.bytes[i] = (uint8_t)(mix(index) + i);
  return record;
}

// Applies a record, or the record of a snapshot: both set one key and the operation count.
static void apply(const Record *record) {
  table[record->key] = record->value;
  operation_count = record->operation;
}

static void seal(Record *record) {
  record->checksum = checksum(&record->operation, sizeof *record - sizeof record->checksum);
}

static int is_whole(const Record *record) {
  return record->checksum ==
             checksum(&record->operation, sizeof *record - sizeof record->checksum) &&
         record->key < KEY_COUNT && record->value.size <= VALUE_SIZE_MAX;
}

static void append(int file, const Record *record, const char *path) {
  const uint8_t *next = (const uint8_t *)record;
  size_t left = sizeof *record;
  while (left > 0) {
    ssize_t written = write(file, next, left);
    if (written < 0) refuse("write", path);
    next += written;
    left -= (size_t)written;
  }
}

// Reads whole records from the start; the first torn one ends the log and is cut off.
static int recover(const char *path) {
  int file = open(path, O_CREAT | O_RDWR, 0644);
  if (file < 0) refuse("open", path);
  off_t end = 0;
  Record record;
  while (pread(file, &record, sizeof record, end) == sizeof record && is_whole(&record)) {
    apply(&record);
    end += sizeof record;
  }
  if (ftruncate(file, end) != 0) refuse("truncate", path);
  if (lseek(file, end, SEEK_SET) != end) refuse("seek", path);
  return file;
}

static void sync_directory(const char *directory) {
  int file = open(directory, O_RDONLY | O_DIRECTORY);
  if (file < 0) refuse("open", directory);
  if (fsync(file) != 0 && errno != EINVAL && errno != EBADF) refuse("sync", directory);
  close(file);
}

// Replaces the log by one record for each key, through a rename: readers see the old or the new.
static int compact(int old, const char *directory, const char *path) {
  char draft[512];
  snprintf(draft, sizeof draft, "%s.draft", path);
  int file = open(draft, O_CREAT | O_TRUNC | O_RDWR, 0644);
  if (file < 0) refuse("open", draft);
  for (uint32_t key = 0; key < KEY_COUNT; key++) {
    Record record;
    memset(&record, 0, sizeof record);
    record.operation = operation_count;
    record.key = key;
    record.value = table[key];
    seal(&record);
    append(file, &record, draft);
  }
  if (fsync(file) != 0) refuse("sync", draft);
  if (rename(draft, path) != 0) refuse("rename", draft);
  sync_directory(directory);
  close(old);
  printf("compacted %u\n", operation_count);
  return file;
}

static void expect_content(uint32_t count) {
  static Value expected[KEY_COUNT];
  memset(expected, 0, sizeof expected);
  for (uint32_t index = 0; index < count; index++) {
    Record record = operation(index);
    expected[record.key] = record.value;
  }
  for (uint32_t key = 0; key < KEY_COUNT; key++) {
    if (memcmp(&expected[key], &table[key], sizeof(Value)) == 0) continue;
    printf("wrong: key %u after %u operations\n", key, count);
    exit(2);
  }
}

int main(int argument_count, char **arguments) {
  if (argument_count != 3) {
    printf("usage: kv DIRECTORY OPERATIONS\n");
    return 64;
  }
  const char *directory = arguments[1];
  uint32_t target = (uint32_t)strtoul(arguments[2], NULL, 10);
  char path[480];
  snprintf(path, sizeof path, "%s/kv.log", directory);
  mkdir(directory, 0755);
  int file = recover(path);
  sync_directory(directory);
  printf("recovered %u\n", operation_count);
  expect_content(operation_count);
  while (operation_count < target) {
    Record record = operation(operation_count);
    seal(&record);
    append(file, &record, path);
    apply(&record);
    if (operation_count % SYNC_EVERY == 0 || operation_count == target) {
      if (fsync(file) != 0) refuse("sync", path);
      printf("synced %u\n", operation_count);
      fflush(stdout);
    }
    if (lseek(file, 0, SEEK_CUR) > LOG_SIZE_MAX) file = compact(file, directory, path);
  }
  expect_content(operation_count);
  printf("ok: %u operations, digest %08x\n", operation_count, checksum(table, sizeof table));
  return 0;
}
