/*
 * While the guest runs, no thread but the loop's own gets the big lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU's main thread runs bottom halves, handlers and requests to power off or reset whenever the
 * host's scheduler lets it, while the guest runs on. What it did then would have the time, and the
 * order among interrupts, that the host chose. So others that ask for the lock wait at this gate.
 * The loop opens it only where the guest stands still: parked, stopped, or because the main thread
 * has to act before the next instruction.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "sim.h"

/* How long a thread waits before it looks whether there is still a controller. */
#define LOOK_MS 500

static struct {
    bool closed;            /* under the big lock */
    QemuCond opened;
} gate;

static __thread bool is_loop_thread;

/* In place of the big lock's own way to lock. */
static void lock_behind_gate(QemuMutex *lock, const char *file, int line)
{
    qemu_mutex_lock_impl(lock, file, line);
    while (gate.closed && !is_loop_thread) {
        qemu_cond_timedwait_impl(&gate.opened, lock, LOOK_MS, file, line);
        sim_channel_look_for_controller();
    }
}

bool sim_in_loop(void)
{
    return is_loop_thread;
}

void sim_gate_enter_loop(void)
{
    is_loop_thread = true;
    /* A forked child has none of the threads that waited. */
    qemu_cond_init(&gate.opened);
}

void sim_gate_open(void)
{
    if (gate.closed) {
        gate.closed = false;
        qemu_cond_broadcast(&gate.opened);
    }
}

void sim_gate_close(void)
{
    gate.closed = true;
}

void sim_gate_init(void)
{
    qatomic_set(&bql_mutex_lock_func, lock_behind_gate);
}
