/*
 * The binary channel between a controller and one simulated machine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A stream of messages over one socket, each a header of 24 bytes and a payload, all numbers little
 * endian:
 *
 *     u32 length   bytes of payload, at most SIM_PAYLOAD_MAX
 *     u32 type     a number below
 *     u64 a, u64 b meaning by type
 *
 * The controller speaks while the machine is parked and then sends RUN; from then on the machine
 * alone speaks until its STOPPED. Times are virtual nanoseconds since the machine was started.
 * docs/machines.md and bridge/channel/wire.ts restate this list; a test compares the three.
 */
#ifndef SIM_WIRE_H
#define SIM_WIRE_H

#include <stdint.h>

/* Grows with each change of the messages or of their meaning. */
#define SIM_WIRE_VERSION 1

#define SIM_PAYLOAD_MAX (16u << 20)

/* A run stops by itself (SIM_STOP_BACKLOG) once it has reported this much. */
#define SIM_BACKLOG_BYTES_MAX (4u << 20)

typedef struct SimHeader {
    uint32_t length;
    uint32_t type;
    uint64_t a;
    uint64_t b;
} SimHeader;

/* Controller to machine. */
enum {
    SIM_RUN = 1,            /* a: run until this time, b: mask of 1 << (event - 100) to stop at */
    SIM_HASH = 2,           /* a: SIM_HASH_RAM | SIM_HASH_DEVICES; answered by HASHED */
    SIM_FRAME = 3,          /* a: time, b: port, payload: an Ethernet frame for the guest */
    SIM_CONSOLE = 4,        /* a: time, b: port, payload: bytes that the guest reads */
    SIM_BLOCK_COMPLETE = 5, /* a: time, b: request, payload: u32 status, then the data read */
    SIM_FORK = 6,           /* payload: socket (abstract name) that the child calls; FORKED */
    SIM_QUERY = 7,          /* answered by STATUS */
    SIM_READ_MEMORY = 8,    /* a: guest-physical address, b: bytes; answered by MEMORY */
    SIM_SEED = 9,           /* a: new seed of the machine's entropy; answered by DONE */
    SIM_SAVE = 10,          /* payload: folder; RAM and state are written there; DONE */
    SIM_LOAD = 11,          /* payload: folder; the state is read from there; DONE */
    SIM_RESET = 12,         /* a: off until this time, b: SIM_RESET_* mask; DONE */
    SIM_DEVICE_STATE = 13,  /* answered by MEMORY: the stream that HASH digests */
    SIM_NMI = 14,           /* a non-maskable interrupt to all CPUs; DONE */
    SIM_FLIP_MEMORY = 20,   /* a: guest-physical address, b: bits of the 8 bytes there; DONE */
    SIM_FLIP_REGISTER = 21, /* a: CPU | number << 32 (RAX is 0, RCX 1, ...), b: bits; DONE */
    SIM_MACHINE_CHECK = 22, /* a: CPU | 1 << 32 if corrected, b: address of the memory; DONE */
    SIM_STORM = 23,         /* a: ISA line | count << 32, b: nanoseconds between pulses; DONE */
    SIM_CLOCKS = 30,        /* a: TSC ticks in 10^6 ns, b: lead of the calendar chip; DONE */
    SIM_SHARE = 40,         /* a: millionths of virtual time that instructions get; DONE */
    SIM_STALL = 41,         /* a: mask of 1 << CPU: all that get no turns from now on; DONE */
};

/* Machine to controller. */
enum {
    SIM_STOPPED = 100,      /* a: time, b: instructions, payload: u32 SIM_STOP_* */
    SIM_FRAME_OUT = 101,    /* a: time, b: port, payload: an Ethernet frame from the guest */
    SIM_CONSOLE_OUT = 102,  /* a: time, b: port, payload: bytes that the guest wrote */
    SIM_BELL = 103,         /* a: time, b: value | offset << 32 */
    SIM_BLOCK_REQUEST = 104, /* a: time, b: request, payload: SimBlockRequest, then data */
    SIM_POWER_OFF = 105,    /* a: time; the guest powered itself off */
    SIM_RESET_DONE = 106,   /* a: time, b: 1 if the guest asked for it */
    SIM_PANIC = 107,        /* a: time; the guest's kernel reported a panic */
    SIM_RANDOM = 108,       /* a: time, b: the 32 random bits that the doorbell gave */
    SIM_HASHED = 120,       /* a: RAM, b: devices, payload: u64 RAM bytes, u64 device bytes */
    SIM_FORKED = 121,       /* the child calls, and says HELLO or REFUSED on its own socket */
    SIM_STATUS = 122,       /* a: time, b: instructions, payload: SimStatus */
    SIM_MEMORY = 123,       /* payload: the bytes asked for */
    SIM_HELLO = 124,        /* a: process id, b: wire version, payload: QEMU's version text */
    SIM_DONE = 125,         /* a: type of the command that is done */
    SIM_REFUSED = 126,      /* a: type of the command, payload: why, as text */
};

/* Why a run stopped. */
enum {
    SIM_STOP_LIMIT = 0,     /* the time asked for was reached */
    SIM_STOP_EVENT = 1,     /* an event of the stop mask happened */
    SIM_STOP_BACKLOG = 2,   /* SIM_BACKLOG_BYTES_MAX of events were reported */
    SIM_STOP_OFF = 3,       /* the machine is powered off: its time stands still */
};

/* What the doorbell answers so that programs know that it is there ("ATHR"). */
#define SIM_LISTENS 0x41544852

/* The share of a machine whose CPUs execute all the time that they have work. */
#define SIM_SHARE_WHOLE 1000000

enum { SIM_HASH_RAM = 1, SIM_HASH_DEVICES = 2 };
enum { SIM_RESET_CLEAR_RAM = 1 };

/* Operations of a block request; statuses are virtio's (0 done, 1 I/O error, 2 unsupported). */
enum { SIM_BLOCK_READ = 0, SIM_BLOCK_WRITE = 1, SIM_BLOCK_FLUSH = 2, SIM_BLOCK_DISCARD = 3 };

typedef struct SimBlockRequest {
    uint32_t disk;
    uint32_t operation;
    uint64_t sector;        /* of 512 bytes */
    uint32_t bytes;
    uint32_t reserved;
} SimBlockRequest;

typedef struct SimStatus {
    uint64_t exits;         /* returns from translated code */
    uint64_t warps;         /* jumps over idle time */
    uint64_t entropy_draws;
    uint64_t events_queued;
} SimStatus;

#endif
