/*
 * The fork server: a parked machine becomes two in milliseconds, sharing memory copy-on-write.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fork() copies the calling thread only, here the main thread with the big lock held. The child
 * starts a fresh vCPU thread, calls the controller's socket and says HELLO there. It has a process
 * group of its own, so that ending the parent leaves it alone.
 */
#include "qemu/osdep.h"
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qemu/rcu.h"
#include "qemu/rcu_queue.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "exec/cpu-common.h"
#include "exec/ramblock.h"
#include "exec/ramlist.h"
#include "sim.h"

/* QEMU marks guest RAM MADV_DONTFORK; a fork server needs the opposite. */
static void let_children_have_ram(void)
{
    static bool done;
    RAMBlock *block;

    if (done) {
        return;
    }
    RCU_READ_LOCK_GUARD();
    RAMBLOCK_FOREACH(block) {
        if (block->host) {
            madvise(block->host, block->max_length, MADV_DOFORK);
        }
    }
    done = true;
    /* Children answer to the controller, nobody here waits for them. */
    signal(SIGCHLD, SIG_IGN);
}

/*
 * Freed chunks wait in one list of their thread's arena until an allocation of this size sorts them,
 * which writes to the page of each. The threads of a child take over the arenas of those of its
 * parent, so what its loop and its main thread have not sorted here each child would, and copy the pages.
 */
#define SORTING_BYTES (64 * KiB)

void sim_sort_heap(void)
{
    /* A compiler leaves out a pair whose pointer nobody reads. */
    void *volatile chunk = malloc(SORTING_BYTES);

    free(chunk);
}

/* An event descriptor is shared after fork(): parent and child would steal each other's wake-ups. */
static void renew_event_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        g_autofree char *path = g_strdup_printf("/proc/self/fd/%s", entry->d_name);
        char target[64] = "";
        int fd = atoi(entry->d_name);

        if (entry->d_name[0] == '.' || fd == dirfd(folder)) {
            continue;
        }
        if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "[eventfd]")) {
            int fresh = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

            dup3(fresh, fd, O_CLOEXEC);
            close(fresh);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

/*
 * Abstract names need no file and leave none behind. Node pads them with zeros to the full length
 * of an address in some versions and not in others, so both are tried.
 */
static int call_controller(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t exact = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path + 1, name, strlen(name));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 &&
        connect(fd, (struct sockaddr *)&address, exact) < 0) {
        _exit(1);
    }
    return fd;
}

static void become_child(const char *socket_name)
{
    setpgid(0, 0);
    renew_event_descriptors();
    sim_channel_replace(call_controller(socket_name));
    sim_vcpu_restart();
}

void sim_fork(const char *socket_name)
{
    int64_t start = get_clock();
    pid_t child;

    if (strlen(socket_name) > sizeof(((struct sockaddr_un *)0)->sun_path) - 2) {
        sim_refuse(SIM_FORK, "the socket's name is too long");
        return;
    }
    let_children_have_ram();
    sim_flush();
    sim_sort_heap();
    rcu_enable_atfork();
    child = fork();
    rcu_disable_atfork();
    if (child == 0) {
        become_child(socket_name);
    } else if (child < 0) {
        sim_refuse(SIM_FORK, strerror(errno));
    } else {
        sim_emit(SIM_FORKED, child, get_clock() - start, NULL, 0);
    }
}
