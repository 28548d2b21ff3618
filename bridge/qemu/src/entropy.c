/*
 * All randomness of the machine: RDRAND, RDSEED, virtio-rng, boot seeds, QEMU's own needs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU's `-seed` gives each thread a generator of its own that no saved state holds; this one is
 * the machine's, belongs to its state and can be seeded anew after a fork.
 * The generator is xoshiro256** (Blackman, Vigna), its state filled by splitmix64.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "migration/vmstate.h"
#include "sim.h"

static struct EntropyState {
    uint64_t words[4];
    uint64_t draws;
} entropy;

void sim_entropy_seed(uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t mixed = (seed += 0x9e3779b97f4a7c15ull);

        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
        entropy.words[i] = mixed ^ (mixed >> 31);
    }
}

uint64_t sim_entropy_next(void)
{
    uint64_t *s = entropy.words;
    uint64_t result = rol64(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rol64(s[3], 45);
    entropy.draws++;
    return result;
}

uint64_t sim_entropy_draws(void)
{
    return entropy.draws;
}

int sim_getrandom(void *data, size_t length, Error **errp)
{
    uint8_t *bytes = data;

    while (length > 0) {
        uint64_t value = sim_entropy_next();
        size_t part = MIN(length, sizeof(value));

        memcpy(bytes, &value, part);
        bytes += part;
        length -= part;
    }
    return 0;
}

static const VMStateDescription vmstate_entropy = {
    .name = "sim-entropy",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_ARRAY(words, struct EntropyState, 4),
        VMSTATE_UINT64(draws, struct EntropyState),
        VMSTATE_END_OF_LIST()
    },
};

void sim_entropy_init(uint64_t seed)
{
    sim_entropy_seed(seed);
    vmstate_register_any(NULL, &vmstate_entropy, &entropy);
}
