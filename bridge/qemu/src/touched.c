/*
 * Which parts of the machine's memory nobody has touched yet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * They are zeros, and to read them would make them real: pages of the host, or of the file that a
 * restored machine's memory comes from. Without /proc all of it counts as touched.
 */
#include "qemu/osdep.h"
#include "exec/ramblock.h"
#include "sim.h"

#define PAGE_BYTES 4096
#define PAGES (SIM_CHUNK_BYTES / PAGE_BYTES)
/* Bits of an entry of /proc/self/pagemap: the page is in memory, or was put away. */
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

int sim_touched_open(void)
{
    return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

static bool is_mapped(int pagemap, const uint8_t *memory, size_t length)
{
    uint64_t entries[PAGES];
    size_t bytes = length / PAGE_BYTES * sizeof(entries[0]);
    off_t at = (uintptr_t)memory / PAGE_BYTES * sizeof(entries[0]);

    if (pagemap < 0 || length % PAGE_BYTES || pread(pagemap, entries, bytes, at) != bytes) {
        return true;
    }
    for (size_t i = 0; i < length / PAGE_BYTES; i++) {
        if (entries[i] & (PRESENT | SWAPPED)) {
            return true;
        }
    }
    return false;
}

static bool is_hole(const RAMBlock *block, size_t offset, size_t length)
{
    off_t start = block->fd_offset + offset;
    off_t data = lseek(block->fd, start, SEEK_DATA);

    return data < 0 ? errno == ENXIO : data >= start + length;
}

bool sim_is_untouched(int pagemap, const RAMBlock *block, size_t offset, size_t length)
{
    g_assert(length <= SIM_CHUNK_BYTES);
    return !is_mapped(pagemap, block->host + offset, length) &&
           (block->fd < 0 || is_hole(block, offset, length));
}
