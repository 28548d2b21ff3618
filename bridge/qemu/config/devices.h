/*
 * Devices that QEMU is built with; no header that the plugin uses asks for one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once
