/*
 * What QEMU's own files ask of the adapter that is built into it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Without the device "sim-control" sim_active() is false and each hook does as upstream does.
 */
#ifndef HW_SIM_HOOKS_H
#define HW_SIM_HOOKS_H

bool sim_active(void);
G_NORETURN void sim_vcpu_loop(void);
/* Brings the instruction count up to date and stops all vCPUs at the next boundary. */
void sim_kick(void);
/* Stands in for the host's clock where the TLB's size is decided. */
int64_t sim_tlb_clock(void);
/* All randomness of the machine, if set (util/guest-random.c, which tools link without the rest). */
extern int (*sim_getrandom_override)(void *buf, size_t len, Error **errp);

#endif
