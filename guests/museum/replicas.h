// The replicated log: what its cases differ in, and what its packets say.
#ifndef MUSEUM_REPLICAS_H
#define MUSEUM_REPLICAS_H

#include "museum.h"

enum { NODE_COUNT_MAX = 8, OPERATION_READ = 0, OPERATION_WRITE = 1 };

enum {
  ASK_VOTE = 1,  // a: last term, b: entries
  VOTE,
  APPEND,    // a: committed, b: round; all entries
  APPENDED,  // a: entries, d: the round that is answered
  REQUEST,   // a: number, b: value to write, c: operation
  ANSWER     // a: number, b: value, c: operation
};

typedef struct {
  int replica_count;
  int members;  // Bits of the first members.
  bool keeps_log, serves_reads, changes_members, short_reigns;
  // The planted bugs.
  bool two_writes, changes_early, client_rounds, truncates;
} ReplicaCase;

ReplicaCase replica_case(const char *name, bool bug);
_Noreturn void run_replica_client(const ReplicaCase *rules, Role role);

#endif
