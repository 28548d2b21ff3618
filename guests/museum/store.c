// A store of one number with a log, and its client: four ways to lose what was acknowledged.
//
// Node 0 is the store, node 1 the client, which adds one again and again and reads after each.
//
// ack-before-save     the answer goes out while the log is still being saved (etcd #14370)
// ack-before-fsync    the log is synced now and then only (NATS 2.12.1, found by Jepsen)
// index-before-apply  the index says that an entry is applied before it is (etcd #13766)
// fsync-retry         a sync that failed is done again, and its success believed (fsyncgate)
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "museum.h"

enum {
  ADD = 1,
  READ,
  ANSWER,
  STORE = 0,
  CLIENT = 1,
  TIMEOUT_MS = 50,
  FLUSH_EVERY_MS = 1500,
  ADDITION_COUNT = 60,
};

// One entry of the log; entries are numbered from 1.
typedef struct {
  int32_t number;
  uint32_t sum;
} Record;

typedef struct {
  bool ack_before_save, ack_before_fsync, index_before_apply, fsync_retry;
  // Whether the number is on the disk beside the log; otherwise the log is all there is.
  bool keeps_number;
  int log;
  int logged, applied;  // The newest entry in the log, and in the number.
  int number;           // What the applied entries lead to.
  int64_t flush_ms;
} Store;

static void write_record(const Store *store, int32_t number) {
  Record record = {.number = number, .sum = checksum(&number, sizeof number)};
  off_t start = (off_t)(number - 1) * (off_t)sizeof record;
  if (pwrite(store->log, &record, sizeof record, start) != sizeof record) give_up("write");
}

static void sync_log(const Store *store) {
  while (fsync(store->log) != 0) {
    // The kernel has forgotten that the page was dirty: another sync alone has nothing to write.
    if (!store->fsync_retry) write_record(store, store->logged);
  }
}

static void append(Store *store) {
  write_record(store, ++store->logged);
  if (!store->ack_before_fsync) sync_log(store);
}

// The number and the index of the entry it goes up to: kept together, or one before the other.
static void apply(Store *store) {
  store->applied++;
  store->number++;
  if (store->index_before_apply) {
    replace_file("/index", &store->applied, sizeof store->applied);
    replace_file("/number", &store->number, sizeof store->number);
  } else {
    int32_t both[2] = {store->applied, store->number};
    replace_file("/both", both, sizeof both);
  }
}

static void recover(Store *store) {
  store->log = open_file("/log");
  Record record;
  while (pread(store->log, &record, sizeof record,
               (off_t)store->logged * (off_t)sizeof record) == sizeof record) {
    if (record.sum != checksum(&record.number, sizeof record.number)) break;
    store->logged = record.number;
  }
  if (store->keeps_number) {
    int32_t both[2] = {0, 0};
    if (store->index_before_apply) {
      read_file("/index", &both[0], sizeof both[0]);
      read_file("/number", &both[1], sizeof both[1]);
    } else {
      read_file("/both", both, sizeof both);
    }
    store->applied = both[0];
    store->number = both[1];
    while (store->applied < store->logged) apply(store);
  } else {
    store->number = store->logged;  // Nothing but the log is kept.
  }
  say("recovered logged=%d number=%d", store->logged, store->number);
}

static void add(Store *store) {
  append(store);
  if (store->keeps_number) {
    apply(store);
  } else {
    store->number++;
  }
}

static void serve(Store *store) {
  recover(store);
  Message message;
  for (;;) {
    bool came = receive_until(now_ms() + 500, &message);
    if (store->ack_before_fsync && now_ms() >= store->flush_ms) {
      sync_log(store);
      store->flush_ms = now_ms() + FLUSH_EVERY_MS;
    }
    if (!came) continue;
    Message answer = {.kind = ANSWER, .a = message.a};
    if (message.kind == READ) {
      answer.b = store->number;
      post(CLIENT, &answer);
    } else if (message.a <= store->logged) {
      answer.b = store->number;  // Asked again, because the answer was lost.
      post(CLIENT, &answer);
    } else if (store->ack_before_save) {
      answer.b = store->number + 1;
      post(CLIENT, &answer);
      add(store);
    } else {
      add(store);
      answer.b = store->number;
      post(CLIENT, &answer);
    }
  }
}

static int ask(int kind, int number) {
  Message message;
  for (;;) {
    post(STORE, &(Message){.kind = kind, .from = CLIENT, .a = number});
    int64_t deadline_ms = now_ms() + TIMEOUT_MS;
    while (receive_until(deadline_ms, &message)) {
      if (message.a == number) return message.b;
    }
  }
}

static void use(void) {
  for (int number = 1; number <= ADDITION_COUNT; number++) {
    ask(ADD, number);
    pause_until(now_ms() + 20);
    int read = ask(READ, number);
    if (read != number) give_up("wrong: acknowledged %d, read %d", number, read);
  }
  say("done");
  exit(0);
}

void run_store(const char *name, Role role) {
  if (role.self != STORE) use();
  Store store = {0};
  bool *const bugs[] = {&store.ack_before_save, &store.ack_before_fsync,
                        &store.index_before_apply, &store.fsync_retry};
  static const char *const NAMES[] = {"ack-before-save", "ack-before-fsync", "index-before-apply",
                                      "fsync-retry"};
  bool known = false;
  for (int i = 0; i < 4; i++) {
    if (strcmp(name, NAMES[i]) != 0) continue;
    known = true;
    *bugs[i] = role.bug;
  }
  if (!known) give_up("no such case: %s", name);
  store.keeps_number = strcmp(name, "index-before-apply") == 0;
  serve(&store);
}
