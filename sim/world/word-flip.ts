import { assert } from '../kernel/assert.ts';
import type { Decisions } from '../kernel/decision.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { MEMORY_WORD_BITS, MEMORY_WORD_BYTES, type AddressSpan } from '../plan/hardware.ts';

/** Who draws, for what, and when. */
export interface Draw {
  readonly decisions: Decisions;
  /** The streams are `<of>`, and `<of>-bit` and the like. */
  readonly of: string;
  readonly atNs: VirtualNs;
}

/** The address of a drawn word of this memory, on the stream `<of>`. */
export function drawWord({ decisions, of, atNs }: Draw, memory: readonly AddressSpan[]): number {
  const words = memory.map(({ from, to }) => Math.floor((to - from) / MEMORY_WORD_BYTES));
  const total = words.reduce((sum, count) => sum + count, 0);
  let place = decisions.decide(decisions.stream(of), atNs, total);
  for (const [index, { from }] of memory.entries()) {
    const count = words[index] as number;
    if (place < count) return from + place * MEMORY_WORD_BYTES;
    place -= count;
  }
  assert(false, 'a drawn word is within memory');
}

/** `count` different bits of a word, ascending: one decision each, on the stream `<of>-bit`. */
export function drawBits({ decisions, of, atNs }: Draw, count: number): readonly number[] {
  const stream = decisions.stream(`${of}-bit`);
  const left = Array.from({ length: MEMORY_WORD_BITS }, (_, bit) => bit);
  const drawn: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    drawn.push(...left.splice(decisions.decide(stream, atNs, left.length), 1));
  }
  return drawn.sort((a, b) => a - b);
}

/** Bits as people read them. */
export function describeBits(bits: readonly number[]): string {
  return bits.length === 1 ? `bit ${bits.join()}` : `bits ${bits.join(', ')}`;
}

/** An address as people read it. */
export function describeAddress(address: number): string {
  return `0x${address.toString(16)}`;
}
