/*
 * Two ports for programs of the guest: writes are reported with their exact time, reads say that
 * somebody listens, or give randomness. No driver, no interrupt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offset 0: a write rings the bell, a read gives SIM_LISTENS. Offset 4: a read gives 32 random bits
 * and is reported with them. What the values mean is in docs/machines.md.
 */
#include "qemu/osdep.h"
#include "exec/address-spaces.h"
#include "exec/memory.h"
#include "sim.h"

#define DOORBELL_BYTES 8
#define RANDOM_OFFSET 4

static MemoryRegion region;

static uint64_t doorbell_read(void *opaque, hwaddr offset, unsigned size)
{
    uint32_t value = SIM_LISTENS;

    if (offset == RANDOM_OFFSET) {
        value = sim_entropy_next();
        sim_emit(SIM_RANDOM, sim_now(), value, NULL, 0);
    }
    return value;
}

static void doorbell_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    sim_emit(SIM_BELL, sim_now(), (uint32_t)value | (offset << 32), NULL, 0);
}

static const MemoryRegionOps doorbell_ops = {
    .read = doorbell_read,
    .write = doorbell_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl = { .min_access_size = 1, .max_access_size = 4 },
    .valid = { .min_access_size = 1, .max_access_size = 4 },
};

void sim_doorbell_create(Object *owner, uint32_t io_base)
{
    memory_region_init_io(&region, owner, &doorbell_ops, NULL, "sim-doorbell", DOORBELL_BYTES);
    memory_region_add_subregion(get_system_io(), io_base, &region);
}
