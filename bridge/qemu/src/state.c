/*
 * The machine as bytes: the state of its devices, and a durable checkpoint in a folder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A checkpoint is two files. `ram` holds the machine's main memory byte for byte, with holes for
 * pages of zeros, so that a new process maps it privately (memory-backend-file, share=off) and
 * reads only the pages that it touches. `state` holds the other RAM blocks and the device state.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/rcu.h"
#include "qemu/rcu_queue.h"
#include "qemu/seqlock.h"
#include "exec/cpu-common.h"
#include "exec/ramblock.h"
#include "exec/ramlist.h"
#include "hw/boards.h"
#include "io/channel-buffer.h"
#include "migration/global_state.h"
#include "migration/misc.h"
#include "migration/qemu-file.h"
#include "migration/savevm.h"
#include "system/cpu-timers.h"
#include "system/cpu-timers-internal.h"
#include "sim.h"

#define STATE_MAGIC 0x314d5453  /* "STM1" */
#define STATE_VERSION 1
#define STATE_BYTES_MAX (1u << 30)
#define PAGE_BYTES 4096

typedef struct StateHeader {
    uint32_t magic;
    uint32_t version;
    uint32_t block_count;
    uint32_t reserved;
    uint64_t main_bytes;
    uint64_t device_bytes;
} StateHeader;

typedef struct BlockHeader {
    char name[256];
    uint64_t bytes;
} BlockHeader;

/* Times of the host are no part of a simulated machine. */
GByteArray *sim_device_state(void)
{
    GByteArray *state = g_byte_array_new();
    QIOChannelBuffer *buffer = qio_channel_buffer_new(1 << 20);
    QEMUFile *file = qemu_file_new_output(QIO_CHANNEL(buffer));
    int64_t ticks_offset = timers_state.cpu_ticks_offset;
    int64_t clock_offset = timers_state.cpu_clock_offset;

    /* A machine that is saved while it is parked counts as running; without this it counts as "". */
    global_state_store_running();
    timers_state.cpu_ticks_offset = 0;
    timers_state.cpu_clock_offset = 0;
    qemu_save_device_state(file);
    qemu_fflush(file);
    timers_state.cpu_ticks_offset = ticks_offset;
    timers_state.cpu_clock_offset = clock_offset;
    g_byte_array_append(state, buffer->data, buffer->usage);
    qemu_fclose(file);
    object_unref(OBJECT(buffer));
    return state;
}

static bool is_main_block(const RAMBlock *block)
{
    return block->host == memory_region_get_ram_ptr(current_machine->ram);
}

/* ---- writing ---- */

static bool write_all(int fd, const void *data, size_t length, off_t offset, Error **errp)
{
    const uint8_t *bytes = data;

    while (length > 0) {
        ssize_t written = pwrite(fd, bytes, length, offset);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            error_setg_errno(errp, errno, "a checkpoint cannot be written");
            return false;
        }
        bytes += written;
        offset += written;
        length -= written;
    }
    return true;
}

/* Runs of pages that are not zero are written in one go each; the rest stays a hole. */
static bool write_chunk(int fd, const uint8_t *memory, off_t at, size_t bytes, Error **errp)
{
    size_t start = 0;

    for (size_t page = 0; page <= bytes; page += PAGE_BYTES) {
        if (page < bytes && !buffer_is_zero(memory + page, PAGE_BYTES)) {
            continue;
        }
        if (page > start && !write_all(fd, memory + start, page - start, at + start, errp)) {
            return false;
        }
        start = page + PAGE_BYTES;
    }
    return true;
}

static bool write_main_memory(int fd, Error **errp)
{
    const RAMBlock *block = current_machine->ram->ram_block;
    int pagemap = sim_touched_open();
    bool good = true;

    if (ftruncate(fd, block->used_length) < 0) {
        error_setg_errno(errp, errno, "a checkpoint cannot be written");
        good = false;
    }
    for (size_t at = 0; good && at < block->used_length; at += SIM_CHUNK_BYTES) {
        size_t bytes = MIN(SIM_CHUNK_BYTES, block->used_length - at);

        if (!sim_is_untouched(pagemap, block, at, bytes)) {
            good = write_chunk(fd, block->host + at, at, bytes, errp);
        }
    }
    if (pagemap >= 0) {
        close(pagemap);
    }
    return good;
}

