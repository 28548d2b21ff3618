import { assert } from '../kernel/assert.ts';
import { readInteger, readList, type Read } from '../kernel/shape.ts';
import { MACHINE_CPUS_MAX } from '../plan/machine.ts';

/** How many stalls hold each processor, from 0 on; what no stall has held may be missing. */
export type StallCounts = readonly number[];

export const readStalls: Read<StallCounts> = readList(readInteger(), MACHINE_CPUS_MAX);

/**
 * Which processors of a machine get no turns. Stalls that overlap each end for themselves: the
 * processor goes on when the last one has ended. They are the computer's, and outlast its lives.
 */
export class MachineStalls {
  private counts: number[] = [];

  /** The processors that get no turns, in order. */
  get vcpus(): readonly number[] {
    return this.counts.flatMap((count, vcpu) => (count > 0 ? [vcpu] : []));
  }

  /** One more stall holds it; says whether it got turns until now. */
  begin(vcpu: number): boolean {
    assert(vcpu >= 0 && vcpu < MACHINE_CPUS_MAX, 'a machine has the processor');
    while (this.counts.length <= vcpu) this.counts.push(0);
    const before = this.counts[vcpu] ?? 0;
    this.counts[vcpu] = before + 1;
    return before === 0;
  }

  /** One stall of it ends, if there is one; says whether it gets turns again. */
  end(vcpu: number): boolean {
    const before = this.counts[vcpu] ?? 0;
    if (before === 0) return false;
    this.counts[vcpu] = before - 1;
    return before === 1;
  }

  /** All stalls end; gives the processors that get turns again. */
  endAll(): readonly number[] {
    const { vcpus } = this;
    this.counts = [];
    return vcpus;
  }

  /** Nothing where no processor is stalled. */
  capture(): { readonly stalls?: StallCounts } {
    return this.vcpus.length === 0 ? {} : { stalls: this.counts.slice() };
  }

  restore(counts: StallCounts = []): void {
    this.counts = [...counts];
  }
}
