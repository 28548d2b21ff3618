/*
 * The adapter built into QEMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "hw/sim/sim-hooks.h"
#include "sim.h"

void sim_platform_activate(void)
{
    sim_getrandom_override = sim_getrandom;
}

static void register_types(void)
{
    sim_control_register();
    sim_block_register();
}

type_init(register_types)
