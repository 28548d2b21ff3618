// Programs that misbehave, one for each mode. Nothing here may harm the host or hang it.
//
//   hostile MODE   loop recurse recurse-in-registers allocate grow write-out-of-bounds trap divide
//                  abort exit-mid-write flood open-files bad-pointers bad-descriptors deep-paths
//                  spin-clock
//
// Modes that end by themselves print what they saw and exit 0; "exit-mid-write" exits 7.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>

static volatile uint32_t sink;

static void loop(void) {
  for (;;) sink++;
}

// The address of a local escapes, so the call cannot become a loop.
static uint32_t recurse(volatile uint32_t *above) {
  volatile uint32_t here = *above + 1;
  sink = here;
  return here == UINT32_MAX ? 0 : recurse(&here) + here;
}

// Needs no linear memory at all: only the engine's own stack can run out.
__attribute__((noinline)) static uint32_t recurse_in_registers(uint32_t depth) {
  sink = depth;
  return depth == UINT32_MAX ? 0 : recurse_in_registers(depth + 1) * 31 + depth;
}

static void run_recurse_in_registers(void) { printf("result %u\n", recurse_in_registers(0)); }

static void run_recurse(void) {
  volatile uint32_t start = 0;
  printf("depth %u\n", recurse(&start));
}

static void allocate(void) {
  const size_t size = 1 << 20;
  for (unsigned count = 0;; count++) {
    volatile uint8_t *block = malloc(size);
    if (block == NULL) {
      printf("allocation of MiB %u refused\n", count);
      return;
    }
    for (size_t i = 0; i < size; i += 4096) block[i] = (uint8_t)i;
  }
}

static void grow(void) {
  unsigned page_count = 0;
  while (__builtin_wasm_memory_grow(0, 1) != (size_t)-1) page_count++;
  printf("growth stopped after %s pages\n", page_count > 0 ? "some" : "no");
}

static void write_out_of_bounds(void) {
  volatile uint8_t *end = (volatile uint8_t *)(__builtin_wasm_memory_size(0) * 65536);
  printf("writing at the end of memory\n");
  fflush(stdout);
  *end = 1;
}

static void trap(void) { __builtin_trap(); }

static void divide(void) {
  volatile int numerator = 7, zero = 0;
  printf("dividing\n");
  fflush(stdout);
  sink = (uint32_t)(numerator / zero);
}

static void exit_mid_write(void) {
  int file = open("/half", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (file >= 0) {
    write(file, "first half,", 11);
    write(1, "half a li", 9);
  }
  __wasi_proc_exit(7);
}

static void flood(void) {
  char line[1024];
  memset(line, 'x', sizeof line);
  line[sizeof line - 1] = '\n';
  for (;;) {
    if (write(1, line, sizeof line) < 0) return;
  }
}

static void open_files(void) {
  for (int count = 0;; count++) {
    char name[32];
    snprintf(name, sizeof name, "/f%d", count);
    if (open(name, O_CREAT | O_RDWR, 0644) < 0) {
      printf("open %s refused: %s\n", count > 2 ? "at last" : "at once", strerror(errno));
      return;
    }
  }
}

static void expect_error(const char *call, __wasi_errno_t error) {
  printf("%s: %s\n", call, error == 0 ? "ACCEPTED" : strerror(error));
}

// The import itself: the wrapper of the C library would read the bad path.
__attribute__((import_module("wasi_snapshot_preview1"), import_name("path_open"))) extern uint16_t
path_open(__wasi_fd_t directory, uint32_t lookup_flags, const uint8_t *path,
          __wasi_size_t path_size, uint32_t open_flags, uint64_t rights, uint64_t inheriting,
          uint32_t flags, __wasi_fd_t *fd);

// Every pointer leads outside of linear memory or wraps around its end.
static void bad_pointers(void) {
  uint8_t *outside = (uint8_t *)0xfffffff0u;
  __wasi_size_t size;
  __wasi_ciovec_t vector = {.buf = outside, .buf_len = 64};
  expect_error("fd_write buffer", __wasi_fd_write(1, &vector, 1, &size));
  expect_error("fd_write vectors", __wasi_fd_write(1, (const __wasi_ciovec_t *)outside, 8, &size));
  __wasi_ciovec_t good = {.buf = (const uint8_t *)"", .buf_len = 0};
  expect_error("fd_write result", __wasi_fd_write(1, &good, 1, (__wasi_size_t *)(outside + 8)));
  expect_error("random_get", __wasi_random_get(outside, 64));
  expect_error("random_get huge", __wasi_random_get((uint8_t *)1024, 0xffffffffu));
  expect_error("clock_time_get", __wasi_clock_time_get(0, 0, (__wasi_timestamp_t *)(outside + 8)));
  expect_error("poll_oneoff", __wasi_poll_oneoff((const __wasi_subscription_t *)outside,
                                                 (__wasi_event_t *)outside, 3, &size));
  __wasi_fd_t fd;
  expect_error("path_open", path_open(3, 0, outside, 64, 0, 0, 0, 0, &fd));
}

static void bad_descriptors(void) {
  const __wasi_fd_t descriptors[] = {99, 0x7fffffff, 0x80000000u, 0xffffffffu};
  for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
    __wasi_fdstat_t stat;
    __wasi_filesize_t offset;
    expect_error("fd_fdstat_get", __wasi_fd_fdstat_get(descriptors[i], &stat));
    expect_error("fd_close", __wasi_fd_close(descriptors[i]));
    expect_error("fd_seek", __wasi_fd_seek(descriptors[i], INT64_MIN, 2, &offset));
    expect_error("fd_renumber", __wasi_fd_renumber(descriptors[i], 1));
  }
}

static void deep_paths(void) {
  char path[4000] = "";
  int depth = 0;
  while (depth < 1000 && mkdir(strcat(path, "/d"), 0755) == 0) depth++;
  printf("deep path: %d levels, then %s\n", depth, depth < 1000 ? strerror(errno) : "stopped");
  const char *escapes[] = {"/../etc/passwd", "/../../../../../../etc/passwd",
                           "/d/../../etc/passwd"};
  for (int i = 0; i < 3; i++) {
    int file = open(escapes[i], O_RDONLY);
    printf("escape %d: %s\n", i, file < 0 ? "refused" : "OPENED");
  }
}

static void spin_clock(void) {
  struct timespec time;
  for (;;) clock_gettime(CLOCK_MONOTONIC, &time);
}

static const struct {
  const char *name;
  void (*run)(void);
} MODES[] = {
    {"loop", loop},
    {"recurse", run_recurse},
    {"recurse-in-registers", run_recurse_in_registers},
    {"allocate", allocate},
    {"grow", grow},
    {"write-out-of-bounds", write_out_of_bounds},
    {"trap", trap},
    {"divide", divide},
    {"exit-mid-write", exit_mid_write},
    {"flood", flood},
    {"open-files", open_files},
    {"bad-pointers", bad_pointers},
    {"bad-descriptors", bad_descriptors},
    {"deep-paths", deep_paths},
    {"spin-clock", spin_clock},
    {"abort", abort},
};

int main(int argument_count, char **arguments) {
  for (size_t i = 0; i < sizeof MODES / sizeof MODES[0]; i++) {
    if (argument_count == 2 && strcmp(arguments[1], MODES[i].name) == 0) {
      MODES[i].run();
      return 0;
    }
  }
  printf("usage: hostile MODE\n");
  return 64;
}
