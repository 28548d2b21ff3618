/*
 * Character devices of the backend "null" that the controller reads and writes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Plugins are loaded after character devices are created, so no class of our own can be there in
 * time: the class "null" gets another way to write. Its devices are numbered by their id: the one
 * named "sim-console-2" is port 2; others stay what they are.
 */
#include "qemu/osdep.h"
#include "chardev/char.h"
#include "sim.h"

#define ID_PREFIX "sim-console-"

static int port_of(const Chardev *device)
{
    unsigned port;

    if (!device->label || !g_str_has_prefix(device->label, ID_PREFIX)) {
        return -1;
    }
    port = g_ascii_strtoull(device->label + strlen(ID_PREFIX), NULL, 10);
    return port < SIM_CONSOLES_MAX ? (int)port : -1;
}

static int write_from_guest(Chardev *device, const uint8_t *data, int length)
{
    int port = port_of(device);

    if (port >= 0 && sim_active()) {
        sim_emit(SIM_CONSOLE_OUT, sim_now(), port, data, length);
    }
    return length;
}

bool sim_console_deliver(uint64_t port, const uint8_t *data, uint32_t length)
{
    g_autofree char *id = g_strdup_printf(ID_PREFIX "%" PRIu64, port);
    Chardev *device = qemu_chr_find(id);
    uint32_t done = 0;

    /* Serial ports take few bytes at a time and lose what they cannot take, as wires do. */
    while (device && done < length) {
        int space = qemu_chr_be_can_write(device);
        int part = MIN(space, (int)(length - done));

        if (part <= 0) {
            return false;
        }
        qemu_chr_be_write(device, (uint8_t *)data + done, part);
        done += part;
    }
    return device != NULL;
}

void sim_console_register(void)
{
    CHARDEV_CLASS(object_class_by_name("chardev-null"))->chr_write = write_from_guest;
}
