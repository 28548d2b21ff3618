/*
 * The loop that runs the guest: one thread, one vCPU at a time, virtual time owned by the
 * controller.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It stands in for rr_cpu_thread_fn() of accel/tcg/tcg-accel-ops-rr.c. Everything that can change
 * the guest's state happens between two instructions, in this thread, in this order: stop requests,
 * bottom halves, timers that are due, events of the controller that are due. Only then is it asked
 * whether the limit is reached, so a run that is split at any point does the same things in the
 * same order as one that is not.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/seqlock.h"
#include "qemu/timer.h"
#include "qemu/rcu.h"
#include "block/aio.h"
#include "exec/cpu-common.h"
#include "migration/vmstate.h"
#include "system/cpu-timers.h"
#include "system/cpu-timers-internal.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "tcg/startup.h"
#include "tcg/tcg.h"
#include "accel/tcg/tcg-accel-ops.h"
#include "target/i386/cpu.h"
#include "sim.h"
#include "share.h"

/* Instructions that a vCPU runs before the next one has its turn. */
#define SLICE_INSTRUCTIONS 100000
/* The largest count that icount_decr and icount_extra take in one go. */
#define DECREMENTER_MAX 0xffff

static struct {
    bool parked;
    uint32_t stop_reason;
    int64_t limit_ns;
    CPUState *slice_cpu;
    TCGContext *tcg_context;    /* of the vCPU thread: a forked child goes on with it */
    uint64_t exits;
    uint64_t warps;
} loop = { .parked = true };

/* What a saved machine needs besides what QEMU saves. */
static struct SliceState {
    uint32_t cpu_index;     /* whose turn it is */
    uint64_t left;          /* instructions left of that turn */
    int64_t hold_until_ns;
    int64_t tlb_looks;
    uint32_t stalled;       /* a bit for each vCPU that gets no turns */
    SimShare share;
} slice = { .left = SLICE_INSTRUCTIONS, .share = { .millionths = SIM_SHARE_WHOLE } };

int64_t sim_now(void)
{
    return icount_get();
}

bool sim_is_parked(void)
{
    return loop.parked;
}

void sim_break(uint32_t reason)
{
    loop.limit_ns = 0;
    loop.stop_reason = reason;
    if (current_cpu) {
        cpu_exit(current_cpu);
    }
}

void sim_resume(int64_t until_ns)
{
    g_assert(loop.parked);
    loop.stop_reason = SIM_STOP_LIMIT;
    loop.limit_ns = until_ns;
    loop.parked = false;
}

void sim_hold(int64_t until_ns)
{
    slice.hold_until_ns = until_ns;
    sim_share_begin(&slice.share, slice.share.millionths);
}

bool sim_give_share(uint64_t millionths)
{
    if (millionths < 1 || millionths > SIM_SHARE_WHOLE) {
        return false;
    }
    sim_share_begin(&slice.share, millionths);
    return true;
}

bool sim_stall(uint64_t mask)
{
    uint64_t known = 0;
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        known |= UINT64_C(1) << cpu->cpu_index;
    }
    if (mask & ~known) {
        return false;
    }
    slice.stalled = mask;
    return true;
}

/* No vCPU runs before this time: the machine has no power yet, or has had its share. */
static int64_t still_until(void)
{
    return MAX(slice.hold_until_ns, slice.share.still_until_ns);
}

/*
 * A kick brings the instruction count up to date first: what the main thread does next (a bottom
 * half that the guest has just scheduled) reads the time of the guest's own instruction.
 */
void sim_kick(void)
{
    CPUState *cpu;

    if (current_cpu && current_cpu->running && current_cpu->neg.can_do_io) {
        icount_update(current_cpu);
    }
    CPU_FOREACH(cpu) {
        cpu_exit(cpu);
    }
    sim_wake();
}

/*
 * QEMU sizes a vCPU's TLB by how full it was in the last 100 ms of the host, and the TLB's size
 * decides when page table entries are read again: guests that clear accessed bits without a flush
 * would see the host's speed. Here each look at that clock takes a millisecond; but not the looks
 * between two instructions, of which a restored machine has some more.
 */
int64_t sim_tlb_clock(void)
{
    if (!sim_active() || !current_cpu) {
        return get_clock_realtime();
    }
    if (current_cpu->running) {
        slice.tlb_looks++;
    }
    return slice.tlb_looks * SCALE_MS;
}

void sim_vcpu_status(SimStatus *status)
{
    status->exits = loop.exits;
    status->warps = loop.warps;
}

static bool may_run(CPUState *cpu)
{
    if (slice.stalled & (1u << cpu->cpu_index)) {
        return false;
    }
    return !cpu->halted || cpu_has_work(cpu);
}

