// SPDX-License-Identifier: Apache-2.0
// The doorbell of a simulated machine, for C programs on Linux x86-64. Include this one file.
//
// Ports and values: docs/machines.md. The calls need the right to use I/O ports (root, or
// CAP_SYS_RAWIO); programs without it call the tool `athanor`, which has it. Without a doorbell
// (a stock QEMU) they return -1 and do nothing, so a program may keep them everywhere.
#ifndef ATHANOR_H
#define ATHANOR_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/io.h>
#include <unistd.h>

#define ATHANOR_PORT_BELL 0x5e0
#define ATHANOR_PORT_RANDOM 0x5e4
#define ATHANOR_PORT_TEXT 0x402
#define ATHANOR_PRESENT 0x41544852u
#define ATHANOR_BELL_READY 0x01000000u
#define ATHANOR_BELL_EXIT 0x02000000u
#define ATHANOR_BELL_LINE 0x03000000u
#define ATHANOR_LINE_MAX 65536
#define ATHANOR_LOCK "/run/athanor.lock"

// Opens the ports for this thread and those it makes. 0, or -1 without the right to.
static inline int athanor_open(void) { return iopl(3); }

// Whether somebody listens. After athanor_open.
static inline int athanor_present(void) { return inl(ATHANOR_PORT_BELL) == ATHANOR_PRESENT; }

// Rings the bell; values below 0x01000000 are the program's own.
static inline int athanor_bell(uint32_t value) {
  if (athanor_open() != 0) return -1;
  outl(value, ATHANOR_PORT_BELL);
  return 0;
}

// 32 bits that the simulator decides. Ask at the moment of use: forks part here.
static inline int athanor_random(uint32_t *value) {
  if (athanor_open() != 0 || !athanor_present()) return -1;
  *value = inl(ATHANOR_PORT_RANDOM);
  return 0;
}

// Writes one line of text, without a line feed of its own.
static inline int athanor_line(const char *line, size_t size) {
  if (size >= ATHANOR_LINE_MAX || memchr(line, '\n', size) != NULL) return -1;
  if (athanor_open() != 0) return -1;
  // Lines of two processes must not mix; who ends while holding the lock loses it.
  int lock = open(ATHANOR_LOCK, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
  if (lock >= 0) flock(lock, LOCK_EX);
  for (size_t i = 0; i < size; i++) outb((unsigned char)line[i], ATHANOR_PORT_TEXT);
  outb('\n', ATHANOR_PORT_TEXT);
  outl(ATHANOR_BELL_LINE, ATHANOR_PORT_BELL);
  if (lock >= 0) close(lock);
  return 0;
}

// Copies `text` as the inside of a JSON string; returns the bytes written, or `room` if too many.
static inline size_t athanor_escape(char *to, size_t room, const char *text) {
  size_t at = 0;
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    char part[8];
    if (c == '"' || c == '\\') snprintf(part, sizeof part, "\\%c", c);
    else if (c < 0x20) snprintf(part, sizeof part, "\\u%04x", c);
    else snprintf(part, sizeof part, "%c", c);
    size_t size = strlen(part);
    if (at + size >= room) return room;
    memcpy(to + at, part, size);
    at += size;
  }
  return at;
}

// One marker. `kind` is always, always-or-unreached, sometimes, reachable, unreachable or log;
// `details` is JSON, or NULL.
static inline int athanor_mark(const char *kind, const char *name, int condition,
                               const char *details) {
  static __thread char line[ATHANOR_LINE_MAX];
  size_t at = (size_t)snprintf(line, sizeof line, "{\"kind\":\"%s\",\"name\":\"", kind);
  at += athanor_escape(line + at, sizeof line - at, name);
  if (at >= sizeof line) return -1;
  int rest = snprintf(line + at, sizeof line - at, "\",\"condition\":%s,\"hit\":true%s%s}",
                      condition ? "true" : "false", details == NULL ? "" : ",\"details\":",
                      details == NULL ? "" : details);
  if (rest < 0 || at + (size_t)rest >= sizeof line) return -1;
  return athanor_line(line, at + (size_t)rest);
}

// Must be true every time, and be reached.
static inline int athanor_always(int condition, const char *name, const char *details) {
  return athanor_mark("always", name, condition, details);
}

// Must be true at least once over all runs.
static inline int athanor_sometimes(int condition, const char *name, const char *details) {
  return athanor_mark("sometimes", name, condition, details);
}

static inline int athanor_reachable(const char *name, const char *details) {
  return athanor_mark("reachable", name, 1, details);
}

static inline int athanor_unreachable(const char *name, const char *details) {
  return athanor_mark("unreachable", name, 0, details);
}

// The machine is ready: a ready point may be taken here.
static inline int athanor_ready(void) { return athanor_bell(ATHANOR_BELL_READY); }

#endif
