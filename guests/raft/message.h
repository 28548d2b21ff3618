// What nodes and clients say to each other, and its bytes.
//
// A frame is a u32 size and as many bytes: a kind, then the fields in the order of the structures
// below. A request and its reply travel on the same connection. Everything is little endian.
#ifndef RAFT_MESSAGE_H
#define RAFT_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "cluster.h"
#include "log.h"
#include "machine.h"

enum {
  FRAME_HEAD_SIZE = 4,
  FRAME_SIZE_MAX = 32768,
  // 64 entries of at most 187 bytes fit a frame.
  BATCH_COUNT_MAX = 64,
};

typedef enum {
  MESSAGE_VOTE = 1,
  MESSAGE_VOTE_REPLY = 2,
  MESSAGE_APPEND = 3,
  MESSAGE_APPEND_REPLY = 4,
  MESSAGE_REQUEST = 5,
  MESSAGE_ANSWER = 6,
  MESSAGE_HELLO = 7,
} MessageKind;

// The first message on a link says whose it is. It has no reply.
typedef struct {
  uint8_t from;
} Hello;

// A candidate asks for a vote; `last_index` and `last_term` are of its log's end.
typedef struct {
  uint64_t term;
  uint8_t from;
  uint64_t last_index;
  uint64_t last_term;
} Vote;

typedef struct {
  uint64_t term;
  uint8_t from;
  bool granted;
} VoteReply;

// A leader sends entries that follow position `before_index`, or none: a heartbeat.
typedef struct {
  uint64_t term;
  uint8_t from;
  uint64_t before_index;
  uint64_t before_term;
  uint64_t commit;
  uint64_t round;  // Comes back in the reply: who answers a round knew this leader after it began.
  uint8_t count;
  const Entry *entries;
} Append;

typedef struct {
  uint64_t term;
  uint8_t from;
  bool accepted;
  // Accepted: both logs are equal up to here. Refused: try again from here, or 0 when it was the
  // request's term that was over; such a reply may reach a leader of a later term.
  uint64_t index;
  uint64_t round;
} AppendReply;

// A client asks. The value is empty for a read.
typedef struct {
  uint64_t client;  // Its session, not 0.
  uint64_t sequence;
  uint8_t operation;
  char key[KEY_SIZE_MAX + 1];
  char value[VALUE_SIZE_MAX + 1];
} Request;

typedef struct {
  uint64_t sequence;
  Status status;
  // Where in the log: of the write, or of the last entry that a read has seen.
  uint64_t index;
  char leader[NODE_NAME_SIZE_MAX + 1];  // Its name, or empty when it is not known.
  char value[VALUE_SIZE_MAX + 1];
} Answer;

typedef struct {
  MessageKind kind;
  Entry *room;  // Only to read into: BATCH_COUNT_MAX entries, where those of an Append are put.
  union {
    Vote vote;
    VoteReply vote_reply;
    Append append;
    AppendReply append_reply;
    Request request;
    Answer answer;
    Hello hello;
  } as;
} Message;

// Appends the message as a frame.
void message_write(Buffer *buffer, const Message *message);

// Takes one frame out of the buffer: 1 when there was one, 0 when it is not complete yet, -1 when
// these bytes are no valid frame.
int message_read(Buffer *buffer, Message *message);

#endif