static GByteArray *state_bytes(uint64_t main_bytes)
{
    GByteArray *bytes = g_byte_array_new();
    g_autoptr(GByteArray) devices = sim_device_state();
    StateHeader header = {
        .magic = STATE_MAGIC, .version = STATE_VERSION,
        .main_bytes = main_bytes, .device_bytes = devices->len,
    };
    RAMBlock *block;

    g_byte_array_append(bytes, (uint8_t *)&header, sizeof(header));
    RAMBLOCK_FOREACH(block) {
        BlockHeader entry = { .bytes = block->used_length };

        if (is_main_block(block)) {
            continue;
        }
        pstrcpy(entry.name, sizeof(entry.name), block->idstr);
        g_byte_array_append(bytes, (uint8_t *)&entry, sizeof(entry));
        g_byte_array_append(bytes, block->host, block->used_length);
        ((StateHeader *)bytes->data)->block_count++;
    }
    g_byte_array_append(bytes, devices->data, devices->len);
    return bytes;
}

static int create_in(const char *folder, const char *name, Error **errp)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    int fd = qemu_create(path, O_RDWR | O_EXCL, 0600, errp);

    return fd;
}

bool sim_state_save(const char *folder, Error **errp)
{
    size_t main_bytes = memory_region_size(current_machine->ram);
    int ram = create_in(folder, "ram", errp);
    int state = ram < 0 ? -1 : create_in(folder, "state", errp);
    bool good = state >= 0 && write_main_memory(ram, errp);

    if (good) {
        g_autoptr(GByteArray) bytes = NULL;

        RCU_READ_LOCK_GUARD();
        bytes = state_bytes(main_bytes);
        good = write_all(state, bytes->data, bytes->len, 0, errp);
    }
    if (ram >= 0) {
        close(ram);
    }
    if (state >= 0) {
        close(state);
    }
    return good;
}

/* ---- reading ---- */

static bool load_blocks(const uint8_t **at, const uint8_t *end, uint32_t count, Error **errp)
{
    for (uint32_t i = 0; i < count; i++) {
        BlockHeader entry;
        RAMBlock *block;

        if (end - *at < sizeof(entry)) {
            error_setg(errp, "the checkpoint is cut short");
            return false;
        }
        memcpy(&entry, *at, sizeof(entry));
        entry.name[sizeof(entry.name) - 1] = 0;
        *at += sizeof(entry);
        block = qemu_ram_block_by_name(entry.name);
        if (!block || block->used_length != entry.bytes || end - *at < entry.bytes) {
            error_setg(errp, "the checkpoint is of another machine: memory block %s differs",
                       entry.name);
            return false;
        }
        memcpy(block->host, *at, entry.bytes);
        *at += entry.bytes;
    }
    return true;
}

static bool load_devices(const uint8_t *data, size_t length, Error **errp)
{
    QIOChannelBuffer *buffer = qio_channel_buffer_new(length);
    QEMUFile *file;
    int result;

    memcpy(buffer->data, data, length);
    buffer->usage = length;
    file = qemu_file_new_input(QIO_CHANNEL(buffer));
    /* The stream begins with a magic number and a version, which the loader leaves to its caller. */
    qemu_get_be32(file);
    qemu_get_be32(file);
    result = qemu_load_device_state(file);
    qemu_fclose(file);
    object_unref(OBJECT(buffer));
    if (result < 0) {
        error_setg(errp, "the device state of the checkpoint does not load (%d)", result);
    }
    return result >= 0;
}

bool sim_state_load(const char *folder, Error **errp)
{
    g_autofree char *path = g_build_filename(folder, "state", NULL);
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
    const uint8_t *at, *end;
    StateHeader header;

    if (!file || g_mapped_file_get_length(file) < sizeof(header)) {
        error_setg(errp, "the checkpoint's state is missing or cut short");
        return false;
    }
    at = (const uint8_t *)g_mapped_file_get_contents(file);
    end = at + g_mapped_file_get_length(file);
    memcpy(&header, at, sizeof(header));
    at += sizeof(header);
    if (header.magic != STATE_MAGIC || header.version != STATE_VERSION) {
        error_setg(errp, "not a checkpoint that this build can read");
        return false;
    }
    if (header.main_bytes != memory_region_size(current_machine->ram)) {
        error_setg(errp, "the checkpoint is of a machine with another size of memory");
        return false;
    }
    if (!load_blocks(&at, end, header.block_count, errp)) {
        return false;
    }
    if (end - at != header.device_bytes) {
        error_setg(errp, "the checkpoint is cut short");
        return false;
    }
    return load_devices(at, header.device_bytes, errp);
}
