/*
 * The share of virtual time in which a machine's vCPUs execute.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an instruction takes is one scale of QEMU's for all clocks and timers, so a slow machine is
 * one that stands still in between: after some instructions no vCPU executes for as long as the
 * share says, while timers, devices and deliveries go on and interrupts wait. Turns are counted in
 * instructions of all vCPUs, which execute one after another in any case, and what division leaves
 * of a nanosecond is carried on: the mean is exact, and a run that is split stands still after the
 * same instructions as one that is not. Time without work is no part of a turn.
 */
#include "qemu/osdep.h"
#include "system/cpu-timers.h"
#include "sim.h"
#include "share.h"

/*
 * What executing and standing still take together, if an instruction takes no longer. Within any
 * millisecond a guest so gets its share to less than 1 % of the millisecond.
 */
#define TURN_NS INT64_C(10000)

static int64_t instructions_a_turn(const SimShare *share)
{
    int64_t executing_ns = TURN_NS * share->millionths / SIM_SHARE_WHOLE;

    return MAX(1, executing_ns / icount_to_ns(1));
}

void sim_share_begin(SimShare *share, uint32_t millionths)
{
    *share = (SimShare) { .millionths = millionths };
    if (!sim_share_is_whole(share)) {
        share->left = instructions_a_turn(share);
    }
}

void sim_share_ran(SimShare *share, int64_t instructions)
{
    int64_t owed;

    g_assert(instructions <= share->left);
    share->left -= instructions;
    if (share->left > 0) {
        return;
    }
    share->left = instructions_a_turn(share);
    owed = icount_to_ns(share->left) * (SIM_SHARE_WHOLE - share->millionths) + share->rest;
    share->still_until_ns = sim_now() + owed / share->millionths;
    share->rest = owed % share->millionths;
}
