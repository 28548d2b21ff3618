// A client of an etcd cluster over its HTTP and JSON gateway.
//
//   etcd-client NAME SERVERS COUNT [PAUSE_MS]
//
// Reads, writes, and compares and swaps a few registers, COUNT operations in all, each at one of the
// SERVERS (separated by commas); at another one after trouble. What it asks and learns is a history
// of registers (see docs/properties.md): an operation whose answer is an error or does not come in
// time is of unknown outcome. Exit codes: 0 done, 2 an answer that makes no sense, 64 usage.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "connection.h"

enum {
  ANSWER_MS = 1500,
  START_MS = 60000,
  RETRY_MS = 100,
  KEY_COUNT = 3,
  SERVER_COUNT_MAX = 7,
  VALUE_SIZE_MAX = 32,
  BODY_SIZE_MAX = 8192,
};

static Connection connection;
static char *servers[SERVER_COUNT_MAX];
static int server_count, server;
static char body[BODY_SIZE_MAX];
static char known[KEY_COUNT][VALUE_SIZE_MAX];  // The value last seen; empty for none.

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode(const char *text, char *out) {
  size_t size = strlen(text);
  for (size_t i = 0; i < size; i += 3) {
    unsigned char bytes[3] = {0};
    memcpy(bytes, text + i, size - i < 3 ? size - i : 3);
    *out++ = BASE64[bytes[0] >> 2];
    *out++ = BASE64[(bytes[0] & 3) << 4 | bytes[1] >> 4];
    *out++ = i + 1 < size ? BASE64[(bytes[1] & 15) << 2 | bytes[2] >> 6] : '=';
    *out++ = i + 2 < size ? BASE64[bytes[2] & 63] : '=';
  }
  *out = 0;
}

// Decodes up to the closing quote; false for what is no base64 or too long.
static bool decode(const char *text, char *out) {
  unsigned bits = 0, bit_count = 0;
  size_t size = 0;
  for (; *text != '"' && *text != '='; text++) {
    const char *place = *text == 0 ? NULL : strchr(BASE64, *text);
    if (place == NULL) return false;
    bits = bits << 6 | (unsigned)(place - BASE64);
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    if (size + 1 >= VALUE_SIZE_MAX) return false;
    out[size++] = (char)(bits >> bit_count);
  }
  out[size] = 0;
  return true;
}

static unsigned draw(unsigned count) {
  uint32_t bits;
  if (getentropy(&bits, sizeof bits) != 0) exit(2);
  return bits % count;
}

// Reads an answer's head: its status and the size of its body. False if it breaks off.
static bool take_head(int64_t deadline_ms, int *status, size_t *size) {
  char line[512];
  if (!connection_take_line(&connection, line, sizeof line, deadline_ms)) return false;
  if (strncmp(line, "HTTP/1.1 ", 9) != 0) return false;
  *status = atoi(line + 9);
  *size = 0;
  for (;;) {
    if (!connection_take_line(&connection, line, sizeof line, deadline_ms)) return false;
    if (line[0] == 0) return *size < sizeof body;
    if (strncasecmp(line, "content-length:", 15) == 0) *size = (size_t)atol(line + 15);
  }
}

// Posts a request and leaves the answer's text in `body`. False, with errno, without an answer that
// says what became of the request.
static bool post(const char *path, const char *request) {
  char head[256];
  int64_t deadline_ms = now_ms() + ANSWER_MS;
  if (connection.fd < 0 &&
      !connection_open(&connection, servers[server], "2379", deadline_ms))
    return false;
  snprintf(head, sizeof head,
           "POST /v3/kv/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
           "Content-Length: %zu\r\n\r\n",
           path, servers[server], strlen(request));
  int status;
  size_t size;
  if (!connection_send(&connection, head, strlen(head), deadline_ms) ||
      !connection_send(&connection, request, strlen(request), deadline_ms) ||
      !take_head(deadline_ms, &status, &size) ||
      !connection_take(&connection, body, size, deadline_ms))
    return false;
  body[size] = 0;
  errno = EAGAIN;
  return status == 200;
}

static void change_server(void) {
  connection_close(&connection);
  server = (server + 1) % server_count;
}

