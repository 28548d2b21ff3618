// poll: the sysroot's, except that a timeout counts on the monotonic clock, an entry without events
// is left alone instead of being an error, and the arrays do not lie on the stack.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <wasi/api.h>

static __wasi_subscription_t on_descriptor(const struct pollfd *entry, size_t index,
                                           __wasi_eventtype_t type) {
  __wasi_subscription_t subscription = {.userdata = index};
  subscription.u.tag = type;
  subscription.u.u.fd_read.file_descriptor = entry->fd;
  return subscription;
}

static size_t subscribe(const struct pollfd *entries, nfds_t count, int timeout_ms,
                        __wasi_subscription_t *subscriptions) {
  size_t made = 0;
  for (size_t i = 0; i < count; i++) {
    if (entries[i].fd < 0) continue;
    if ((entries[i].events & POLLIN) != 0) {
      subscriptions[made++] = on_descriptor(&entries[i], i, __WASI_EVENTTYPE_FD_READ);
    }
    if ((entries[i].events & POLLOUT) != 0) {
      subscriptions[made++] = on_descriptor(&entries[i], i, __WASI_EVENTTYPE_FD_WRITE);
    }
  }
  if (timeout_ms >= 0) {
    __wasi_subscription_t subscription = {.userdata = count};
    subscription.u.tag = __WASI_EVENTTYPE_CLOCK;
    subscription.u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
    subscription.u.u.clock.timeout = (__wasi_timestamp_t)timeout_ms * 1000000;
    subscriptions[made++] = subscription;
  }
  return made;
}

static short happened(const __wasi_event_t *event) {
  if (event->error == __WASI_ERRNO_BADF) return POLLNVAL;
  if (event->error == __WASI_ERRNO_PIPE) return POLLHUP;
  if (event->error != 0) return POLLERR;
  short bits = event->type == __WASI_EVENTTYPE_FD_READ ? POLLIN : POLLOUT;
  if ((event->fd_readwrite.flags & __WASI_EVENTRWFLAGS_FD_READWRITE_HANGUP) != 0) bits |= POLLHUP;
  return bits;
}

int poll(struct pollfd *entries, nfds_t count, int timeout_ms) {
  size_t room = 2 * (size_t)count + 1;
  __wasi_subscription_t *subscriptions =
      malloc(room * (sizeof(__wasi_subscription_t) + sizeof(__wasi_event_t)));
  if (subscriptions == NULL) {
    errno = ENOMEM;
    return -1;
  }
  __wasi_event_t *events = (__wasi_event_t *)(subscriptions + room);
  size_t subscribed = subscribe(entries, count, timeout_ms, subscriptions);
  size_t event_count = 0;
  // Nothing to wait for and no timeout: it would sleep for ever, which preview 1 cannot.
  int error = subscribed == 0 ? ENOTSUP
                              : __wasi_poll_oneoff(subscriptions, events, subscribed, &event_count);
  for (size_t i = 0; i < count; i++) entries[i].revents = 0;
  for (size_t i = 0; error == 0 && i < event_count; i++) {
    if (events[i].type == __WASI_EVENTTYPE_CLOCK) continue;
    entries[events[i].userdata].revents |= happened(&events[i]);
  }
  free(subscriptions);
  if (error != 0) {
    errno = error;
    return -1;
  }
  int ready = 0;
  for (size_t i = 0; i < count; i++) ready += entries[i].revents != 0;
  return ready;
}
