/*
 * What QEMU's headers ask of the host, for the plugin: stands in for the file that QEMU's configure
 * writes, so that building the plugin needs no configuration of the whole source tree. A host is
 * always Linux on x86-64 with glibc.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#define CONFIG_LINUX
#define CONFIG_POSIX
#define CONFIG_ATOMIC64
#define CONFIG_INT128
#define CONFIG_INT128_TYPE
#define CONFIG_EPOLL
#define CONFIG_IOVEC
#define CONFIG_SYSMACROS
#define CONFIG_TCG 1
#define CONFIG_PLUGIN 1
#define CONFIG_FDT
#define HAVE_HOST_BLOCK_DEVICE
#define HAVE_IPPROTO_MPTCP
#define HAVE_STRCHRNUL
#define HAVE_SYSTEM_FUNCTION
