#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include "system.h"

size_t buffer_size(const Buffer *buffer) { return buffer->end - buffer->start; }

uint8_t *buffer_reserve(Buffer *buffer, size_t size) {
  if (buffer->start > 0) {
    // Moving down what is left costs little: queues are nearly always emptied at once.
    memmove(buffer->bytes, buffer->bytes + buffer->start, buffer_size(buffer));
    buffer->end -= buffer->start;
    buffer->start = 0;
  }
  if (buffer->end + size > buffer->room) {
    size_t room = buffer->room == 0 ? 256 : buffer->room;
    while (room < buffer->end + size) room *= 2;
    uint8_t *bytes = realloc(buffer->bytes, room);
    if (bytes == NULL) give_up(EXIT_SYSTEM, "out of memory");
    buffer->bytes = bytes;
    buffer->room = room;
  }
  return buffer->bytes + buffer->end;
}

void buffer_put(Buffer *buffer, const void *bytes, size_t size) {
  memcpy(buffer_reserve(buffer, size), bytes, size);
  buffer->end += size;
}

static void put_integer(Buffer *buffer, uint64_t value, size_t size) {
  uint8_t bytes[8];
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> (8 * i));
  buffer_put(buffer, bytes, size);
}

void buffer_put_u8(Buffer *buffer, uint8_t value) { put_integer(buffer, value, 1); }
void buffer_put_u32(Buffer *buffer, uint32_t value) { put_integer(buffer, value, 4); }
void buffer_put_u64(Buffer *buffer, uint64_t value) { put_integer(buffer, value, 8); }

void buffer_put_text(Buffer *buffer, const char *text) {
  size_t size = strlen(text);
  must_hold(size <= 255, "a text of more than 255 bytes is sent");
  buffer_put_u8(buffer, (uint8_t)size);
  buffer_put(buffer, text, size);
}

void buffer_patch_u32(Buffer *buffer, size_t offset, uint32_t value) {
  for (size_t i = 0; i < 4; i++) buffer->bytes[offset + i] = (uint8_t)(value >> (8 * i));
}

void buffer_drop(Buffer *buffer, size_t size) {
  buffer->start += size;
  if (buffer->start == buffer->end) buffer_clear(buffer);
}

void buffer_clear(Buffer *buffer) { buffer->start = buffer->end = 0; }

void buffer_free(Buffer *buffer) {
  free(buffer->bytes);
  *buffer = (Buffer){0};
}

uint32_t read_u32(const uint8_t *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
         (uint32_t)bytes[3] << 24;
}

static const uint8_t *take(Reader *reader, size_t size) {
  if (reader->failed || (size_t)(reader->end - reader->next) < size) {
    reader->failed = true;
    return NULL;
  }
  const uint8_t *bytes = reader->next;
  reader->next += size;
  return bytes;
}

uint8_t reader_u8(Reader *reader) {
  const uint8_t *bytes = take(reader, 1);
  return bytes == NULL ? 0 : bytes[0];
}

uint32_t reader_u32(Reader *reader) {
  const uint8_t *bytes = take(reader, 4);
  return bytes == NULL ? 0 : read_u32(bytes);
}

uint64_t reader_u64(Reader *reader) {
  uint64_t low = reader_u32(reader);
  return low | (uint64_t)reader_u32(reader) << 32;
}

void reader_text(Reader *reader, char *text, size_t size_max) {
  size_t size = reader_u8(reader);
  const uint8_t *bytes = take(reader, size);
  text[0] = 0;
  if (bytes == NULL) return;
  reader->failed = size > size_max;
  for (size_t i = 0; i < size && !reader->failed; i++) {
    reader->failed = bytes[i] <= ' ' || bytes[i] > '~';
    text[i] = (char)bytes[i];
    text[i + 1] = 0;
  }
  if (reader->failed) text[0] = 0;
}
