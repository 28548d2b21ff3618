#include "message.h"

#include "system.h"

static void write_append(Buffer *buffer, const Append *append) {
  buffer_put_u64(buffer, append->term);
  buffer_put_u8(buffer, append->from);
  buffer_put_u64(buffer, append->before_index);
  buffer_put_u64(buffer, append->before_term);
  buffer_put_u64(buffer, append->commit);
  buffer_put_u64(buffer, append->round);
  buffer_put_u8(buffer, append->count);
  for (int i = 0; i < append->count; i++) entry_write(buffer, &append->entries[i]);
}

static void read_append(Reader *reader, Append *append, Entry *room) {
  append->term = reader_u64(reader);
  append->from = reader_u8(reader);
  append->before_index = reader_u64(reader);
  append->before_term = reader_u64(reader);
  append->commit = reader_u64(reader);
  append->round = reader_u64(reader);
  append->count = reader_u8(reader);
  if (append->count > BATCH_COUNT_MAX) reader->failed = true;
  for (int i = 0; i < append->count && !reader->failed; i++) entry_read(reader, &room[i]);
  append->entries = room;
}

static void write_body(Buffer *buffer, const Message *message) {
  switch (message->kind) {
    case MESSAGE_VOTE:
      buffer_put_u64(buffer, message->as.vote.term);
      buffer_put_u8(buffer, message->as.vote.from);
      buffer_put_u64(buffer, message->as.vote.last_index);
      buffer_put_u64(buffer, message->as.vote.last_term);
      break;
    case MESSAGE_VOTE_REPLY:
      buffer_put_u64(buffer, message->as.vote_reply.term);
      buffer_put_u8(buffer, message->as.vote_reply.from);
      buffer_put_u8(buffer, message->as.vote_reply.granted);
      break;
    case MESSAGE_APPEND:
      write_append(buffer, &message->as.append);
      break;
    case MESSAGE_APPEND_REPLY:
      buffer_put_u64(buffer, message->as.append_reply.term);
      buffer_put_u8(buffer, message->as.append_reply.from);
      buffer_put_u8(buffer, message->as.append_reply.accepted);
      buffer_put_u64(buffer, message->as.append_reply.index);
      buffer_put_u64(buffer, message->as.append_reply.round);
      break;
    case MESSAGE_REQUEST:
      buffer_put_u64(buffer, message->as.request.client);
      buffer_put_u64(buffer, message->as.request.sequence);
      buffer_put_u8(buffer, message->as.request.operation);
      buffer_put_text(buffer, message->as.request.key);
      buffer_put_text(buffer, message->as.request.value);
      break;
    case MESSAGE_ANSWER:
      buffer_put_u64(buffer, message->as.answer.sequence);
      buffer_put_u8(buffer, (uint8_t)message->as.answer.status);
      buffer_put_u64(buffer, message->as.answer.index);
      buffer_put_text(buffer, message->as.answer.leader);
      buffer_put_text(buffer, message->as.answer.value);
      break;
    case MESSAGE_HELLO:
      buffer_put_u8(buffer, message->as.hello.from);
      break;
  }
}

static bool request_is_valid(const Request *request) {
  bool has_value = request->value[0] != 0;
  return request->client != 0 && request->key[0] != 0 &&
         ((request->operation == OPERATION_SET && has_value) ||
          (request->operation == OPERATION_GET && !has_value));
}

static void read_body(Reader *reader, Message *message) {
  message->kind = reader_u8(reader);
  switch (message->kind) {
    case MESSAGE_VOTE:
      message->as.vote.term = reader_u64(reader);
      message->as.vote.from = reader_u8(reader);
      message->as.vote.last_index = reader_u64(reader);
      message->as.vote.last_term = reader_u64(reader);
      break;
    case MESSAGE_VOTE_REPLY:
      message->as.vote_reply.term = reader_u64(reader);
      message->as.vote_reply.from = reader_u8(reader);
      message->as.vote_reply.granted = reader_u8(reader) != 0;
      break;
    case MESSAGE_APPEND:
      read_append(reader, &message->as.append, message->room);
      break;
    case MESSAGE_APPEND_REPLY:
      message->as.append_reply.term = reader_u64(reader);
      message->as.append_reply.from = reader_u8(reader);
      message->as.append_reply.accepted = reader_u8(reader) != 0;
      message->as.append_reply.index = reader_u64(reader);
      message->as.append_reply.round = reader_u64(reader);
      break;
    case MESSAGE_REQUEST:
      message->as.request.client = reader_u64(reader);
      message->as.request.sequence = reader_u64(reader);
      message->as.request.operation = reader_u8(reader);
      reader_text(reader, message->as.request.key, KEY_SIZE_MAX);
      reader_text(reader, message->as.request.value, VALUE_SIZE_MAX);
      if (!request_is_valid(&message->as.request)) reader->failed = true;
      break;
    case MESSAGE_ANSWER:
      message->as.answer.sequence = reader_u64(reader);
      message->as.answer.status = reader_u8(reader);
      message->as.answer.index = reader_u64(reader);
      reader_text(reader, message->as.answer.leader, NODE_NAME_SIZE_MAX);
      reader_text(reader, message->as.answer.value, VALUE_SIZE_MAX);
      break;
    case MESSAGE_HELLO:
      message->as.hello.from = reader_u8(reader);
      break;
    default:
      reader->failed = true;
  }
}

void message_write(Buffer *buffer, const Message *message) {
  buffer_reserve(buffer, FRAME_HEAD_SIZE);  // From here on the bytes stay where they are.
  size_t start = buffer->end;
  buffer_put_u32(buffer, 0);
  buffer_put_u8(buffer, (uint8_t)message->kind);
  write_body(buffer, message);
  size_t size = buffer->end - start - FRAME_HEAD_SIZE;
  must_hold(size <= FRAME_SIZE_MAX, "a frame is too large");
  buffer_patch_u32(buffer, start, (uint32_t)size);
}

int message_read(Buffer *buffer, Message *message) {
  size_t available = buffer_size(buffer);
  if (available < FRAME_HEAD_SIZE) return 0;
  const uint8_t *frame = buffer->bytes + buffer->start;
  uint32_t size = read_u32(frame);
  if (size > FRAME_SIZE_MAX) return -1;
  if (available < FRAME_HEAD_SIZE + size) return 0;
  Reader reader = {frame + FRAME_HEAD_SIZE, frame + FRAME_HEAD_SIZE + size, false};
  read_body(&reader, message);
  buffer_drop(buffer, FRAME_HEAD_SIZE + size);
  return reader.failed || reader.next != reader.end ? -1 : 1;
}
