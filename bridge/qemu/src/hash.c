/*
 * Digest of a machine: all of its RAM, and the state of all devices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Not cryptographic: it tells two machines of one user apart. Four independent multiply lanes
 * (the folded 64 x 64 -> 128 bit product of wyhash) keep it near the memory's own speed.
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "qemu/rcu_queue.h"
#include "exec/cpu-common.h"
#include "exec/ramblock.h"
#include "exec/ramlist.h"
#include "sim.h"

#define LANES 4
#define BLOCK_BYTES (LANES * 2 * sizeof(uint64_t))

/* wyhash's default secret. */
static const uint64_t secret[LANES] = {
    0xa0761d6478bd642full, 0xe7037ed1a0b428dbull, 0x8ebc6af09c88c6e3ull, 0x589965cc75374cc3ull,
};

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline void absorb(uint64_t lanes[LANES], const uint8_t *block)
{
    uint64_t words[2 * LANES];

    memcpy(words, block, sizeof(words));
    for (int i = 0; i < LANES; i++) {
        lanes[i] = fold(words[2 * i] ^ secret[i], words[2 * i + 1] ^ lanes[i]);
    }
}

typedef struct Digest {
    uint64_t lanes[LANES];
    uint64_t length;
} Digest;

static void begin(Digest *digest, uint64_t seed)
{
    *digest = (Digest) { { seed, seed ^ secret[1], seed ^ secret[2], seed ^ secret[3] } };
}

/* Whole blocks, but for the last call. */
static void add(Digest *digest, const uint8_t *data, size_t length)
{
    size_t offset = 0;

    for (; offset + BLOCK_BYTES <= length; offset += BLOCK_BYTES) {
        absorb(digest->lanes, data + offset);
    }
    if (offset < length) {
        uint8_t rest[BLOCK_BYTES] = { 0 };

        memcpy(rest, data + offset, length - offset);
        absorb(digest->lanes, rest);
    }
    digest->length += length;
}

static uint64_t end(const Digest *digest)
{
    const uint64_t *lanes = digest->lanes;
    uint64_t length = digest->length;

    return fold(fold(lanes[0] ^ length, lanes[1] ^ secret[0]),
                fold(lanes[2] ^ secret[1], lanes[3] ^ secret[2]) ^ length);
}

uint64_t sim_hash_bytes(const uint8_t *data, size_t length, uint64_t seed)
{
    Digest digest;

    begin(&digest, seed);
    add(&digest, data, length);
    return end(&digest);
}

/* As `add` of so many zeros, of which BLOCK_BYTES are read. */
static void add_zeros(Digest *digest, size_t length)
{
    static const uint8_t zeros[BLOCK_BYTES];

    for (size_t offset = 0; offset < length; offset += BLOCK_BYTES) {
        absorb(digest->lanes, zeros);
    }
    digest->length += length;
}

static uint64_t hash_block(int pagemap, const RAMBlock *block, uint64_t seed)
{
    Digest digest;

    begin(&digest, seed);
    for (size_t offset = 0; offset < block->used_length; offset += SIM_CHUNK_BYTES) {
        size_t length = MIN(SIM_CHUNK_BYTES, block->used_length - offset);

        if (sim_is_untouched(pagemap, block, offset, length)) {
            add_zeros(&digest, length);
        } else {
            add(&digest, block->host + offset, length);
        }
    }
    return end(&digest);
}

uint64_t sim_hash_ram(uint64_t *bytes)
{
    RAMBlock *block;
    uint64_t digest = SIM_HASH_RAM;
    int pagemap = sim_touched_open();

    RCU_READ_LOCK_GUARD();
    RAMBLOCK_FOREACH(block) {
        digest = sim_hash_bytes((uint8_t *)block->idstr, strlen(block->idstr), digest);
        digest = hash_block(pagemap, block, digest);
        *bytes += block->used_length;
    }
    if (pagemap >= 0) {
        close(pagemap);
    }
    return digest;
}
