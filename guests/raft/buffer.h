// A queue of bytes with integers in little endian, used for frames and records.
#ifndef RAFT_BUFFER_H
#define RAFT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t *bytes;
  size_t room;
  size_t start;  // First byte that was not taken yet.
  size_t end;
} Buffer;

size_t buffer_size(const Buffer *buffer);
// Room for `size` more bytes at `bytes + end`. There is always memory, or the program ends.
uint8_t *buffer_reserve(Buffer *buffer, size_t size);
void buffer_put(Buffer *buffer, const void *bytes, size_t size);
void buffer_put_u8(Buffer *buffer, uint8_t value);
void buffer_put_u32(Buffer *buffer, uint32_t value);
void buffer_put_u64(Buffer *buffer, uint64_t value);
// A size in one byte, then the bytes without the zero at their end.
void buffer_put_text(Buffer *buffer, const char *text);
// Overwrites 4 bytes at `offset` from the start of the memory.
void buffer_patch_u32(Buffer *buffer, size_t offset, uint32_t value);
void buffer_drop(Buffer *buffer, size_t size);
void buffer_clear(Buffer *buffer);
void buffer_free(Buffer *buffer);

uint32_t read_u32(const uint8_t *bytes);

// Reads what others wrote. After the first read past the end, `failed` stays set and every result
// is zero or empty, so that a decoder checks once.
typedef struct {
  const uint8_t *next;
  const uint8_t *end;
  bool failed;
} Reader;

uint8_t reader_u8(Reader *reader);
uint32_t reader_u32(Reader *reader);
uint64_t reader_u64(Reader *reader);
// Reads a text of at most `size_max` bytes and ends it with zero. Bytes that are not printable
// ASCII, or a space, fail: such a text could not stand in a line of the console.
void reader_text(Reader *reader, char *text, size_t size_max);

#endif
