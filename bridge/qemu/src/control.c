/*
 * The device "sim-control": its presence on the command line is simulation mode.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     -device sim-control,fd=3,seed=1,nics=2,io-base=0x5e0
 *
 * It must come before the network devices that use the clients "sim0", "sim1", ...
 */
#include "qemu/osdep.h"
#include <malloc.h>
#include <sys/prctl.h>
#include "qapi/error.h"
#include "hw/boards.h"
#include "hw/qdev-properties.h"
#include "exec/ramblock.h"
#include "migration/vmstate.h"
#include "system/cpu-timers.h"
#include "system/cpus.h"
#include "system/reset.h"
#include "system/runstate.h"
#include "exec/tb-flush.h"
#include "sim.h"

#define TYPE_SIM_CONTROL "sim-control"

/* The most that glibc takes for M_MMAP_THRESHOLD. */
#define KEPT_BYTES (32 << 20)
OBJECT_DECLARE_SIMPLE_TYPE(SimControl, SIM_CONTROL)

struct SimControl {
    DeviceState parent;
    int32_t fd;
    uint64_t seed;
    uint32_t nics;
    uint32_t io_base;
};

static struct {
    bool active;
    bool off;
    bool cycling;       /* the reset in progress was asked for by the controller */
} control;

bool sim_active(void)
{
    return control.active;
}

bool sim_is_off(void)
{
    return control.off;
}

/*
 * Main thread. The last to hear of a stop, when all devices have come to rest: what is reported
 * here is the state that stays.
 */
static void run_state_changed(void *opaque, bool running, RunState state)
{
    bool panicked = state == RUN_STATE_GUEST_PANICKED;

    if (running || (state != RUN_STATE_SHUTDOWN && !panicked) || control.off) {
        return;
    }
    control.off = true;
    sim_emit(panicked ? SIM_PANIC : SIM_POWER_OFF, sim_now(), 0, NULL, 0);
    sim_park(SIM_STOP_OFF);
    qemu_cpu_kick(first_cpu);
}

static void machine_was_reset(void *opaque)
{
    if (first_cpu && first_cpu->created && runstate_is_running()) {
        sim_emit(SIM_RESET_DONE, sim_now(), !control.cycling, NULL, 0);
    }
}

/* Main thread. Contents of RAM are written behind the translator's back, hence the flush. */
void sim_power_cycle(int64_t off_until_ns, bool clear_ram)
{
    pause_all_vcpus();
    if (clear_ram) {
        MachineState *machine = current_machine;

        memset(memory_region_get_ram_ptr(machine->ram), 0, memory_region_size(machine->ram));
        tb_flush(first_cpu);
    }
    sim_event_clear();
    control.cycling = true;
    qemu_system_reset(SHUTDOWN_CAUSE_HOST_QMP_SYSTEM_RESET);
    control.cycling = false;
    sim_hold(off_until_ns);
    control.off = false;
    if (runstate_is_running()) {
        resume_all_vcpus();
    } else {
        runstate_set(RUN_STATE_PRELAUNCH);
        vm_start();
    }
}

static void realize(DeviceState *device, Error **errp)
{
    SimControl *self = SIM_CONTROL(device);

    if (control.active) {
        error_setg(errp, "sim-control: a machine has one controller");
        return;
    }
    if (icount_enabled() != ICOUNT_PRECISE) {
        error_setg(errp, "sim-control needs -icount shift=N,sleep=off");
        return;
    }
    if (self->nics > SIM_NICS_MAX) {
        error_setg(errp, "sim-control: at most %d network clients", SIM_NICS_MAX);
        return;
    }
    if (!sim_channel_open(self->fd, errp)) {
        return;
    }
    /* The controller's own death ends the machine even where the socket has another holder. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    control.active = true;
    /* TLBs that grow and shrink would have the host clear their pages again and again. */
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, 2 * KEPT_BYTES);
    sim_platform_activate();
    sim_gate_init();
    sim_console_register();
    sim_vcpu_init();
    sim_clocks_init();
    sim_events_init();
    sim_entropy_init(self->seed);
    sim_network_create(self->nics);
    sim_doorbell_create(OBJECT(self), self->io_base);
    qemu_register_reset(machine_was_reset, NULL);
    qemu_add_vm_change_state_handler_prio(run_state_changed, NULL, INT_MIN);
}

static const Property properties[] = {
    DEFINE_PROP_INT32("fd", SimControl, fd, 3),
    DEFINE_PROP_UINT64("seed", SimControl, seed, 1),
    DEFINE_PROP_UINT32("nics", SimControl, nics, 0),
    DEFINE_PROP_UINT32("io-base", SimControl, io_base, 0x5e0),
};

static void class_init(ObjectClass *class, void *data)
{
    DeviceClass *device_class = DEVICE_CLASS(class);

    device_class->realize = realize;
    device_class->user_creatable = true;
    device_class->hotpluggable = false;
    device_class->desc = "controller of a simulated machine";
    device_class_set_props(device_class, properties);
    set_bit(DEVICE_CATEGORY_MISC, device_class->categories);
}

static const TypeInfo control_info = {
    .name = TYPE_SIM_CONTROL,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(SimControl),
    .class_init = class_init,
};

void sim_control_register(void)
{
    type_register_static(&control_info);
}
