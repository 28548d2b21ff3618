/*
 * What the controller asks for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands come to the vCPU thread while it is parked. Those that need the main thread (forking,
 * loading, resetting) are handed to it, and no further command is read until it is done.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "exec/cpu-common.h"
#include "hw/nmi.h"
#include "system/cpu-timers.h"
#include "system/runstate.h"
#include "sim.h"

/* Longer names do not fit an abstract socket's address; folders are PATH_MAX at most. */
#define TEXT_MAX 4095
#define MEMORY_READ_MAX SIM_PAYLOAD_MAX

typedef struct MainTask {
    SimHeader header;
    char *text;
} MainTask;

void sim_refuse(uint32_t type, const char *why)
{
    sim_emit(SIM_REFUSED, type, 0, why, strlen(why));
}

static void answer_done(uint32_t type)
{
    sim_emit(SIM_DONE, type, 0, NULL, 0);
}

static void run(const SimHeader *header)
{
    if (sim_is_off()) {
        uint32_t reason = SIM_STOP_OFF;

        sim_emit(SIM_STOPPED, sim_now(), icount_get_raw(), &reason, sizeof(reason));
        return;
    }
    sim_channel_begin_run(header->b);
    sim_resume(MIN(header->a, SIM_TIME_MAX_NS));
}

static bool queue_event(const SimHeader *header, SimEventKind kind, const uint8_t *payload)
{
    if (header->a > INT64_MAX || (int64_t)header->a < sim_now()) {
        sim_refuse(header->type, "the time of the event has passed");
    } else if (!sim_event_add(header->a, kind, header->b, payload, header->length)) {
        sim_refuse(header->type, "too many events wait for their time");
    } else {
        return true;
    }
    return false;
}

static void complete_block(const SimHeader *header, const uint8_t *payload)
{
    if (header->length < sizeof(uint32_t)) {
        sim_refuse(header->type, "the status is missing");
    } else if (!sim_block_is_pending(header->b)) {
        sim_refuse(header->type, "there is no such block request");
    } else if (queue_event(header, SIM_EVENT_BLOCK, payload)) {
        sim_block_decided(header->b);
    }
}

static void hash(const SimHeader *header)
{
    uint64_t sizes[2] = { 0, 0 };
    uint64_t ram = header->a & SIM_HASH_RAM ? sim_hash_ram(&sizes[0]) : 0;
    uint64_t devices = 0;

    if (header->a & SIM_HASH_DEVICES) {
        g_autoptr(GByteArray) state = sim_device_state();

        sizes[1] = state->len;
        devices = sim_hash_bytes(state->data, state->len, SIM_HASH_DEVICES);
    }
    sim_emit(SIM_HASHED, ram, devices, sizes, sizeof(sizes));
}

static void status(void)
{
    SimStatus answer = {
        .entropy_draws = sim_entropy_draws(), .events_queued = sim_event_count(),
    };

    sim_vcpu_status(&answer);
    sim_emit(SIM_STATUS, sim_now(), icount_get_raw(), &answer, sizeof(answer));
}

static void read_memory(const SimHeader *header)
{
    g_autofree uint8_t *data = NULL;

    if (header->b > MEMORY_READ_MAX) {
        sim_refuse(header->type, "more bytes than one answer can hold");
        return;
    }
    data = g_malloc0(header->b);
    cpu_physical_memory_read(header->a, data, header->b);
    sim_emit(SIM_MEMORY, header->a, header->b, data, header->b);
}

static void device_state(void)
{
    g_autoptr(GByteArray) state = sim_device_state();

    if (state->len > SIM_PAYLOAD_MAX) {
        sim_refuse(SIM_DEVICE_STATE, "the state is larger than one answer can hold");
        return;
    }
    sim_emit(SIM_MEMORY, 0, state->len, state->data, state->len);
}

static void non_maskable_interrupt(const SimHeader *header)
{
    Error *error = NULL;

    nmi_monitor_handle(0, &error);
    if (error) {
        sim_refuse(header->type, error_get_pretty(error));
        error_free(error);
    } else {
        answer_done(header->type);
    }
}