static bool read_register(int key, char *value) {
  char name[8], code[16], request[128];
  snprintf(name, sizeof name, "r%d", key);
  encode(name, code);
  snprintf(request, sizeof request, "{\"key\":\"%s\"}", code);
  if (!post("range", request)) return false;
  const char *found = strstr(body, "\"value\":\"");
  strcpy(value, "nil");
  if (found == NULL || decode(found + 9, value)) return true;
  printf("no sense: %s\n", body);
  exit(2);
}

static bool write_register(int key, const char *value) {
  char name[8], code[16], data[64], request[160];
  snprintf(name, sizeof name, "r%d", key);
  encode(name, code);
  encode(value, data);
  snprintf(request, sizeof request, "{\"key\":\"%s\",\"value\":\"%s\"}", code, data);
  return post("put", request);
}

static bool swap_register(int key, const char *expected, const char *value, bool *swapped) {
  char name[8], code[16], old[64], data[64], request[384];
  snprintf(name, sizeof name, "r%d", key);
  encode(name, code);
  encode(expected, old);
  encode(value, data);
  snprintf(request, sizeof request,
           "{\"compare\":[{\"key\":\"%s\",\"target\":\"VALUE\",\"result\":\"EQUAL\","
           "\"value\":\"%s\"}],\"success\":[{\"requestPut\":{\"key\":\"%s\",\"value\":\"%s\"}}]}",
           code, old, code, data);
  if (!post("txn", request)) return false;
  *swapped = strstr(body, "\"succeeded\":true") != NULL;
  return true;
}

// One operation and its two lines; true if its outcome is known.
static bool operate(const char *client, int number) {
  char value[VALUE_SIZE_MAX];
  bool swapped = false;
  int key = (int)draw(KEY_COUNT);
  unsigned choice = draw(5);
  snprintf(value, sizeof value, "%s-%d", client, number);
  if (choice < 2) {
    printf("op invoke %s %d read r%d\n", client, number, key);
    fflush(stdout);
    if (!read_register(key, value)) return false;
    printf("op ok %s %d %s\n", client, number, value);
    strcpy(known[key], strcmp(value, "nil") == 0 ? "" : value);
    return true;
  }
  if (choice < 4 || known[key][0] == 0) {
    printf("op invoke %s %d write r%d %s\n", client, number, key, value);
    fflush(stdout);
    if (!write_register(key, value)) return false;
    printf("op ok %s %d\n", client, number);
    strcpy(known[key], value);
    return true;
  }
  printf("op invoke %s %d cas r%d %s %s\n", client, number, key, known[key], value);
  fflush(stdout);
  if (!swap_register(key, known[key], value, &swapped)) return false;
  printf("op ok %s %d %s\n", client, number, swapped ? "true" : "false");
  if (swapped) strcpy(known[key], value);
  return true;
}

int main(int argument_count, char **arguments) {
  if (argument_count < 4) {
    printf("usage: etcd-client NAME SERVERS COUNT [PAUSE_MS]\n");
    return 64;
  }
  connection.fd = -1;
  const char *client = arguments[1];
  int count = atoi(arguments[3]), pause_ms = argument_count > 4 ? atoi(arguments[4]) : 50;
  for (char *name = strtok(arguments[2], ","); name != NULL && server_count < SERVER_COUNT_MAX;
       name = strtok(NULL, ","))
    servers[server_count++] = name;
  server = (int)draw((unsigned)server_count);
  // No operation before the cluster answers for the first time.
  int64_t start_end_ms = now_ms() + START_MS;
  char value[VALUE_SIZE_MAX];
  while (!read_register(0, value) && now_ms() < start_end_ms) {
    change_server();
    sleep_ms(RETRY_MS);
  }
  printf("connected\n");
  int unknown_count = 0;
  for (int number = 1; number <= count; number++) {
    if (!operate(client, number)) {
      printf("op info %s %d\n", client, number);
      printf("unknown: %s at %s\n", strerror(errno), servers[server]);
      unknown_count++;
      change_server();
    }
    fflush(stdout);
    sleep_ms(pause_ms);
  }
  printf("done %d operations, %d of unknown outcome\n", count, unknown_count);
  return 0;
}
