// What the programs need from the system beside files and sockets: time, entropy, lines of text.
#ifndef RAFT_SYSTEM_H
#define RAFT_SYSTEM_H

#include <stdint.h>

enum { NS_PER_MS = 1000000 };

// Nanoseconds of the monotonic clock when this turn of the loop began: what happens in one turn
// happens at one time, and the clock is asked once.
int64_t now_ns(void);

// Looks at the clock: after each wait.
void begin_turn(void);

// Asked for at the moment of use, never ahead: then two futures of one state can differ.
uint64_t random_u64(void);

// A number from `low` to `high`, both included.
int64_t random_between(int64_t low, int64_t high);

// Milliseconds to wait until `deadline_ns`, rounded up, as poll wants them; a minute at most.
int wait_ms(int64_t now, int64_t deadline_ns);

void sleep_ms(int64_t ms);

// Writes one line to the console.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Says why and ends the program: 64 for usage, 74 for the system's refusal, 70 for a broken
// invariant, as in <sysexits.h>.
_Noreturn void give_up(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { EXIT_USAGE = 64, EXIT_BROKEN = 70, EXIT_SYSTEM = 74 };

// Ends the program when `holds` is false: a safety rule of Raft or of this code is broken.
#define must_hold(holds, what)                           \
  do {                                                   \
    if (!(holds)) give_up(EXIT_BROKEN, "broken: " what); \
  } while (0)

#endif
