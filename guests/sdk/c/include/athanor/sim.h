// Markers: what a guest may tell the simulator about itself. Optional, header only, C99 and C++.
//
// Each call hands one line of JSON in UTF-8, without a newline, to the simulator:
//
//   (import "athanor" "marker" (func (param i32 i32)))      ;; address and length of the line
//
//   {"kind":"log","name":"what happened"}
//   {"kind":"always","name":"balance is never negative","condition":true,"details":{"balance":3}}
//
// kind       log, always, sometimes, reachable or unreachable
// name       identifies the property over all calls, nodes and runs; for a log line, its text
// condition  for always and sometimes: what held; reachable says true, unreachable says false
// details    any JSON object, or absent
//
// always: must hold whenever it is reached. sometimes: must hold at least once. reachable: must be
// reached at least once. unreachable: must never be. A marker changes nothing in the guest: it
// takes no answer. A program that calls none has no such import, and outside of WebAssembly the
// calls do nothing, so one source serves both.
#ifndef ATHANOR_SIM_H
#define ATHANOR_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A longer line is cut within `name`; details that do not fit are left out.
#define SIM_MARKER_SIZE_MAX 1024

#ifdef __wasm__

__attribute__((import_module("athanor"), import_name("marker"))) void athanor_marker(
    const char *line, uint32_t size);

typedef struct {
  char text[SIM_MARKER_SIZE_MAX];
  size_t size;
} sim_line;

static inline bool sim_put(sim_line *line, const char *text, size_t size, size_t spare) {
  if (size + spare > SIM_MARKER_SIZE_MAX - line->size) return false;
  for (size_t i = 0; i < size; i++) line->text[line->size++] = text[i];
  return true;
}

static inline bool sim_put_text(sim_line *line, const char *text, size_t spare) {
  size_t size = 0;
  while (text[size] != 0) size++;
  return sim_put(line, text, size, spare);
}

// Writes a JSON string, cut where only `spare` bytes would be left.
static inline void sim_put_string(sim_line *line, const char *text, size_t spare) {
  static const char DIGITS[] = "0123456789abcdef";
  sim_put_text(line, "\"", 0);
  for (size_t i = 0; text[i] != 0; i++) {
    unsigned char byte = (unsigned char)text[i];
    char code[6] = {'\\', 'u', '0', '0', DIGITS[byte >> 4], DIGITS[byte & 15]};
    bool escaped = byte < 0x20 || byte == '"' || byte == '\\';
    // A cut must not fall inside of a character of several bytes, which are at most 4.
    size_t margin = (byte & 0xc0) == 0x80 ? spare : spare + 3;
    if (!sim_put(line, escaped ? code : text + i, escaped ? sizeof code : 1, margin)) break;
  }
  sim_put_text(line, "\"", 0);
}

// `details` is a JSON object or NULL.
static inline void sim_mark(const char *kind, const char *name, const bool *condition,
                            const char *details) {
  sim_line line;
  line.size = 0;
  sim_put_text(&line, "{\"kind\":\"", 0);
  sim_put_text(&line, kind, 64);
  sim_put_text(&line, "\",\"name\":", 0);
  sim_put_string(&line, name, 64);
  if (condition != NULL)
    sim_put_text(&line, *condition ? ",\"condition\":true" : ",\"condition\":false", 8);
  size_t before = line.size;
  if (details != NULL && sim_put_text(&line, ",\"details\":", 1) &&
      !sim_put_text(&line, details, 1)) {
    line.size = before;
  }
  sim_put_text(&line, "}", 0);
  athanor_marker(line.text, (uint32_t)line.size);
}

#else

static inline void sim_mark(const char *kind, const char *name, const bool *condition,
                            const char *details) {
  (void)kind;
  (void)name;
  (void)condition;
  (void)details;
}

#endif

static inline void sim_log(const char *text) { sim_mark("log", text, NULL, NULL); }

static inline void sim_always_with(bool condition, const char *name, const char *details) {
  sim_mark("always", name, &condition, details);
}

static inline void sim_sometimes_with(bool condition, const char *name, const char *details) {
  sim_mark("sometimes", name, &condition, details);
}

static inline void sim_always(bool condition, const char *name) {
  sim_always_with(condition, name, NULL);
}

static inline void sim_sometimes(bool condition, const char *name) {
  sim_sometimes_with(condition, name, NULL);
}

static inline void sim_reachable(const char *name) {
  bool reached = true;
  sim_mark("reachable", name, &reached, NULL);
}

static inline void sim_unreachable(const char *name) {
  bool reached = false;
  sim_mark("unreachable", name, &reached, NULL);
}

#endif
