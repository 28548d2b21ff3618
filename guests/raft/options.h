// `--name value` pairs of the command line.
#ifndef RAFT_OPTIONS_H
#define RAFT_OPTIONS_H

// The value of `--name`, or `otherwise`, or usage (exit 64) when that is NULL and it is missing.
const char *option_text(int count, char **arguments, const char *name, const char *otherwise);

// The same as a number from `low` to `high`.
int option_number(int count, char **arguments, const char *name, int otherwise, int low, int high);

// Ends the program when anything but a `--name value` of `names` was given.
void options_check(int count, char **arguments, const char *const *names, int name_count);

#endif
