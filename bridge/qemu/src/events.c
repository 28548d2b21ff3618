/*
 * Effects that wait for their virtual time, ordered by (time, order of arrival).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An event is data, not a callback, so that the queue is part of a saved machine.
 */
#include "qemu/osdep.h"
#include "migration/vmstate.h"
#include "sim.h"

/* A controller that queues more than this has a fault: it would fill the host's memory. */
#define EVENTS_MAX 65536
#define EVENT_BYTES_MAX (256u << 20)

typedef struct SimEventQueue {
    QTAILQ_HEAD(, SimEvent) list;
    uint32_t count;
    uint64_t bytes;
} SimEventQueue;

static SimEventQueue queue = { .list = QTAILQ_HEAD_INITIALIZER(queue.list) };

static void insert(SimEvent *event)
{
    SimEvent *other;

    queue.count++;
    queue.bytes += event->length;
    QTAILQ_FOREACH_REVERSE(other, &queue.list, next) {
        if (other->when_ns <= event->when_ns) {
            QTAILQ_INSERT_AFTER(&queue.list, other, event, next);
            return;
        }
    }
    QTAILQ_INSERT_HEAD(&queue.list, event, next);
}

static void take(SimEvent *event)
{
    QTAILQ_REMOVE(&queue.list, event, next);
    queue.count--;
    queue.bytes -= event->length;
}

static void release(SimEvent *event)
{
    g_free(event->data);
    g_free(event);
}

bool sim_event_add(int64_t when_ns, SimEventKind kind, uint64_t target,
                   const void *data, uint32_t length)
{
    SimEvent *event;

    if (queue.count >= EVENTS_MAX || queue.bytes + length > EVENT_BYTES_MAX) {
        return false;
    }
    event = g_new0(SimEvent, 1);
    event->when_ns = when_ns;
    event->kind = kind;
    event->target = target;
    event->length = length;
    event->data = g_memdup2(data, length);
    insert(event);
    return true;
}

bool sim_event_run_due(int64_t now_ns)
{
    SimEvent *event = QTAILQ_FIRST(&queue.list);

    if (!event || event->when_ns > now_ns) {
        return false;
    }
    take(event);
    switch (event->kind) {
    case SIM_EVENT_FRAME:
        sim_network_deliver(event->target, event->data, event->length);
        break;
    case SIM_EVENT_CONSOLE:
        sim_console_deliver(event->target, event->data, event->length);
        break;
    case SIM_EVENT_BLOCK:
        /* A reset may have dropped the request in the meantime. */
        sim_block_deliver(event->target, event->data, event->length);
        break;
    case SIM_EVENT_PULSE:
        sim_pulse_deliver(event->when_ns, event->target, event->data);
        break;
    default:
        g_assert_not_reached();
    }
    release(event);
    return true;
}

int64_t sim_event_next_ns(void)
{
    return QTAILQ_EMPTY(&queue.list) ? -1 : QTAILQ_FIRST(&queue.list)->when_ns;
}

void sim_event_clear(void)
{
    SimEvent *event;

    while ((event = QTAILQ_FIRST(&queue.list))) {
        take(event);
        release(event);
    }
}

uint32_t sim_event_count(void)
{
    return queue.count;
}

static const VMStateDescription vmstate_event = {
    .name = "sim-event",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_INT64(when_ns, SimEvent),
        VMSTATE_UINT32(kind, SimEvent),
        VMSTATE_UINT64(target, SimEvent),
        VMSTATE_UINT32(length, SimEvent),
        VMSTATE_VBUFFER_ALLOC_UINT32(data, SimEvent, 1, NULL, length),
        VMSTATE_END_OF_LIST()
    },
};

static int forget_events(void *opaque)
{
    sim_event_clear();
    return 0;
}

static int count_events(void *opaque, int version)
{
    SimEvent *event;

    queue.count = 0;
    queue.bytes = 0;
    QTAILQ_FOREACH(event, &queue.list, next) {
        queue.count++;
        queue.bytes += event->length;
    }
    return 0;
}

static const VMStateDescription vmstate_events = {
    .name = "sim-events",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_load = forget_events,
    .post_load = count_events,
    .fields = (const VMStateField[]) {
        VMSTATE_QTAILQ_V(list, SimEventQueue, 1, vmstate_event, SimEvent, next),
        VMSTATE_END_OF_LIST()
    },
};

void sim_events_init(void)
{
    vmstate_register_any(NULL, &vmstate_events, &queue);
}
