// A desk calculator that nobody taught about zero. It works off statements: each of its arguments,
// then the variable PROGRAM, then each line of the file /program. A statement is
//
//   REGISTER OPERATION OPERAND        t = 40    t + u    t / 3
//
// with registers a to z, which hold 1 at first, the operations = + - * / and an operand that is a
// register or a whole number. What follows # is a comment. A division by zero traps.
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t registers[26];
static int done, refused;

static const char *skip_spaces(const char *at) {
  while (isspace((unsigned char)*at)) at++;
  return at;
}

static int is_register(char c) { return c >= 'a' && c <= 'z'; }

static void apply(uint32_t *target, char operation, uint32_t operand) {
  switch (operation) {
    case '=': *target = operand; break;
    case '+': *target += operand; break;
    case '-': *target -= operand; break;
    case '*': *target *= operand; break;
    default: *target /= operand; break;
  }
  done++;
}

static void work_off(const char *statement) {
  const char *at = skip_spaces(statement);
  if (*at == '\0' || *at == '#') return;
  const char *target = at;
  const char *operation = is_register(*target) ? skip_spaces(target + 1) : "";
  const char *operand = "";
  if (*operation != '\0' && strchr("=+-*/", *operation) != NULL) operand = skip_spaces(operation + 1);
  if (is_register(*operand)) {
    apply(&registers[*target - 'a'], *operation, registers[*operand - 'a']);
  } else if (isdigit((unsigned char)*operand)) {
    apply(&registers[*target - 'a'], *operation, (uint32_t)strtoul(operand, NULL, 10));
  } else {
    refused++;
  }
}

int main(int argument_count, char **arguments) {
  for (int i = 0; i < 26; i++) registers[i] = 1;
  for (int i = 1; i < argument_count; i++) work_off(arguments[i]);
  const char *variable = getenv("PROGRAM");
  if (variable != NULL) work_off(variable);
  FILE *file = fopen("/program", "r");
  char line[256];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) work_off(line);
  if (file != NULL) fclose(file);
  printf("done %d refused %d\n", done, refused);
  return 0;
}
