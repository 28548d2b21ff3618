// One of everything that a command line program does: arguments, environment, clock, sleep,
// entropy, standard input, a file, standard output and error, an exit code. Built as a preview 1
// module and as a preview 2 component from the same source.
//
//   hello [DIRECTORY [EXIT_CODE]]
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void print_clock(const char *name, clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  printf("%s %lld.%09ld\n", name, (long long)time.tv_sec, time.tv_nsec);
}

static void append_and_count(const char *directory) {
  char path[512];
  snprintf(path, sizeof path, "%s/hello.txt", directory);
  FILE *file = fopen(path, "a+");
  if (file == NULL) {
    printf("file: %s\n", strerror(errno));
    return;
  }
  fprintf(file, "hello\n");
  rewind(file);
  int line_count = 0;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) line_count += c == '\n';
  fclose(file);
  printf("file: %d lines\n", line_count);
}

int main(int argument_count, char **arguments) {
  for (int i = 1; i < argument_count; i++) printf("argument %d: %s\n", i, arguments[i]);
  for (char **variable = environ; *variable != NULL; variable++)
    printf("variable: %s\n", *variable);
  print_clock("realtime", CLOCK_REALTIME);
  print_clock("monotonic", CLOCK_MONOTONIC);
  struct timespec wait = {.tv_sec = 1, .tv_nsec = 500000000};
  nanosleep(&wait, NULL);
  print_clock("after 1.5 s", CLOCK_MONOTONIC);
  unsigned char bytes[8];
  if (getentropy(bytes, sizeof bytes) != 0) return 1;
  printf("entropy ");
  for (size_t i = 0; i < sizeof bytes; i++) printf("%02x", bytes[i]);
  printf("\n");
  char line[64];
  if (fgets(line, sizeof line, stdin) != NULL) printf("input: %s", line);
  append_and_count(argument_count > 1 ? arguments[1] : "/");
  fprintf(stderr, "to standard error\n");
  return argument_count > 2 ? atoi(arguments[2]) : 0;
}
