// A node of a replicated key-value store.
//
//   raft --id NAME --peers LIST --dir DIRECTORY [--heartbeat-ms 50] [--election-ms 150]
//
// LIST names all nodes, this one included; see cluster.h. The node runs until it is stopped.
// Exit codes: 64 usage, 70 a safety rule is broken, 74 the system refused.
#include "network.h"
#include "options.h"
#include "raft.h"
#include "system.h"

// Too large for the stack.
static Raft raft;
static Network network;

int main(int argument_count, char **arguments) {
  static const char *const NAMES[] = {"--id", "--peers", "--dir", "--heartbeat-ms",
                                      "--election-ms"};
  options_check(argument_count, arguments, NAMES, sizeof NAMES / sizeof NAMES[0]);
  const char *id = option_text(argument_count, arguments, "--id", NULL);
  cluster_read(&raft.cluster, option_text(argument_count, arguments, "--peers", NULL));
  raft.self = cluster_find(&raft.cluster, id);
  if (raft.self < 0) give_up(EXIT_USAGE, "--peers does not name %s", id);
  int heartbeat_ms = option_number(argument_count, arguments, "--heartbeat-ms", 50, 1, 60000);
  int election_ms = option_number(argument_count, arguments, "--election-ms", 150, 2, 60000);
  if (election_ms <= heartbeat_ms) give_up(EXIT_USAGE, "elections must be rarer than heartbeats");
  raft.timing = (Timing){.heartbeat_ns = heartbeat_ms * (int64_t)NS_PER_MS,
                         .election_ns_min = election_ms * (int64_t)NS_PER_MS};
  network_open(&network, &raft);
  raft_open(&raft, option_text(argument_count, arguments, "--dir", NULL));
  for (;;) {
    network_wait(&network, raft_due_ns(&raft));
    raft_tick(&raft);
    raft_settle(&raft);
    network_flush(&network);
  }
}
