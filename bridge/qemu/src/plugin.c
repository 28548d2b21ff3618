/*
 * The adapter as a plugin that a stock QEMU loads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Debian's QEMU is built with modules and exports its symbols, so a plugin can reach what modules
 * reach. What a hook in the source would be is here a replaced class method, or, where there is no
 * method, a jump written over a function's first bytes. Loading the plugin is simulation mode: vCPUs
 * exist before devices do.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/main-loop.h"
#include "qemu/qemu-plugin.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "system/accel-ops.h"
#include "system/cpu-timers.h"
#include "system/cpus.h"
#include "tcg/startup.h"
#include "accel/tcg/tcg-accel-ops.h"
#include "exec/cpu-common.h"
#include "target/i386/cpu.h"
#include "got.h"
#include "sim.h"

#define PAGE_BYTES 4096ul

/* Declared by a private header of the translator. */
G_NORETURN void helper_pause(CPUX86State *env);
void helper_rechecking_single_step(CPUX86State *env);

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static void (*original_ops_init)(AccelOpsClass *ops);
static void (*original_kick)(CPUState *cpu);

/* ---- the vCPU thread ---- */

static void *vcpu_thread(void *argument)
{
    CPUState *cpu = argument;

    rcu_register_thread();
    tcg_register_thread();
    bql_lock();
    qemu_thread_get_self(cpu->thread);
    cpu->thread_id = qemu_get_thread_id();
    cpu->neg.can_do_io = true;
    cpu_thread_signal_created(cpu);
    qemu_guest_random_seed_thread_part2(cpu->random_seed);
    while (first_cpu->stopped) {
        qemu_cond_wait_bql(first_cpu->halt_cond);
        CPU_FOREACH(cpu) {
            current_cpu = cpu;
            qemu_wait_io_event_common(cpu);
        }
    }
    if (!sim_active()) {
        error_report("sim: the plugin needs -device sim-control");
        exit(1);
    }
    sim_vcpu_loop();
}

/* As rr_start_vcpu_thread(): one thread for all vCPUs. */
static void create_vcpu_thread(CPUState *cpu)
{
    static QemuCond *shared_cond;
    static QemuThread *shared_thread;

    tcg_cpu_init_cflags(cpu, false);
    if (!shared_thread) {
        shared_cond = cpu->halt_cond;
        shared_thread = cpu->thread;
        qemu_thread_create(cpu->thread, "sim", vcpu_thread, cpu, QEMU_THREAD_JOINABLE);
        return;
    }
    g_free(cpu->thread);
    qemu_cond_destroy(cpu->halt_cond);
    g_free(cpu->halt_cond);
    cpu->thread = shared_thread;
    cpu->halt_cond = shared_cond;
    cpu->thread_id = first_cpu->thread_id;
    cpu->neg.can_do_io = true;
    cpu->created = true;
}

static void kick_vcpu_thread(CPUState *ignored)
{
    if (sim_active()) {
        sim_kick();
    } else {
        original_kick(ignored);
    }
}

static void ops_init(AccelOpsClass *ops)
{
    original_ops_init(ops);
    original_kick = ops->kick_vcpu_thread;
    ops->create_vcpu_thread = create_vcpu_thread;
    ops->kick_vcpu_thread = kick_vcpu_thread;
}

/* ---- functions without a method ---- */

void sim_platform_activate(void)
{
    /* Loading the plugin has done all of it. */
}

/* mov rax, target; jmp rax */
static bool redirect(void *function, void *target)
{
    uint8_t jump[12] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 };
    void *page = (void *)((uintptr_t)function & ~(PAGE_BYTES - 1));

    memcpy(jump + 2, &target, sizeof(target));
    if (mprotect(page, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) {
        return false;
    }
    memcpy(function, jump, sizeof(jump));
    return mprotect(page, 2 * PAGE_BYTES, PROT_READ | PROT_EXEC) == 0;
}

/*
 * Before the controller device exists its seed is not known: what QEMU draws for itself until then
 * (identifiers of its own that the guest does not see) is constant.
 */
static int getrandom_hook(void *data, size_t length, Error **errp)
{
    return sim_getrandom(data, length, errp);
}

/*
 * The main thread moves the clock when all vCPUs are idle, which they also are while a reset keeps
 * them stopped. Here the loop alone moves it.
 */
static void start_warp_timer_hook(void)
{
}

/*
 * get_clock_realtime() is inlined; what it calls is not. On a vCPU's thread the TLB alone looks at
 * this clock (docs/machines.md, sources of entropy).
 */
static int gettimeofday_hook(struct timeval *time, void *zone)
{
    int64_t now;

    if (!sim_active() || !current_cpu) {
        return gettimeofday(time, NULL);
    }
    now = sim_tlb_clock();
    time->tv_sec = now / NANOSECONDS_PER_SECOND;
    time->tv_usec = now % NANOSECONDS_PER_SECOND / SCALE_US;
    return 0;
}

/* Giving free pages back visits the whole heap, which a forked child would have to copy for it. */
static int malloc_trim_hook(size_t pad)
{
    return 0;
}

/*
 * PAUSE lets another vCPU run, which QEMU does by leaving the loop that executes code: a kernel that
 * calibrates its timer does so ten million times. Turns end by a count of instructions here, so it
 * goes on at the next instruction, after the look at interrupts that every exit is.
 */
static G_NORETURN void pause_hook(CPUX86State *env)
{
    env->hflags &= ~HF_INHIBIT_IRQ_MASK;
    env->eflags &= ~RF_MASK;
    helper_rechecking_single_step(env);
    cpu_loop_exit_noexc(env_cpu(env));
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv)
{
    AccelOpsClass *ops = ACCEL_OPS_CLASS(object_class_by_name("tcg-accel-ops"));

    original_ops_init = ops->ops_init;
    ops->ops_init = ops_init;
    sim_entropy_seed(0);
    sim_control_register();
    sim_block_register();
    if (!redirect(qemu_guest_getrandom, getrandom_hook) ||
        !redirect(helper_pause, pause_hook) ||
        !redirect(icount_start_warp_timer, start_warp_timer_hook)) {
        fprintf(stderr, "sim: the host forbids changing a page of code: %s\n", strerror(errno));
        return -1;
    }
    if (!sim_replace_import("gettimeofday", gettimeofday_hook)) {
        fprintf(stderr, "sim: QEMU does not look at the clock as expected\n");
        return -1;
    }
    sim_replace_import("malloc_trim", malloc_trim_hook);
    return 0;
}