void sim_park(uint32_t reason)
{
    loop.parked = true;
    sim_emit(SIM_STOPPED, sim_now(), icount_get_raw(), &reason, sizeof(reason));
    sim_flush();
}

/* How often a machine that only waits looks whether there is still a controller. */
#define WARPS_A_LOOK 65536

static void warp(int64_t delta_ns)
{
    seqlock_write_lock(&timers_state.vm_clock_seqlock, &timers_state.vm_clock_lock);
    qatomic_set_i64(&timers_state.qemu_icount_bias, timers_state.qemu_icount_bias + delta_ns);
    seqlock_write_unlock(&timers_state.vm_clock_seqlock, &timers_state.vm_clock_lock);
    loop.warps++;
}

/* The next vCPU's turn comes after a number of instructions, never after a time of the host. */
static void choose_cpu(void)
{
    if (slice.left > 0 && may_run(loop.slice_cpu)) {
        return;
    }
    do {
        CPUState *next = CPU_NEXT(loop.slice_cpu);

        loop.slice_cpu = next ? next : first_cpu;
    } while (!may_run(loop.slice_cpu));
    slice.left = SLICE_INSTRUCTIONS;
}

static void execute(CPUState *cpu, int64_t budget)
{
    int64_t before = icount_get_raw();
    int64_t ran;
    int low = MIN(DECREMENTER_MAX, budget);
    int result;

    cpu->icount_budget = budget;
    cpu->neg.icount_decr.u16.low = low;
    cpu->icount_extra = budget - low;
    bql_unlock();
    result = tcg_cpu_exec(cpu);
    icount_update(cpu);
    cpu->neg.icount_decr.u16.low = 0;
    cpu->icount_extra = 0;
    cpu->icount_budget = 0;
    bql_lock();
    loop.exits++;
    if (result == EXCP_DEBUG) {
        cpu_handle_guest_debug(cpu);
    } else if (result == EXCP_ATOMIC) {
        bql_unlock();
        cpu_exec_step_atomic(cpu);
        bql_lock();
    }
    ran = icount_get_raw() - before;
    if (CPU_NEXT(first_cpu)) {
        /* One vCPU alone has no turns: what a run is split into would show in what is left. */
        slice.left = ran >= slice.left ? 0 : slice.left - ran;
    }
    if (!sim_share_is_whole(&slice.share)) {
        sim_share_ran(&slice.share, ran);
    }
}

/*
 * Nanoseconds to the next thing that happens without the guest, at least 1. Timers go on while the
 * machine has no power: a chip that had to make up for years would do so in one endless turn.
 */
static int64_t time_to_next(int64_t now)
{
    int64_t delta = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL);
    int64_t event_ns = sim_event_next_ns();

    delta = qemu_soonest_timeout(delta, loop.limit_ns - now);
    if (now < still_until()) {
        delta = qemu_soonest_timeout(delta, still_until() - now);
    }
    return event_ns < 0 ? delta : qemu_soonest_timeout(delta, event_ns - now);
}

static int64_t budget_for(CPUState *cpu, int64_t delta_ns)
{
    int64_t budget = icount_round(MIN(delta_ns, INT32_MAX));

    /*
     * do_cpu_init() resets the vCPU while it runs and with it icount_decr, so that the whole budget
     * counts as executed. One instruction is the least to lose.
     */
    if (cpu->interrupt_request & (CPU_INTERRUPT_INIT | CPU_INTERRUPT_SIPI)) {
        return 1;
    }
    if (CPU_NEXT(first_cpu)) {
        budget = MIN(budget, (int64_t)slice.left);
    }
    return sim_share_is_whole(&slice.share) ? budget : MIN(budget, slice.share.left);
}

/* One pass between two instructions; true if it did something and is to be called again. */
static bool do_due_work(void)
{
    int64_t now;

    if (aio_bh_poll(qemu_get_aio_context())) {
        return true;
    }
    now = sim_now();
    if (qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL) == 0) {
        qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
        return true;
    }
    if (sim_event_run_due(now)) {
        return true;
    }
    if (now >= loop.limit_ns) {
        sim_park(loop.stop_reason);
        return true;
    }
    return false;
}

static void serve_requests(bool *stopped, bool *runnable)
{
    CPUState *cpu;

    *stopped = false;
    *runnable = false;
    CPU_FOREACH(cpu) {
        qatomic_set(&cpu->exit_request, 0);
        current_cpu = cpu;
        qemu_wait_io_event_common(cpu);
        *stopped |= !cpu_can_run(cpu);
        *runnable |= may_run(cpu);
    }
    current_cpu = loop.slice_cpu;
}

