/*
 * Simulation mode: what the parts of the adapter offer one another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All functions are called with the big lock held unless they say otherwise.
 */
#ifndef SIM_H
#define SIM_H

#include "qemu/queue.h"
#include "hw/core/cpu.h"
#include "hw/qdev-core.h"
#include "qom/object.h"
#include "sim-wire.h"

#define SIM_NICS_MAX 8
#define SIM_CONSOLES_MAX 8
#define SIM_DISKS_MAX 8

/* ---- vcpu.c: virtual time and the loop that runs the guest ---- */
int64_t sim_now(void);
/* Lets the loop run until `until_ns`; only while parked. */
void sim_resume(int64_t until_ns);
/* Parks at the instruction boundary that the guest stands at. */
void sim_break(uint32_t reason);
/* Parked work of the loop ends at once, so that stop requests are seen. Any thread, no lock. */
void sim_wake(void);
bool sim_is_parked(void);
/* Parks a machine whose vCPUs do not run any more. */
void sim_park(uint32_t reason);
/* Keeps all CPUs still until this time: the machine is off. A share's turn begins anew. */
void sim_hold(int64_t until_ns);
/* From now on instructions get this share of virtual time; false if it is none (see share.c). */
bool sim_give_share(uint64_t millionths);
/* From now on just these CPUs get no turns, a bit each; false, and no change, if one is unknown. */
bool sim_stall(uint64_t mask);
G_NORETURN void sim_vcpu_loop(void);
/* All vCPUs to the next instruction boundary, with the count up to date. Any thread. */
void sim_kick(void);
/* Stands in for the host's clock where the TLB's size is decided. */
int64_t sim_tlb_clock(void);
/* In a forked child: a fresh thread that goes on where the parent's loop was parked. Returns when
 * the controller knows; the big lock is given away meanwhile. */
void sim_vcpu_restart(void);
void sim_vcpu_status(SimStatus *status);
void sim_vcpu_init(void);

/*
 * No machine goes beyond this time, of 36 years: near INT64_MAX timers that are set again would
 * overflow, and be due for ever.
 */
#define SIM_TIME_MAX_NS (INT64_C(1) << 60)

/* ---- gate.c: the big lock belongs to the loop while the guest runs ---- */
void sim_gate_init(void);
/* The calling thread is the one that runs the guest. */
void sim_gate_enter_loop(void);
/* Whether this is the thread of the loop. */
bool sim_in_loop(void);
/* Lets other threads have the lock, once the loop gives it away. */
void sim_gate_open(void);
void sim_gate_close(void);

/* ---- events.c: effects that wait for their virtual time ---- */
typedef enum SimEventKind {
    SIM_EVENT_FRAME = 1,
    SIM_EVENT_CONSOLE = 2,
    SIM_EVENT_BLOCK = 3,
    SIM_EVENT_PULSE = 4,
} SimEventKind;

typedef struct SimEvent {
    int64_t when_ns;
    uint32_t kind;
    uint64_t target;        /* port, request or line */
    uint32_t length;
    uint8_t *data;
    QTAILQ_ENTRY(SimEvent) next;
} SimEvent;

/* False (and nothing is queued) when a limit is reached; equal times keep the order of calls. */
bool sim_event_add(int64_t when_ns, SimEventKind kind, uint64_t target,
                   const void *data, uint32_t length);
/* Runs the first event if it is due; true if one ran. */
bool sim_event_run_due(int64_t now_ns);
/* Time of the first event, or -1. */
int64_t sim_event_next_ns(void);
/* Forgets all events, as a power loss does. */
void sim_event_clear(void);
uint32_t sim_event_count(void);
void sim_events_init(void);

