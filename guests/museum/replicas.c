// A replicated log in small, after Raft: packets carry the whole log, which holds a few entries.
//
// vote-in-two-writes  vote and term are stored one after the other (hashicorp/raft#661)
// membership-change   a leader changes the members before an entry of its own term is committed
// stale-read          rounds of heartbeats that confirm reads are told apart by the client's number,
//                     which a retry uses again (etcd #20418, etcd-io/raft#397)
// corrupt-truncate    a damaged entry is cut off, and the replica votes as if it had never been there
//                     (protocol-aware recovery, FAST'18)
//
// The nodes from `replica_count` on are clients (replica-client.c).
#include <stdlib.h>
#include <string.h>

#include "replicas.h"

enum { HEARTBEAT_MS = 25, ELECTION_MS = 120, REIGN_MS = 150, MEMBERS_BIT = 0x1000 };

typedef enum { FOLLOWER, CANDIDATE, LEADER } Part;

// A read waits until a majority has answered a heartbeat that was sent after it came.
typedef struct {
  int client, number, round, confirmed;
} Read;

typedef struct {
  int32_t term, vote, count;
  Entry log[ENTRY_COUNT_MAX];
} Saved;

// The log on the disk, as far as there are entries.
typedef struct {
  int32_t count;
  uint32_t count_sum;
  struct {
    Entry entry;
    uint32_t sum;
  } records[ENTRY_COUNT_MAX];
} LogFile;

static struct {
  ReplicaCase rules;
  Role role;
  Saved saved;
  Part part;
  int votes;                        // Bits of nodes.
  int match[NODE_COUNT_MAX];        // Entries that a node is known to have, as long as it leads.
  int commit, told, round;
  bool recovering;                  // Its log was damaged: no vote until a leader has mended it.
  int64_t due_ms, reign_end_ms;
  Read read;
} self;

static int members(void) {
  for (int i = self.saved.count; i > 0; i--) {
    if (self.saved.log[i - 1].value & MEMBERS_BIT) return self.saved.log[i - 1].value & 0xff;
  }
  return self.rules.members;
}

static bool is_majority(int nodes) {
  return 2 * __builtin_popcount((unsigned)(nodes & members())) >
         __builtin_popcount((unsigned)members());
}

static int last_term(void) {
  return self.saved.count == 0 ? 0 : self.saved.log[self.saved.count - 1].term;
}

static void save_log(void) {
  if (!self.rules.keeps_log) return;
  int count = self.saved.count;
  LogFile file = {.count = count, .count_sum = checksum(&count, sizeof count)};
  for (int i = 0; i < count; i++) {
    file.records[i].entry = self.saved.log[i];
    file.records[i].sum = checksum(&self.saved.log[i], sizeof(Entry));
  }
  size_t size = offsetof(LogFile, records) + (size_t)count * sizeof file.records[0];
  overwrite_file("/log", &file, size);
}

// Keeps what comes before the damage. Only the corrected replica remembers that there was more.
static void damaged(int index) {
  say("damaged index=%d", index);
  self.saved.count = index;
  self.recovering = !self.rules.truncates;
}

static void recover_log(void) {
  LogFile file;
  if (read_file("/log", &file, sizeof file) == 0) return;
  if (file.count_sum != checksum(&file.count, sizeof file.count)) {
    damaged(0);
    return;
  }
  self.saved.count = file.count;
  for (int i = 0; i < self.saved.count; i++) {
    self.saved.log[i] = file.records[i].entry;
    if (file.records[i].sum != checksum(&file.records[i].entry, sizeof(Entry))) damaged(i);
  }
}

static void save_vote(int term, int vote) {
  self.saved.term = term;
  self.saved.vote = vote;
  if (self.rules.two_writes) {
    replace_file("/vote", &vote, sizeof vote);
    replace_file("/term", &term, sizeof term);
  } else {
    int32_t both[2] = {term, vote};
    replace_file("/both", both, sizeof both);
  }
}

static void recover(void) {
  int32_t both[2] = {0, NOBODY};
  if (self.rules.two_writes) {
    read_file("/term", &both[0], sizeof both[0]);
    read_file("/vote", &both[1], sizeof both[1]);
  } else {
    read_file("/both", both, sizeof both);
  }
  self.saved.term = both[0];
  self.saved.vote = both[1];
  if (self.rules.keeps_log) recover_log();
}