static void fault(const SimHeader *header)
{
    uint32_t low = header->a, high = header->a >> 32;
    const char *why = NULL;

    switch (header->type) {
    case SIM_FLIP_MEMORY:
        why = sim_flip_memory(header->a, header->b);
        break;
    case SIM_FLIP_REGISTER:
        why = sim_flip_register(low, high, header->b);
        break;
    case SIM_MACHINE_CHECK:
        why = sim_machine_check(low, high != 0, header->b);
        break;
    case SIM_STORM:
        why = sim_storm(low, high, header->b);
        break;
    default:
        g_assert_not_reached();
    }
    if (why) {
        sim_refuse(header->type, why);
    } else {
        answer_done(header->type);
    }
}

static void share(const SimHeader *header)
{
    if (sim_give_share(header->a)) {
        answer_done(header->type);
    } else {
        sim_refuse(header->type, "a share is 1 to 1000000 millionths");
    }
}

static void stall(const SimHeader *header)
{
    if (sim_stall(header->a)) {
        answer_done(header->type);
    } else {
        sim_refuse(header->type, "the machine has no such CPU");
    }
}

static void set_clocks(const SimHeader *header)
{
    if (sim_clocks_set((int64_t)header->a, (int64_t)header->b)) {
        answer_done(header->type);
    } else {
        sim_refuse(header->type, "no clock of this machine can be set like this");
    }
}

/* ---- commands of the main thread ---- */

static void save_or_load(const MainTask *task)
{
    Error *error = NULL;
    bool good = task->header.type == SIM_SAVE ? sim_state_save(task->text, &error)
                                              : sim_state_load(task->text, &error);

    if (good) {
        answer_done(task->header.type);
    } else {
        sim_refuse(task->header.type, error_get_pretty(error));
        error_free(error);
    }
}

static void in_main_thread(void *opaque)
{
    MainTask *task = opaque;

    switch (task->header.type) {
    case SIM_FORK:
        sim_fork(task->text);
        break;
    case SIM_SAVE:
    case SIM_LOAD:
        save_or_load(task);
        break;
    case SIM_RESET:
        sim_power_cycle(MIN(task->header.a, SIM_TIME_MAX_NS), task->header.b & SIM_RESET_CLEAR_RAM);
        answer_done(SIM_RESET);
        break;
    default:
        g_assert_not_reached();
    }
    g_free(task->text);
    g_free(task);
    sim_flush();
    sim_channel_set_busy(false);
}

static void hand_to_main(const SimHeader *header, const uint8_t *payload)
{
    MainTask *task;

    if (header->length > TEXT_MAX || memchr(payload, 0, header->length)) {
        sim_refuse(header->type, "not a text of acceptable length");
        return;
    }
    task = g_new0(MainTask, 1);
    task->header = *header;
    task->text = g_strndup((const char *)payload, header->length);
    sim_channel_set_busy(true);
    aio_bh_schedule_oneshot(qemu_get_aio_context(), in_main_thread, task);
}

void sim_command(const SimHeader *header, const uint8_t *payload)
{
    switch (header->type) {
    case SIM_RUN:
        run(header);
        break;
    case SIM_HASH:
        hash(header);
        break;
    case SIM_FRAME:
        queue_event(header, SIM_EVENT_FRAME, payload);
        break;
    case SIM_CONSOLE:
        queue_event(header, SIM_EVENT_CONSOLE, payload);
        break;
    case SIM_BLOCK_COMPLETE:
        complete_block(header, payload);
        break;
    case SIM_QUERY:
        status();
        break;
    case SIM_READ_MEMORY:
        read_memory(header);
        break;
    case SIM_DEVICE_STATE:
        device_state();
        break;
    case SIM_SEED:
        sim_entropy_seed(header->a);
        answer_done(header->type);
        break;
    case SIM_NMI:
        non_maskable_interrupt(header);
        break;
    case SIM_FLIP_MEMORY:
    case SIM_FLIP_REGISTER:
    case SIM_MACHINE_CHECK:
    case SIM_STORM:
        fault(header);
        break;
    case SIM_SHARE:
        share(header);
        break;
    case SIM_STALL:
        stall(header);
        break;
    case SIM_CLOCKS:
        set_clocks(header);
        break;
    case SIM_FORK:
        sim_make_room();
        hand_to_main(header, payload);
        break;
    case SIM_SAVE:
    case SIM_LOAD:
    case SIM_RESET:
        hand_to_main(header, payload);
        break;
    default:
        sim_refuse(header->type, "no such command");
    }
    sim_flush();
}
