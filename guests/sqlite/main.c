// SQLite under test: transactions on a file database, checked by SQL itself.
//
//   sqlite transactions DATABASE ROWS [SYNCHRONOUS [JOURNAL]]   transfers; goes on where it stopped
//   sqlite ledger DATABASE ROWS [SYNCHRONOUS [JOURNAL]]         a row a transaction, as a history
//   sqlite bench DATABASE ROWS                                  a fixed amount of work; one digest
//
// DATABASE is a path, or ":memory:". SYNCHRONOUS is a level of the pragma of that name; EXTRA if
// not given. With FULL the loss of power right after a commit may undo it: the journal's removal,
// which is the commit, is not synced (sqlite.org/pragma.html#pragma_synchronous). JOURNAL is
// "delete", as if not given, or "wal" for a write-ahead log.
//
// Exit codes: 0 done, 1 SQLite refused, 2 the data is wrong, 64 usage. Every line on stdout is a
// fact of the database, so equal runs print equal bytes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

enum {
  ACCOUNT_COUNT = 100,
  OPENING_BALANCE = 1000,
  ROWS_PER_TRANSACTION = 50,
  ROWS_MAX = 10000000
};

static sqlite3 *database;

static void refuse(const char *what) {
  printf("sqlite: %s: %s\n", what, sqlite3_errmsg(database));
  exit(1);
}

static void execute(const char *sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) refuse(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) refuse(sql);
  return statement;
}

static void finish(sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) refuse("step");
  sqlite3_reset(statement);
}

