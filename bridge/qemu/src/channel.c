/*
 * Messages over the controller's socket.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * While parked, the vCPU thread reads the socket itself: no thread is woken for a step. Events are
 * gathered and written when the machine parks or when much has been gathered. A controller that
 * goes away takes the machine with it.
 */
#include "qemu/osdep.h"
#include <glib-unix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "sim.h"

#define FLUSH_BYTES (1u << 20)
#define READ_BYTES (256u << 10)
#define EVENT_TYPE_FIRST SIM_STOPPED
#define EVENT_TYPES_MAX 20

static struct {
    int fd;
    int wake_fd;
    GByteArray *out;
    GByteArray *in;
    uint64_t stop_mask;
    uint64_t run_bytes;
    bool busy;
    bool woken;         /* by the loop's own thread, since it waited last */
    guint hangup_watch;
} channel = { .fd = -1, .wake_fd = -1 };

/* Without a controller there is nobody to report to; the exit code says so to whoever looks. */
static G_NORETURN void controller_is_gone(void)
{
    _exit(0);
}

static void write_all(const uint8_t *data, size_t length)
{
    while (length > 0) {
        ssize_t written = send(channel.fd, data, length, MSG_NOSIGNAL);

        if (written > 0) {
            data += written;
            length -= written;
        } else if (written < 0 && errno == EAGAIN) {
            struct pollfd writable = { channel.fd, POLLOUT, 0 };

            poll(&writable, 1, -1);
        } else if (written < 0 && errno == EINTR) {
            continue;
        } else {
            controller_is_gone();
        }
    }
}

void sim_flush(void)
{
    if (channel.out->len > 0) {
        write_all(channel.out->data, channel.out->len);
        g_byte_array_set_size(channel.out, 0);
    }
}

void sim_emit(uint32_t type, uint64_t a, uint64_t b, const void *payload, uint32_t length)
{
    SimHeader header = {
        .length = cpu_to_le32(length), .type = cpu_to_le32(type),
        .a = cpu_to_le64(a), .b = cpu_to_le64(b),
    };
    uint32_t event = type - EVENT_TYPE_FIRST;

    g_assert(length <= SIM_PAYLOAD_MAX);
    g_byte_array_append(channel.out, (uint8_t *)&header, sizeof(header));
    if (length > 0) {
        g_byte_array_append(channel.out, payload, length);
    }
    if (event > 0 && event < EVENT_TYPES_MAX) {
        channel.run_bytes += sizeof(header) + length;
        if (channel.stop_mask & (1ull << event)) {
            sim_break(SIM_STOP_EVENT);
        } else if (channel.run_bytes >= SIM_BACKLOG_BYTES_MAX) {
            sim_break(SIM_STOP_BACKLOG);
        }
    }
    if (channel.out->len >= FLUSH_BYTES) {
        sim_flush();
    }
}

void sim_channel_begin_run(uint64_t stop_mask)
{
    channel.stop_mask = stop_mask;
    channel.run_bytes = 0;
}

static void read_some(void)
{
    size_t length = channel.in->len;
    ssize_t got;

    g_byte_array_set_size(channel.in, length + READ_BYTES);
    got = recv(channel.fd, channel.in->data + length, READ_BYTES, MSG_DONTWAIT);
    g_byte_array_set_size(channel.in, length + MAX(got, 0));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        controller_is_gone();
    }
}

/* Obeys whole messages while the machine is parked and idle; the rest waits. */
static void obey(void)
{
    size_t offset = 0;

    while (sim_is_parked() && !channel.busy && channel.in->len - offset >= sizeof(SimHeader)) {
        SimHeader header;

        memcpy(&header, channel.in->data + offset, sizeof(header));
        header.length = le32_to_cpu(header.length);
        header.type = le32_to_cpu(header.type);
        header.a = le64_to_cpu(header.a);
        header.b = le64_to_cpu(header.b);
        if (header.length > SIM_PAYLOAD_MAX) {
            fprintf(stderr, "sim: message %u says it has %u bytes, at most %u are allowed\n",
                    header.type, header.length, SIM_PAYLOAD_MAX);
            _exit(1);
        }
        if (channel.in->len - offset - sizeof(header) < header.length) {
            break;
        }
        offset += sizeof(header);
        sim_command(&header, channel.in->data + offset);
        offset += header.length;
    }
    if (offset > 0) {
        g_byte_array_remove_range(channel.in, 0, offset);
    }
}

void sim_channel_serve(void)
{
    struct pollfd inputs[] = { { channel.wake_fd, POLLIN, 0 }, { channel.fd, POLLIN, 0 } };
    uint64_t ignored;
    nfds_t count;

    obey();
    if (!sim_is_parked()) {
        return;
    }
    if (channel.woken) {
        channel.woken = false;
        return;
    }
    count = channel.busy ? 1 : 2;
    bql_unlock();
    poll(inputs, count, -1);
    bql_lock();
    if (inputs[0].revents && read(channel.wake_fd, &ignored, sizeof(ignored)) < 0) {
        return;     /* another thread's wake-up was taken already */
    }
    if (count == 2 && inputs[1].revents) {
        read_some();
    }
}

void sim_channel_set_busy(bool busy)
{
    channel.busy = busy;
    sim_wake();
}

void sim_wake(void)
{
    uint64_t one = 1;

    if (sim_in_loop()) {
        /* The thread that waits below is this one: no system call for each timer of a device. */
        channel.woken = true;
        return;
    }
    if (channel.wake_fd >= 0 && write(channel.wake_fd, &one, sizeof(one)) < 0) {
        return;     /* the counter is full: the thread will wake up anyway */
    }
}

void sim_channel_look_for_controller(void)
{
    struct pollfd socket = { channel.fd, 0, 0 };

    if (poll(&socket, 1, 0) > 0) {
        controller_is_gone();
    }
}

/* Main thread: the controller may also go away while the guest runs and nobody reads. */
static gboolean hung_up(gint fd, GIOCondition condition, gpointer opaque)
{
    controller_is_gone();
}

bool sim_channel_open(int fd, Error **errp)
{
    if (fcntl(fd, F_GETFL) < 0) {
        error_setg_errno(errp, errno, "sim: descriptor %d is not open", fd);
        return false;
    }
    channel.out = g_byte_array_new();
    channel.in = g_byte_array_new();
    channel.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    channel.fd = fd;
    qemu_set_cloexec(fd);
    channel.hangup_watch = g_unix_fd_add(fd, G_IO_HUP | G_IO_ERR, hung_up, NULL);
    return true;
}

void sim_channel_refuse_at(int fd, uint32_t type, const char *why)
{
    SimHeader header = {
        .length = cpu_to_le32(strlen(why)), .type = cpu_to_le32(SIM_REFUSED), .a = cpu_to_le64(type),
    };
    struct iovec parts[] = { { &header, sizeof(header) }, { (char *)why, strlen(why) } };

    if (writev(fd, parts, ARRAY_SIZE(parts)) < 0) {
        return;     /* nobody listens any more */
    }
}

void sim_channel_replace(int fd)
{
    dup2(fd, channel.fd);
    close(fd);
    qemu_set_cloexec(channel.fd);
    channel.busy = false;
    g_byte_array_set_size(channel.in, 0);
    g_byte_array_set_size(channel.out, 0);
}