/* ---- channel.c: messages over the controller's socket ---- */
bool sim_channel_open(int fd, Error **errp);
void sim_emit(uint32_t type, uint64_t a, uint64_t b, const void *payload, uint32_t length);
void sim_flush(void);
/* The run that begins now stops at the events of this mask. */
void sim_channel_begin_run(uint64_t stop_mask);
/* vCPU thread, parked: waits for input or sim_wake() without the lock, then obeys. */
void sim_channel_serve(void);
/* In a forked child: the socket to speak over from now on, with empty buffers. */
void sim_channel_replace(int fd);
/* Says on another machine's socket why that one does not come to be. */
void sim_channel_refuse_at(int fd, uint32_t type, const char *why);
/* Ends the process if the controller is gone. */
void sim_channel_look_for_controller(void);
/* While the main thread obeys a command no other one is read. */
void sim_channel_set_busy(bool busy);

/* ---- commands.c ---- */
void sim_command(const SimHeader *header, const uint8_t *payload);
void sim_refuse(uint32_t type, const char *why);

/* ---- devices ---- */
void sim_network_create(uint32_t count);
bool sim_network_deliver(uint64_t port, const uint8_t *data, uint32_t length);
void sim_console_register(void);
bool sim_console_deliver(uint64_t port, const uint8_t *data, uint32_t length);
void sim_doorbell_create(Object *owner, uint32_t io_base);
void sim_block_register(void);
/* Ends a request of any disk: u32 status, then data. False if there is no such request. */
bool sim_block_deliver(uint64_t request, const uint8_t *data, uint32_t length);
/* True if the request waits and its end is not decided yet. */
bool sim_block_is_pending(uint64_t request);
void sim_block_decided(uint64_t request);

/* ---- faults.c: each gives NULL, or why it cannot be done; only while parked ---- */
const char *sim_flip_memory(uint64_t address, uint64_t mask);
const char *sim_flip_register(uint32_t cpu_index, uint32_t number, uint64_t mask);
const char *sim_machine_check(uint32_t cpu_index, bool corrected, uint64_t address);
/* `count` pulses on a line of the ISA bus, the first one now. */
const char *sim_storm(uint32_t line, uint32_t count, uint64_t gap_ns);
void sim_pulse_deliver(int64_t when_ns, uint64_t line, const uint8_t *data);

/* ---- entropy.c ---- */
void sim_entropy_seed(uint64_t seed);
uint64_t sim_entropy_next(void);
uint64_t sim_entropy_draws(void);
int sim_getrandom(void *data, size_t length, Error **errp);
void sim_entropy_init(uint64_t seed);

/* ---- clock.c ---- */
/*
 * From now on the processors' counter gains so many ticks in a million nanoseconds, and the calendar
 * chip is so far ahead of virtual time. False if that cannot be.
 */
bool sim_clocks_set(int64_t rate, int64_t chip_ns);
void sim_clocks_init(void);

/* ---- touched.c ---- */
#define SIM_CHUNK_BYTES (UINT32_C(2) << 20)
/* A descriptor for the questions below, of this process alone; close it. */
int sim_touched_open(void);
/* True if these bytes of a block, a chunk at most, are zeros that nobody has read or written. */
bool sim_is_untouched(int pagemap, const RAMBlock *block, size_t offset, size_t length);

/* ---- hash.c, state.c, fork.c ---- */
uint64_t sim_hash_bytes(const uint8_t *data, size_t length, uint64_t seed);
uint64_t sim_hash_ram(uint64_t *bytes);
/* The state of all devices without host time; the caller frees it. */
GByteArray *sim_device_state(void);
bool sim_state_save(const char *folder, Error **errp);
bool sim_state_load(const char *folder, Error **errp);
/* Before a fork, in each thread that a child has too: room for what it takes from its heap. */
void sim_make_room(void);
void sim_fork(const char *socket_name);
/* In a forked child: its parent may go on. */
void sim_fork_is_up(void);

/* ---- control.c ---- */
bool sim_active(void);
bool sim_is_off(void);
void sim_power_cycle(int64_t off_until_ns, bool clear_ram);
void sim_control_register(void);

/* ---- plugin.c or intree.c ---- */
/* Simulation mode begins: hooks that are not in place yet are put there. */
void sim_platform_activate(void);

#endif