static void rest(void) { self.due_ms = now_ms() + ELECTION_MS + random_below(ELECTION_MS); }

static void follow(int term) {
  if (term > self.saved.term) save_vote(term, NOBODY);
  self.part = FOLLOWER;
}

static Message blank(int kind) {
  return (Message){.kind = kind, .from = self.role.self, .term = self.saved.term};
}

static void ask_for_votes(void) {
  Message message = blank(ASK_VOTE);
  message.a = last_term();
  message.b = self.saved.count;
  for (int node = 0; node < self.rules.replica_count; node++) {
    if (node != self.role.self && !(self.votes & 1 << node)) post(node, &message);
  }
}

static void campaign(void) {
  rest();
  if (self.recovering || !(members() & 1 << self.role.self)) return;
  save_vote(self.saved.term + 1, self.role.self);
  self.part = CANDIDATE;
  self.votes = 1 << self.role.self;
  ask_for_votes();
}

static void tell_commits(void) {
  for (; self.told < self.commit; self.told++) {
    say("commits index=%d value=%d", self.told + 1, self.saved.log[self.told].value);
  }
}

static void append(int value) {
  if (self.saved.count == ENTRY_COUNT_MAX) return;
  self.saved.log[self.saved.count++] = (Entry){self.saved.term, value};
  save_log();
  self.match[self.role.self] = self.saved.count;
}

static void send_log(void) {
  Message message = blank(APPEND);
  message.a = self.commit;
  message.b = self.round;
  message.entry_count = self.saved.count;
  memcpy(message.entries, self.saved.log, sizeof(Entry) * (size_t)self.saved.count);
  for (int node = 0; node < self.rules.replica_count; node++) {
    if (node != self.role.self) post(node, &message);
  }
}

// Adds or removes one node, which is safe only once an entry of this term is committed.
static void change_members(void) {
  int node = random_below(self.rules.replica_count);
  if (node == self.role.self || self.saved.count >= 8) return;
  append(MEMBERS_BIT | self.saved.term << 16 | (members() ^ 1 << node));
}

static void lead(void) {
  self.part = LEADER;
  say("leads term=%d", self.saved.term);
  memset(self.match, 0, sizeof self.match);
  self.read.client = NOBODY;
  self.reign_end_ms = now_ms() + REIGN_MS;
  if (self.rules.changes_members && !self.rules.changes_early) {
    append(0);
  } else if (self.rules.changes_members) {
    change_members();
  } else if (self.rules.keeps_log || self.rules.serves_reads) {
    append(0);
  }
  self.match[self.role.self] = self.saved.count;
  self.due_ms = now_ms() + HEARTBEAT_MS;
  send_log();
}

static void advance_commit(void) {
  for (int index = self.saved.count; index > self.commit; index--) {
    int nodes = 0;
    for (int node = 0; node < self.rules.replica_count; node++) {
      if (self.match[node] >= index) nodes |= 1 << node;
    }
    if (self.saved.log[index - 1].term != self.saved.term || !is_majority(nodes)) continue;
    self.commit = index;
    bool first = self.told < index && self.rules.changes_members && !self.rules.changes_early &&
                 self.saved.log[index - 1].value == 0;
    tell_commits();
    if (first) change_members();
    return;
  }
}

static int newest_value(void) {
  for (int i = self.commit; i > 0; i--) {
    if (self.saved.log[i - 1].value != 0) return self.saved.log[i - 1].value;
  }
  return 0;
}

static void confirm_read(const Message *message) {
  if (self.read.client == NOBODY || message->d != self.read.round) return;
  self.read.confirmed |= 1 << message->from;
  if (!is_majority(self.read.confirmed | 1 << self.role.self)) return;
  Message answer = blank(ANSWER);
  answer.a = self.read.number;
  answer.b = newest_value();
  answer.c = OPERATION_READ;
  post(self.read.client, &answer);
  self.read.client = NOBODY;
}

static void on_request(const Message *message) {
  if (self.part != LEADER) return;
  if (message->c == OPERATION_READ) {
    // The round is the leader's own; the client's number comes again with a retry.
    self.round = self.rules.client_rounds ? message->a : self.round + 1;
    self.read = (Read){message->from, message->a, self.round, 0};
  } else {
    bool known = false;
    for (int i = 0; i < self.saved.count; i++) known |= self.saved.log[i].value == message->b;
    if (!known) append(message->b);
    for (int i = 0; i < self.commit; i++) {
      if (self.saved.log[i].value != message->b) continue;
      Message answer = blank(ANSWER);
      answer.a = message->a;
      answer.b = message->b;
      answer.c = OPERATION_WRITE;
      post(message->from, &answer);
    }
  }
  send_log();
}