static int64_t number(const char *sql) {
  sqlite3_stmt *statement = prepare(sql);
  if (sqlite3_step(statement) != SQLITE_ROW) refuse(sql);
  int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

static void expect(const char *what, int64_t actual, int64_t expected) {
  if (actual == expected) return;
  printf("wrong: %s is %lld, expected %lld\n", what, (long long)actual, (long long)expected);
  exit(2);
}

// Both halves of every transfer are there, or neither is.
static void expect_balances(void) {
  expect("accounts whose balance differs from their transfers",
         number("SELECT count(*) FROM account LEFT JOIN (SELECT who, sum(change) AS change FROM"
                " (SELECT source AS who, -amount AS change FROM transfer"
                " UNION ALL SELECT target, amount FROM transfer) GROUP BY who) ON who = id"
                " WHERE balance <> 1000 + coalesce(change, 0)"),
         0);
  expect("last transfer", number("SELECT coalesce(max(id), -1) + 1 FROM transfer"),
         number("SELECT count(*) FROM transfer"));
}

static void expect_integrity(void) {
  sqlite3_stmt *statement = prepare("PRAGMA integrity_check");
  if (sqlite3_step(statement) != SQLITE_ROW) refuse("integrity_check");
  const char *verdict = (const char *)sqlite3_column_text(statement, 0);
  if (strcmp(verdict, "ok") != 0) {
    printf("wrong: integrity_check says %s\n", verdict);
    exit(2);
  }
  sqlite3_finalize(statement);
}

// A mixing step with full period (Steele and others, SplitMix64): the workload is a function of its
// index.
static uint64_t mix(uint64_t index) {
  uint64_t z = index * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void create_accounts(void) {
  execute("CREATE TABLE IF NOT EXISTS account(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
  execute(
      "CREATE TABLE IF NOT EXISTS transfer(id INTEGER PRIMARY KEY, source INTEGER NOT NULL,"
      " target INTEGER NOT NULL, amount INTEGER NOT NULL, note TEXT NOT NULL)");
  execute("CREATE INDEX IF NOT EXISTS transfer_source ON transfer(source, amount)");
  if (number("SELECT count(*) FROM account") > 0) return;
  execute("BEGIN IMMEDIATE");
  sqlite3_stmt *insert = prepare("INSERT INTO account(id, balance) VALUES(?1, ?2)");
  for (int id = 0; id < ACCOUNT_COUNT; id++) {
    sqlite3_bind_int(insert, 1, id);
    sqlite3_bind_int(insert, 2, OPENING_BALANCE);
    finish(insert);
  }
  sqlite3_finalize(insert);
  execute("COMMIT");
}

static void transfer_rows(int64_t first, int64_t end) {
  sqlite3_stmt *insert = prepare("INSERT INTO transfer VALUES(?1, ?2, ?3, ?4, ?5)");
  sqlite3_stmt *move = prepare("UPDATE account SET balance = balance + ?2 WHERE id = ?1");
  execute("BEGIN IMMEDIATE");
  for (int64_t id = first; id < end; id++) {
    uint64_t draw = mix((uint64_t)id + 1);
    int source = (int)(draw % ACCOUNT_COUNT), target = (int)((draw >> 16) % ACCOUNT_COUNT);
    int amount = (int)((draw >> 32) % 100);
    char note[64];
    snprintf(note, sizeof note, "transfer %lld of %016llx", (long long)id,
             (unsigned long long)draw);
    sqlite3_bind_int64(insert, 1, id);
    sqlite3_bind_int(insert, 2, source);
    sqlite3_bind_int(insert, 3, target);
    sqlite3_bind_int(insert, 4, amount);
    sqlite3_bind_text(insert, 5, note, -1, SQLITE_TRANSIENT);
    finish(insert);
    sqlite3_bind_int(move, 1, source);
    sqlite3_bind_int(move, 2, -amount);
    finish(move);
    sqlite3_bind_int(move, 1, target);
    sqlite3_bind_int(move, 2, amount);
    finish(move);
  }
  execute("COMMIT");
  sqlite3_finalize(insert);
  sqlite3_finalize(move);
}

// WASI has no shared memory: a write-ahead log needs its index in the memory of one process, and
// only exclusive locking, set before, puts it there (sqlite.org/wal.html#noshm).
static void use_journal(const char *journal) {
  if (strcmp(journal, "wal") == 0) execute("PRAGMA locking_mode=EXCLUSIVE");
  char pragma[64];
  snprintf(pragma, sizeof pragma, "PRAGMA journal_mode=%s", journal);
  sqlite3_stmt *statement = prepare(pragma);
  if (sqlite3_step(statement) != SQLITE_ROW) refuse(pragma);
  const char *mode = (const char *)sqlite3_column_text(statement, 0);
  if (strcmp(mode, journal) != 0) {
    printf("sqlite: the journal mode is %s, not %s\n", mode, journal);
    exit(1);
  }
  sqlite3_finalize(statement);
}

// Continues where the last committed transaction ended, so a killed run completes on the next
// start.
static void run_transactions(int64_t row_count, const char *synchronous, const char *journal) {
  use_journal(journal);
  char pragma[64];
  snprintf(pragma, sizeof pragma, "PRAGMA synchronous=%s", synchronous);
  execute(pragma);
  create_accounts();
  int64_t done = number("SELECT count(*) FROM transfer");
  if (done > row_count) row_count = done;
  printf("transfers found: %lld\n", (long long)done);
  expect_balances();
  while (done < row_count) {
    int64_t end = done + ROWS_PER_TRANSACTION < row_count ? done + ROWS_PER_TRANSACTION : row_count;
    transfer_rows(done, end);
    done = end;
    printf("committed: %lld\n", (long long)done);
    fflush(stdout);
  }
  expect("transfers", number("SELECT count(*) FROM transfer"), row_count);
  expect_balances();
  expect("total balance", number("SELECT sum(balance) FROM account"),
         ACCOUNT_COUNT * OPENING_BALANCE);
  expect_integrity();
  int64_t digest = number("SELECT sum((id + 1) * balance) FROM account");
  printf("ok: %lld transfers, digest %lld\n", (long long)row_count, (long long)digest);
}

// The rows that are there, as a history writes the members of a set.
static int64_t tell_members(void) {
  sqlite3_stmt *statement = prepare("SELECT id FROM ledger ORDER BY id");
  int64_t next = 0;
  printf("op invoke bank open members ledger\nop ok bank open ");
  while (sqlite3_step(statement) == SQLITE_ROW) {
    int64_t id = sqlite3_column_int64(statement, 0);
    printf("%s%lld", next == 0 ? "" : ",", (long long)id);
    next = id + 1;
  }
  printf("%s\n", next == 0 ? "nil" : "");
  fflush(stdout);
  sqlite3_finalize(statement);
  return next;
}

// Each row is a transaction of its own, and an operation of a history: what was committed once must
// be found on every later start.
static void run_ledger(int64_t row_count, const char *synchronous, const char *journal) {
  use_journal(journal);
  char pragma[64];
  snprintf(pragma, sizeof pragma, "PRAGMA synchronous=%s", synchronous);
  execute(pragma);
  execute("CREATE TABLE IF NOT EXISTS ledger(id INTEGER PRIMARY KEY, note TEXT NOT NULL)");
  int64_t next = tell_members();
  sqlite3_stmt *insert = prepare("INSERT INTO ledger VALUES(?1, ?2)");
  for (int64_t id = next; id < row_count; id++) {
    char note[32];
    snprintf(note, sizeof note, "%016llx", (unsigned long long)mix((uint64_t)id + 1));
    printf("op invoke bank add%lld add ledger %lld\n", (long long)id, (long long)id);
    fflush(stdout);
    sqlite3_bind_int64(insert, 1, id);
    sqlite3_bind_text(insert, 2, note, -1, SQLITE_TRANSIENT);
    finish(insert);
    printf("op ok bank add%lld\n", (long long)id);
    fflush(stdout);
  }
  sqlite3_finalize(insert);
  expect_integrity();
  printf("ok: %lld rows\n", (long long)number("SELECT count(*) FROM ledger"));
}

static void run_bench(int64_t row_count) {
  execute("DROP TABLE IF EXISTS item");
  execute("CREATE TABLE item(id INTEGER PRIMARY KEY, number INTEGER, text TEXT)");
  execute("BEGIN IMMEDIATE");
  sqlite3_stmt *insert = prepare("INSERT INTO item VALUES(?1, ?2, ?3)");
  for (int64_t id = 0; id < row_count; id++) {
    char text[40];
    snprintf(text, sizeof text, "item-%016llx", (unsigned long long)mix((uint64_t)id + 1));
    sqlite3_bind_int64(insert, 1, id);
    sqlite3_bind_int64(insert, 2, (int64_t)(mix((uint64_t)id + 1) % 1000));
    sqlite3_bind_text(insert, 3, text, -1, SQLITE_TRANSIENT);
    finish(insert);
  }
  sqlite3_finalize(insert);
  execute("COMMIT");
  execute("CREATE INDEX item_number ON item(number)");
  execute("UPDATE item SET text = upper(text) WHERE number % 3 = 0");
  execute("DELETE FROM item WHERE number % 10 = 7");
  int64_t digest = number(
      "SELECT sum(a * b) FROM (SELECT number AS a, count(*) * length(max(text)) AS b FROM item"
      " WHERE text LIKE '%f%' GROUP BY number ORDER BY number)");
  printf("ok: %lld rows, digest %lld\n", (long long)number("SELECT count(*) FROM item"),
         (long long)digest);
}

int main(int argument_count, char **arguments) {
  int64_t row_count = argument_count >= 4 ? strtoll(arguments[3], NULL, 10) : -1;
  const char *synchronous = argument_count >= 5 ? arguments[4] : "EXTRA";
  const char *journal = argument_count >= 6 ? arguments[5] : "delete";
  if (row_count < 0 || row_count > ROWS_MAX) {
    printf("usage: sqlite (transactions | ledger | bench) DATABASE ROWS [SYNCHRONOUS [JOURNAL]]\n");
    printf("ROWS is 0 to %d\n", ROWS_MAX);
    return 64;
  }
  // One process owns the file. WASI has no locks, and SQLite's lock files would outlive a crash.
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(arguments[2], &database, flags, "unix-none") != SQLITE_OK) refuse("open");
  if (strcmp(arguments[1], "transactions") == 0) {
    run_transactions(row_count, synchronous, journal);
  } else if (strcmp(arguments[1], "ledger") == 0) {
    run_ledger(row_count, synchronous, journal);
  } else if (strcmp(arguments[1], "bench") == 0) {
    run_bench(row_count);
  } else {
    printf("unknown command: %s\n", arguments[1]);
    return 64;
  }
  sqlite3_close(database);
  return 0;
}
