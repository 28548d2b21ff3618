/*
 * The block device's parts, for its PCI form.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H

#include "hw/virtio/virtio.h"
#include "sim.h"

#define TYPE_SIM_BLOCK "virtio-blk-sim"
OBJECT_DECLARE_SIMPLE_TYPE(SimBlock, SIM_BLOCK)

typedef struct SimBlockPending {
    VirtQueueElement *element;
    uint64_t id;            /* the disk's index << 40 | a count */
    uint32_t operation;
    uint32_t bytes;
    bool decided;           /* its end is in the event queue */
    QTAILQ_ENTRY(SimBlockPending) next;
} SimBlockPending;

struct SimBlock {
    VirtIODevice parent;
    VirtQueue *queue;
    uint32_t index;
    uint64_t sectors;
    bool read_only;
    uint64_t next_id;
    QTAILQ_HEAD(, SimBlockPending) pending;
};

void sim_block_pci_register(void);

#endif
