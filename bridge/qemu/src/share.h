/*
 * The share of virtual time in which a machine's vCPUs execute.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SIM_SHARE_H
#define SIM_SHARE_H

#include "sim-wire.h"

/* Plain data: part of a saved machine wherever less than everything is given. */
typedef struct SimShare {
    uint32_t millionths;    /* of virtual time; SIM_SHARE_WHOLE is all of it */
    uint32_t rest;          /* of a nanosecond that is still owed, in parts of `millionths` */
    int64_t left;           /* instructions until the vCPUs stand still */
    int64_t still_until_ns;
} SimShare;

static inline bool sim_share_is_whole(const SimShare *share)
{
    return share->millionths == SIM_SHARE_WHOLE;
}

/* From now on: whoever stands still goes on, and a new turn begins. */
void sim_share_begin(SimShare *share, uint32_t millionths);
/* The vCPUs have executed so many instructions, of those that were left. */
void sim_share_ran(SimShare *share, int64_t instructions);

#endif
