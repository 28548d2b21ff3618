/*
 * Faults inside the machine: bits that flip, machine checks, interrupts without a cause.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each takes effect where the guest is parked, between two instructions. Only the pulses of a storm
 * after the first one wait for their time, as events like any other.
 */
#include "qemu/osdep.h"
#include "exec/address-spaces.h"
#include "exec/cpu-common.h"
#include "exec/cputlb.h"
#include "exec/memory.h"
#include "hw/irq.h"
#include "hw/isa/isa.h"
#include "target/i386/cpu.h"
#include "sim.h"

#define REGISTERS 16

/*
 * What a processor of the model's family (AMD, family 15) says when its data cache reads memory
 * whose check code does not fit: bank 0, a bus error, generic cache level, data read, memory
 * ("BIOS and Kernel Developer's Guide for AMD NPT Family 0Fh", machine check architecture).
 */
#define CHECK_BANK 0
#define CHECK_READ_MEMORY 0x0833
#define CHECK_ECC_CORRECTED (1ull << 46)
#define CHECK_ECC_UNCORRECTED (1ull << 45)

/* What a pulse leaves to be done: part of a saved machine, as the data of its event. */
typedef struct Pulses {
    uint64_t left;
    uint64_t gap_ns;
} Pulses;

static bool is_memory(hwaddr address, uint64_t bytes)
{
    MemoryRegionSection section = memory_region_find(get_system_memory(), address, bytes);
    bool is_ram = section.mr && memory_region_is_ram(section.mr) && !section.readonly &&
                  int128_get64(section.size) == bytes;

    if (section.mr) {
        memory_region_unref(section.mr);
    }
    return is_ram;
}

const char *sim_flip_memory(uint64_t address, uint64_t mask)
{
    uint64_t word;
    CPUState *cpu;

    if (!is_memory(address, sizeof(word))) {
        return "there is no memory at this address";
    }
    /* This way of writing throws away what was translated of the old code. */
    cpu_physical_memory_read(address, &word, sizeof(word));
    word ^= mask;
    cpu_physical_memory_write(address, &word, sizeof(word));
    /*
     * The word may be of a page table. A machine that is restored later has no TLB: this one must
     * not remember either what was there before.
     */
    CPU_FOREACH(cpu) {
        tlb_flush(cpu);
    }
    return NULL;
}

const char *sim_flip_register(uint32_t cpu_index, uint32_t number, uint64_t mask)
{
    CPUState *cpu = qemu_get_cpu(cpu_index);

    if (!cpu || number >= REGISTERS) {
        return "there is no such register";
    }
    X86_CPU(cpu)->env.regs[number] ^= mask;
    return NULL;
}

/* The CPU's own thread is this one, so it is done when this returns. */
const char *sim_machine_check(uint32_t cpu_index, bool corrected, uint64_t address)
{
    CPUState *cpu = qemu_get_cpu(cpu_index);
    uint64_t status = MCI_STATUS_VAL | MCI_STATUS_EN | MCI_STATUS_ADDRV | CHECK_READ_MEMORY;

    if (!cpu) {
        return "there is no such CPU";
    }
    status |= corrected ? CHECK_ECC_CORRECTED
                        : CHECK_ECC_UNCORRECTED | MCI_STATUS_UC | MCI_STATUS_PCC;
    cpu_x86_inject_mce(NULL, X86_CPU(cpu), CHECK_BANK, status,
                       corrected ? 0 : MCG_STATUS_MCIP | MCG_STATUS_EIPV, address, 0, 0);
    return NULL;
}

/* ---- storms ---- */

const char *sim_storm(uint32_t line, uint32_t count, uint64_t gap_ns)
{
    Pulses pulses = { .left = count, .gap_ns = gap_ns };

    if (line >= ISA_NUM_IRQS || count == 0 || gap_ns == 0 || gap_ns > SIM_TIME_MAX_NS) {
        return "there is no such storm";
    }
    if (!sim_event_add(sim_now(), SIM_EVENT_PULSE, line, &pulses, sizeof(pulses))) {
        return "too many events wait for their time";
    }
    return NULL;
}

void sim_pulse_deliver(int64_t when_ns, uint64_t line, const uint8_t *data)
{
    Pulses pulses;
    qemu_irq irq = isa_get_irq(NULL, line);

    memcpy(&pulses, data, sizeof(pulses));
    qemu_set_irq(irq, 1);
    qemu_set_irq(irq, 0);
    if (--pulses.left > 0) {
        /* The event that is done has left its place in the queue. */
        sim_event_add(when_ns + pulses.gap_ns, SIM_EVENT_PULSE, line, &pulses, sizeof(pulses));
    }
}
