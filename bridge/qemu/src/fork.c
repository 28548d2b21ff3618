/*
 * The fork server: a parked machine becomes two in milliseconds, sharing memory copy-on-write.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fork() copies the calling thread only, here the main thread with the big lock held. The child
 * says HELLO on a socket of its own and starts a fresh vCPU thread. It has a process group of its
 * own, so that ending the parent leaves it alone.
 *
 * From fork() on each page that either of the two writes is copied first. So whatever can be done
 * before is done before, and the parent waits until the child has said HELLO.
 */
#include "qemu/osdep.h"
#include <sched.h>
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
    RAMBlock *block;

    RCU_READ_LOCK_GUARD();
    RAMBLOCK_FOREACH(block) {
        if (block->host) {
            madvise(block->host, block->max_length, MADV_DOFORK);
        }
    }
}

static void *do_nothing(void *ignored)
{
    return ignored;
}

/*
 * A thread in a child gets the stack of one of its parent's that is gone, which takes a function of
 * the dynamic linker that nobody has called before. To find it means to read in each library, a
 * page fault each: done here once, each child is spared it.
 */
static void rehearse_threads(void)
{
    for (int i = 0; i < 2; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) {
            pthread_join(thread, NULL);
        }
    }
}

static void before_first_fork(void)
{
    static bool done;

    if (done) {
        return;
    }
    done = true;
    let_children_have_ram();
    rehearse_threads();
    /* Children answer to the controller, nobody here waits for them. */
    signal(SIGCHLD, SIG_IGN);
}

#define ROOM_BYTES (64 * KiB)

/*
 * The threads of a child take over the heaps of those of its parent. One that finds no room there
 * would have the host clear 2 MiB for it, which takes longer than all the rest; and what has been
 * freed is sorted here, before each child would have to copy it for that.
 */
void sim_make_room(void)
{
    /* Else a compiler leaves out what nobody reads. */
    volatile char *room = malloc(ROOM_BYTES);

    room[ROOM_BYTES - 1] = 0;
    free((void *)room);
}

/* An event descriptor is shared after fork(): parent and child would steal each other's wake-ups. */
typedef struct Renewal {
    int shared;
    int fresh;
} Renewal;

static GArray *fresh_event_descriptors(void)
{
    GArray *renewals = g_array_new(FALSE, FALSE, sizeof(Renewal));
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char target[64] = "";
        int fd = atoi(entry->d_name);

        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) > 0 &&
            strstr(target, "[eventfd]")) {
            Renewal renewal = { fd, -1 };

            g_array_append_val(renewals, renewal);
        }
    }
    if (folder) {
        closedir(folder);
    }
    /* Only now, so that none of them is taken for one of the machine's. */
    for (guint i = 0; i < renewals->len; i++) {
        g_array_index(renewals, Renewal, i).fresh = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    return renewals;
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
        close(fd);
        return -1;
    }
    return fd;
}

/* What a child takes over from its parent, and what tells the parent that it is up. */
typedef struct Birth {
    int socket;
    GArray *renewals;
    int up[2];
    cpu_set_t processors;
} Birth;

static Birth birth;

/*
 * A child that starts on another processor waits until that one is awake and has time, which may
 * take as long as all the rest. Its parent does nothing meanwhile, so it starts where that was.
 */
static void stay_on_this_processor(void)
{
    cpu_set_t here;

    sched_getaffinity(0, sizeof(birth.processors), &birth.processors);
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof(here), &here);
}

static void use_all_processors(void)
{
    sched_setaffinity(0, sizeof(birth.processors), &birth.processors);
}

static bool prepare(const char *socket_name)
{
    if (strlen(socket_name) > sizeof(((struct sockaddr_un *)0)->sun_path) - 2) {
        sim_refuse(SIM_FORK, "the socket's name is too long");
        return false;
    }
    birth.socket = call_controller(socket_name);
    if (birth.socket < 0) {
        sim_refuse(SIM_FORK, strerror(errno));
        return false;
    }
    if (pipe2(birth.up, O_CLOEXEC) < 0) {
        sim_refuse(SIM_FORK, strerror(errno));
        close(birth.socket);
        return false;
    }
    birth.renewals = fresh_event_descriptors();
    return true;
}

/* The main thread gives its lock away meanwhile, and then goes back to its own loop. */
static void become_child(void)
{
    setpgid(0, 0);
    for (guint i = 0; i < birth.renewals->len; i++) {
        const Renewal *renewal = &g_array_index(birth.renewals, Renewal, i);

        dup3(renewal->fresh, renewal->shared, O_CLOEXEC);
        close(renewal->fresh);
    }
    sim_channel_replace(birth.socket);
    sim_vcpu_restart();
    use_all_processors();
}

void sim_fork_is_up(void)
{
    use_all_processors();
    close(birth.up[0]);
    close(birth.up[1]);
}

static void wait_until_child_is_up(void)
{
    char none;

    close(birth.up[1]);
    while (read(birth.up[0], &none, 1) < 0 && errno == EINTR) {
    }
    close(birth.up[0]);
    for (guint i = 0; i < birth.renewals->len; i++) {
        close(g_array_index(birth.renewals, Renewal, i).fresh);
    }
    g_array_free(birth.renewals, TRUE);
}

void sim_fork(const char *socket_name)
{
    pid_t child;

    if (!prepare(socket_name)) {
        return;
    }
    before_first_fork();
    /* Said before it is done, so that the controller takes the call meanwhile. */
    sim_emit(SIM_FORKED, 0, 0, NULL, 0);
    sim_flush();
    sim_make_room();
    stay_on_this_processor();
    rcu_enable_atfork();
    child = fork();
    rcu_disable_atfork();
    if (child == 0) {
        become_child();
        return;
    }
    if (child < 0) {
        sim_channel_refuse_at(birth.socket, SIM_FORK, strerror(errno));
    }
    close(birth.socket);
    wait_until_child_is_up();
    use_all_processors();
}
