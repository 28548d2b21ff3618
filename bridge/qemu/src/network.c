/*
 * Network clients "sim0", "sim1", ...: what the guest sends goes to the controller, what the
 * controller delivers arrives at its virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "net/net.h"
#include "sim.h"

typedef struct SimNic {
    NetClientState client;
    uint32_t port;
} SimNic;

static NetClientState *nics[SIM_NICS_MAX];

static ssize_t frame_from_guest(NetClientState *client, const uint8_t *data, size_t size)
{
    sim_emit(SIM_FRAME_OUT, sim_now(), DO_UPCAST(SimNic, client, client)->port, data, size);
    return size;
}

/* The type is only a tag; a driver of our own would need a change of QEMU's schema. */
static NetClientInfo nic_info = {
    .type = NET_CLIENT_DRIVER_SOCKET,
    .size = sizeof(SimNic),
    .receive = frame_from_guest,
};

void sim_network_create(uint32_t count)
{
    for (uint32_t port = 0; port < count; port++) {
        g_autofree char *name = g_strdup_printf("sim%u", port);

        nics[port] = qemu_new_net_client(&nic_info, NULL, "sim", name);
        DO_UPCAST(SimNic, client, nics[port])->port = port;
    }
}

/* A guest without buffers queues the frame in its own device, as a real link's partner would. */
bool sim_network_deliver(uint64_t port, const uint8_t *data, uint32_t length)
{
    if (port >= SIM_NICS_MAX || !nics[port]) {
        return false;
    }
    qemu_send_packet(nics[port], data, length);
    return true;
}