/* What is due now, or else time: of the guest's instructions, or without them. */
static void advance(bool runnable)
{
    int64_t now, delta;

    if (do_due_work()) {
        return;
    }
    now = sim_now();
    delta = time_to_next(now);
    if (!runnable || now < still_until()) {
        warp(delta);
        if (loop.warps % WARPS_A_LOOK == 0) {
            /* The lock is never given away here, so that nobody else could find out. */
            sim_channel_look_for_controller();
        }
        return;
    }
    choose_cpu();
    current_cpu = loop.slice_cpu;
    execute(current_cpu, budget_for(current_cpu, delta));
}

/*
 * A request to power off stops no vCPU by itself: the main thread acts on it when it gets to run.
 * Here the guest waits for that before its next instruction.
 */
static bool main_thread_must_act(void)
{
    return qemu_shutdown_requested_get() || qemu_reset_requested_get();
}

static void say_hello(void)
{
    sim_emit(SIM_HELLO, getpid(), SIM_WIRE_VERSION, QEMU_VERSION, strlen(QEMU_VERSION));
    sim_flush();
}

/* Of the first process, and again of each forked child. */
static G_NORETURN void run_loop(void)
{
    while (true) {
        bool stopped, runnable;

        serve_requests(&stopped, &runnable);
        if (loop.parked) {
            sim_gate_open();
            sim_channel_serve();
        } else if (stopped || main_thread_must_act()) {
            sim_gate_open();
            qemu_cond_wait_bql(first_cpu->halt_cond);
        } else {
            sim_gate_close();
            advance(runnable);
        }
    }
}

G_NORETURN void sim_vcpu_loop(void)
{
    loop.tcg_context = tcg_ctx;
    loop.slice_cpu = first_cpu;
    sim_gate_enter_loop();
    say_hello();
    run_loop();
}

/* ---- forked child ---- */

static QemuCond child_said_hello;
static bool child_is_up;

static void *child_thread(void *argument)
{
    rcu_register_thread();
    tcg_ctx = loop.tcg_context;
    bql_lock();
    qemu_thread_get_self(first_cpu->thread);
    first_cpu->thread_id = qemu_get_thread_id();
    sim_gate_enter_loop();
    say_hello();
    sim_fork_is_up();
    child_is_up = true;
    qemu_cond_signal(&child_said_hello);
    run_loop();
    return NULL;
}

void sim_vcpu_restart(void)
{
    CPUState *cpu;

    qemu_cond_init(first_cpu->halt_cond);
    qemu_cond_init(&child_said_hello);
    CPU_FOREACH(cpu) {
        cpu->running = false;
    }
    child_is_up = false;
    qemu_thread_create(first_cpu->thread, "sim", child_thread, NULL, QEMU_THREAD_JOINABLE);
    /* The main thread has nothing to do that could not wait, and much that would be copied. */
    while (!child_is_up) {
        qemu_cond_wait_bql(&child_said_hello);
    }
}

/* ---- saved state ---- */

static int before_save(void *opaque)
{
    slice.cpu_index = loop.slice_cpu ? loop.slice_cpu->cpu_index : 0;
    return 0;
}

static int before_load(void *opaque)
{
    sim_share_begin(&slice.share, SIM_SHARE_WHOLE);
    slice.stalled = 0;
    return 0;
}

static int after_load(void *opaque, int version)
{
    loop.slice_cpu = qemu_get_cpu(slice.cpu_index);
    return loop.slice_cpu ? 0 : -EINVAL;
}

static bool is_taken_from(void *opaque)
{
    return slice.stalled || !sim_share_is_whole(&slice.share);
}

/* Absent where vCPUs have all their time: such machines are saved, and digested, as ever. */
static const VMStateDescription vmstate_taken = {
    .name = "sim-vcpu/taken",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = is_taken_from,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(stalled, struct SliceState),
        VMSTATE_UINT32(share.millionths, struct SliceState),
        VMSTATE_UINT32(share.rest, struct SliceState),
        VMSTATE_INT64(share.left, struct SliceState),
        VMSTATE_INT64(share.still_until_ns, struct SliceState),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_vcpu = {
    .name = "sim-vcpu",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = before_save,
    .pre_load = before_load,
    .post_load = after_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(cpu_index, struct SliceState),
        VMSTATE_UINT64(left, struct SliceState),
        VMSTATE_INT64(hold_until_ns, struct SliceState),
        VMSTATE_INT64(tlb_looks, struct SliceState),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_taken,
        NULL
    },
};

void sim_vcpu_init(void)
{
    vmstate_register_any(NULL, &vmstate_vcpu, &slice);
}
