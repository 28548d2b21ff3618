// Bugs found in real systems, rebuilt in small; docs/museum.md tells the mechanism of each.
//
//   museum CASE SELF [--bug]    runs the node of that number; without --bug it is the corrected twin
//
// Cases: vote-in-two-writes, membership-change, stale-read, corrupt-truncate (replicas.c),
// ack-before-save, ack-before-fsync, index-before-apply, fsync-retry (store.c), retry-without-key
// (counter.c), lease-without-fence (lease.c).
// Exit codes: 0 done, 64 usage, 74 the system refused.
#include <stdlib.h>
#include <string.h>

#include "museum.h"

int main(int argument_count, char **arguments) {
  if (argument_count < 3) give_up("usage: museum CASE SELF [--bug]");
  const char *name = arguments[1];
  Role role = {.self = atoi(arguments[2]),
               .bug = argument_count > 3 && strcmp(arguments[3], "--bug") == 0};
  open_socket();
  if (strcmp(name, "retry-without-key") == 0) {
    run_counter(role);
  } else if (strcmp(name, "lease-without-fence") == 0) {
    run_lease(role);
  } else if (strcmp(name, "vote-in-two-writes") == 0 || strcmp(name, "membership-change") == 0 ||
             strcmp(name, "stale-read") == 0 || strcmp(name, "corrupt-truncate") == 0) {
    run_replica(name, role);
  } else {
    run_store(name, role);
  }
  return 0;
}