static void on_ask_vote(const Message *message) {
  bool newer = message->a > last_term() ||
               (message->a == last_term() && message->b >= self.saved.count);
  bool free = self.saved.vote == NOBODY || self.saved.vote == message->from;
  bool grants = message->term == self.saved.term && self.part == FOLLOWER && newer && free &&
                !self.recovering;
  if (!grants) return;
  if (self.saved.vote != message->from) save_vote(message->term, message->from);
  rest();
  say("votes in=%d/%d for=%d", self.role.self, message->term, message->from);
  Message answer = blank(VOTE);
  post(message->from, &answer);
}

// A request to vote in a newer term: the term and the vote in it are one fact, stored at once.
static void on_newer_vote(const Message *message) {
  bool newer = message->a > last_term() ||
               (message->a == last_term() && message->b >= self.saved.count);
  if (!newer || self.recovering) {
    follow(message->term);
    return;
  }
  self.part = FOLLOWER;
  save_vote(message->term, message->from);
  on_ask_vote(message);
}

static void on_append(const Message *message) {
  self.part = FOLLOWER;
  rest();
  // A packet of this term that was overtaken holds less, and must take nothing away.
  bool same_leader = last_term() == message->term;
  int theirs = message->entry_count == 0 ? 0 : message->entries[message->entry_count - 1].term;
  if (!(same_leader && theirs == message->term && message->entry_count < self.saved.count)) {
    bool changes = message->entry_count != self.saved.count ||
                   memcmp(self.saved.log, message->entries,
                          sizeof(Entry) * (size_t)message->entry_count) != 0;
    self.saved.count = message->entry_count;
    memcpy(self.saved.log, message->entries, sizeof(Entry) * (size_t)message->entry_count);
    if (changes || self.recovering) save_log();
    self.recovering = false;
  }
  if (message->a > self.commit && message->a <= self.saved.count) self.commit = message->a;
  tell_commits();
  Message answer = blank(APPENDED);
  answer.a = self.saved.count;
  answer.d = message->b;
  post(message->from, &answer);
}

static void handle(const Message *message) {
  if (message->kind == REQUEST) {
    on_request(message);
    return;
  }
  if (message->term > self.saved.term) {
    if (message->kind == ASK_VOTE) {
      on_newer_vote(message);
      return;
    }
    follow(message->term);
  }
  if (message->term < self.saved.term) return;
  if (message->kind == ASK_VOTE) on_ask_vote(message);
  if (message->kind == APPEND && self.part != LEADER) on_append(message);
  if (message->kind == VOTE && self.part == CANDIDATE) {
    self.votes |= 1 << message->from;
    if (is_majority(self.votes)) lead();
  }
  if (message->kind == APPENDED && self.part == LEADER) {
    if (message->a > self.match[message->from]) self.match[message->from] = message->a;
    advance_commit();
    confirm_read(message);
  }
}

static void tick(void) {
  if (now_ms() < self.due_ms) return;
  if (self.part == LEADER && self.rules.short_reigns && now_ms() >= self.reign_end_ms) {
    self.part = FOLLOWER;
    rest();
  } else if (self.part == LEADER) {
    self.due_ms = now_ms() + HEARTBEAT_MS;
    send_log();
  } else {
    campaign();
  }
}

void run_replica(const char *name, Role role) {
  self.role = role;
  self.rules = replica_case(name, role.bug);
  if (role.self >= self.rules.replica_count) run_replica_client(&self.rules, role);
  recover();
  say("starts term=%d count=%d", self.saved.term, self.saved.count);
  self.read.client = NOBODY;
  rest();
  Message message;
  for (;;) {
    int64_t wake_ms = self.due_ms;
    if (self.part == CANDIDATE && wake_ms > now_ms() + HEARTBEAT_MS) {
      wake_ms = now_ms() + HEARTBEAT_MS;
    }
    if (receive_until(wake_ms, &message)) {
      handle(&message);
    } else if (self.part == CANDIDATE) {
      ask_for_votes();
    }
    tick();
  }
}
