/*
 * The machine's own sources of time, where they are wrong: the processors' counter (TSC), from which
 * a kernel tells how time passes, and the calendar chip, which it reads when it boots.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Virtual time itself is never moved: timers, devices and deliveries keep to it. The counter never
 * goes back; the chip is set.
 */
#include "qemu/osdep.h"
#include "hw/rtc/mc146818rtc.h"
#include "migration/vmstate.h"
#include "system/accel-ops.h"
#include "system/cpu-timers.h"
#include "accel/tcg/tcg-accel-ops.h"
#include "sim.h"

#define WHOLE 1000000

/* The counter showed `ticks` at `at_ns`, and gains `rate` ticks in WHOLE nanoseconds. */
static struct SimClocks {
    int64_t at_ns;
    int64_t ticks;
    int32_t rate;
    int64_t chip_ns;        /* how far the chip is ahead of virtual time */
} clocks = { .rate = WHOLE };

static int64_t ticks_at(int64_t now_ns)
{
    return clocks.ticks + (int64_t)((__int128)(now_ns - clocks.at_ns) * clocks.rate / WHOLE);
}

static int64_t elapsed_ticks(void)
{
    return ticks_at(sim_now());
}

static MC146818RtcState *find_chip(void)
{
    Object *chip = object_resolve_path_type("", TYPE_MC146818_RTC, NULL);

    return chip ? MC146818_RTC(chip) : NULL;
}

/* Its time is base_rtc seconds and what has passed since last_update, and offset. */
static void move_chip(MC146818RtcState *chip, int64_t delta_ns)
{
    int64_t offset_ns = chip->offset + delta_ns;
    int64_t seconds = offset_ns / NANOSECONDS_PER_SECOND;

    if (offset_ns % NANOSECONDS_PER_SECOND < 0) {
        seconds--;
    }
    chip->base_rtc += seconds;
    chip->offset = offset_ns - seconds * NANOSECONDS_PER_SECOND;
}

bool sim_clocks_set(int64_t rate, int64_t chip_ns)
{
    MC146818RtcState *chip = find_chip();
    int64_t now = sim_now();

    if (rate < 0 || rate > 2 * WHOLE || (!chip && chip_ns != 0)) {
        return false;
    }
    clocks.ticks = ticks_at(now);
    clocks.at_ns = now;
    clocks.rate = rate;
    if (chip) {
        move_chip(chip, chip_ns - clocks.chip_ns);
        clocks.chip_ns = chip_ns;
    }
    return true;
}

static bool are_wrong(void *opaque)
{
    return clocks.at_ns != 0 || clocks.rate != WHOLE || clocks.chip_ns != 0;
}

static const VMStateDescription vmstate_clocks = {
    .name = "sim-clocks",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = are_wrong,
    .fields = (const VMStateField[]) {
        VMSTATE_INT64(at_ns, struct SimClocks),
        VMSTATE_INT64(ticks, struct SimClocks),
        VMSTATE_INT32(rate, struct SimClocks),
        VMSTATE_INT64(chip_ns, struct SimClocks),
        VMSTATE_END_OF_LIST()
    },
};

void sim_clocks_init(void)
{
    AccelOpsClass *ops = ACCEL_OPS_CLASS(object_class_by_name("tcg-accel-ops"));

    ops->get_elapsed_ticks = elapsed_ticks;
    vmstate_register_any(NULL, &vmstate_clocks, &clocks);
}
