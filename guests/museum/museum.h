// What the programs of the museum share: packets between numbered nodes, time, and small files.
//
// Nodes are numbered from 0 in the order of the scenario and have the addresses 10.0.0.1 onwards.
#ifndef MUSEUM_H
#define MUSEUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENTRY_COUNT_MAX = 48, NOBODY = -1 };

typedef struct {
  int32_t term, value;
} Entry;

// One packet. What `a` to `d` mean depends on the kind, and the kind on the case.
typedef struct {
  int32_t kind, from, term, a, b, c, d;
  int32_t entry_count;  // Only these entries are sent.
  Entry entries[ENTRY_COUNT_MAX];
} Message;

// What the command line says.
typedef struct {
  int self;
  bool bug;
} Role;

void open_socket(void);
void post(int to, const Message *message);
// Waits until a packet comes (true) or the time `deadline_ms` is there (false).
bool receive_until(int64_t deadline_ms, Message *message);

// Milliseconds of the monotonic clock.
int64_t now_ms(void);
void pause_until(int64_t deadline_ms);
// 0 to `below` - 1, drawn at the moment of use.
int random_below(int below);

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Replaces a file through a draft, durably and at once: a crash leaves the old or the new one.
void replace_file(const char *path, const void *bytes, size_t size);
// Writes over a file in place, durably: a crash may leave it torn.
void overwrite_file(const char *path, const void *bytes, size_t size);
// Bytes read, 0 when there is no such file.
size_t read_file(const char *path, void *bytes, size_t size_max);
// Opens a file for reading and writing, durably made if it was not there.
int open_file(const char *path);
uint32_t checksum(const void *bytes, size_t size);

// The cases. Each runs one node and never returns, or exits.
void run_replica(const char *name, Role role);
void run_store(const char *name, Role role);
void run_counter(Role role);
void run_lease(Role role);

#endif
