// Handlers of record worlds in compiled WebAssembly. Header only, C99 and C++.
//
//   ATHANOR_HANDLER(issue_refund) {
//     char input[512];
//     athanor_answer_text(input, sizeof input);   // {"args":{"order":3},"now":"2026-...","now_ns":...}
//     athanor_ask_text("{\"do\":\"insert\",\"table\":\"refunds\",\"values\":{\"order\":3}}");
//     char row[512];
//     athanor_answer_text(row, sizeof row);       // {"kind":"value","value":{"id":1,"order":3}}
//     athanor_reply_text("{\"id\":1}");
//   }
//
// All that crosses the border is JSON. A call has an instance of its own: nothing is left of it but
// what it wrote into tables, and of a call that refuses or traps not even that. Questions are
//   {"do":"get"|"delete","table":T,"id":I}   {"do":"all","table":T}
//   {"do":"where"|"pick"|"insert","table":T,"values":{...}}   {"do":"update","table":T,"id":I,"values":{...}}
//   {"do":"revision"|"snapshot"}   {"do":"diff","old":SNAPSHOT}   {"do":"below","arity":N}
// and answers {"kind":"value","value":...} or {"kind":"refusal","refusal":...,"message":...}.
// Build with -mexec-model=reactor. Functions of WASI answer that there is no such thing, an exit is a
// crash, and other imports are refused.
#ifndef ATHANOR_HANDLER_H
#define ATHANOR_HANDLER_H

#include <stdint.h>

#ifdef __wasm__

#define ATHANOR_IMPORT(name) __attribute__((import_module("athanor"), import_name(name)))

// Asks; the size of the answer.
ATHANOR_IMPORT("ask") uint32_t athanor_ask(const char *question, uint32_t size);
// Copies the last answer, as far as it fits (at first: the call's input); its whole size.
ATHANOR_IMPORT("answer") uint32_t athanor_answer_bytes(char *room, uint32_t size);
// What the operation returns, as JSON. The last one counts; without any it is null.
ATHANOR_IMPORT("reply") void athanor_reply(const char *value, uint32_t size);
// Refuses, with a reason that the client reads.
ATHANOR_IMPORT("refuse") void athanor_refuse(const char *reason, uint32_t size);

// The exported function of that name.
#define ATHANOR_HANDLER(name) __attribute__((export_name(#name))) void name(void)

static inline uint32_t athanor_text_size(const char *text) {
  uint32_t size = 0;
  while (text[size] != 0) size++;
  return size;
}

// The same for texts that end in a zero. One that does not fit is cut.
static inline uint32_t athanor_answer_text(char *room, uint32_t size) {
  uint32_t whole = athanor_answer_bytes(room, size - 1);
  room[whole < size - 1 ? whole : size - 1] = 0;
  return whole;
}

static inline uint32_t athanor_ask_text(const char *question) {
  return athanor_ask(question, athanor_text_size(question));
}

static inline void athanor_reply_text(const char *value) {
  athanor_reply(value, athanor_text_size(value));
}

static inline void athanor_refuse_text(const char *reason) {
  athanor_refuse(reason, athanor_text_size(reason));
}

#endif

#endif
