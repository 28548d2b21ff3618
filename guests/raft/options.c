#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "system.h"

const char *option_text(int count, char **arguments, const char *name, const char *otherwise) {
  for (int i = 1; i + 1 < count; i += 2) {
    if (strcmp(arguments[i], name) == 0) return arguments[i + 1];
  }
  if (otherwise == NULL) give_up(EXIT_USAGE, "%s is missing", name);
  return otherwise;
}

int option_number(int count, char **arguments, const char *name, int otherwise, int low, int high) {
  const char *text = option_text(count, arguments, name, "");
  if (text[0] == 0) return otherwise;
  char *end;
  long value = strtol(text, &end, 10);
  if (*end != 0 || value < low || value > high) {
    give_up(EXIT_USAGE, "%s must be from %d to %d", name, low, high);
  }
  return (int)value;
}

void options_check(int count, char **arguments, const char *const *names, int name_count) {
  for (int i = 1; i < count; i += 2) {
    int known = 0;
    for (int n = 0; n < name_count; n++) known |= strcmp(arguments[i], names[n]) == 0;
    if (!known) give_up(EXIT_USAGE, "unknown argument %s", arguments[i]);
    if (i + 1 == count) give_up(EXIT_USAGE, "%s has no value", arguments[i]);
  }
}
