/*
 * The target that the plugin is compiled for: x86-64, whole machines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#define TARGET_NAME "x86_64"
#define TARGET_I386 1
#define TARGET_X86_64 1
#define TARGET_LONG_BITS 64
#define TARGET_BIG_ENDIAN 0
#define CONFIG_SOFTMMU 1
#define CONFIG_SYSTEM_ONLY 1
