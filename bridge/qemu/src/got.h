/*
 * Replaces a function of the C library for QEMU's own code.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SIM_GOT_H
#define SIM_GOT_H

/* False if the program does not import `name`. */
bool sim_replace_import(const char *name, void *target);

#endif
