// Calls of record worlds through the host. Optional, header only, C99 and C++.
//
//   athanor_answer answer;
//   char body[4096];
//   int status = athanor_call("shop.issue_refund", "{\"order\":3}", 500 * ATHANOR_MS, 1, body,
//                             sizeof body, &answer);
//
// One call is one attempt: retrying, backing off and giving up are the program's own. The simulator
// counts attempts, and a plan may tell each of them to fail, to be late, or to end the program.
#ifndef ATHANOR_CALL_H
#define ATHANOR_CALL_H

#include <stddef.h>
#include <stdint.h>

// There is no connection, or it broke; the caller's time was up.
#define ATHANOR_CALL_CONNECTION (-1)
#define ATHANOR_CALL_TIMEOUT (-2)

#define ATHANOR_MS INT64_C(1000000)

typedef struct {
  // The size of the whole answer, of which `room` has what fits.
  uint32_t size;
  // What a retry-after header said, or 0.
  uint32_t retry_after_ms;
} athanor_answer;

#ifdef __wasm__

__attribute__((import_module("athanor"), import_name("call"))) int athanor_host_call(
    const char *target, uint32_t target_size, const char *arguments, uint32_t arguments_size,
    int64_t timeout_ns, uint32_t call, char *room, uint32_t room_size, athanor_answer *answer);

static inline uint32_t athanor_length(const char *text) {
  uint32_t length = 0;
  while (text[length] != 0) length++;
  return length;
}

// `target` is `<node>.<operation>`, `arguments` a JSON object. `timeout_ns` of 0 waits for ever.
// `call` from 1 says which call this is an attempt of; with 0 an attempt after a failed one on the
// same target counts as the same call. The status is that of HTTP, or one of the two above.
static inline int athanor_call(const char *target, const char *arguments, int64_t timeout_ns,
                               uint32_t call, char *room, size_t room_size,
                               athanor_answer *answer) {
  return athanor_host_call(target, athanor_length(target), arguments, athanor_length(arguments),
                           timeout_ns, call, room, (uint32_t)room_size, answer);
}

#endif

#endif
