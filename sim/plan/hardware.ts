import type { VirtualNs } from '../kernel/units.ts';
import type { MachineDef } from './machine.ts';

/** Memory is drawn, and flipped, by words of this many bytes: as much as one check code guards. */
export const MEMORY_WORD_BYTES = 8;
export const MEMORY_WORD_BITS = 64;
/** The size of a page of WebAssembly's memory. */
export const PROGRAM_PAGE_BYTES = 65_536;

/** The general registers of a processor, in the order of their numbers in instructions. */
export const REGISTERS = [
  'rax',
  'rcx',
  'rdx',
  'rbx',
  'rsp',
  'rbp',
  'rsi',
  'rdi',
  'r8',
  'r9',
  'r10',
  'r11',
  'r12',
  'r13',
  'r14',
  'r15',
] as const;
export type RegisterName = (typeof REGISTERS)[number];

/** Lines of the ISA bus; of them, 2 joins the two old controllers and has no device. */
export const INTERRUPT_LINES = 16;
export const CASCADE_LINE = 2;
/** The line of the serial port: each machine has one, and its kernel listens to it. */
export const SERIAL_LINE = 4;
/** A storm has an end: at most so many interrupts. */
export const STORM_COUNT_MAX = 1_000_000;

/** A piece of memory by its addresses: whole words. */
export interface MemoryRangeDef {
  readonly address: number;
  readonly bytes: number;
}

/** Faults inside a node: in its memory, its processors and its interrupts (CR-86). */
export type HardwareActionDef =
  /** Flips `bits` different bits of one word of memory, which is drawn, at once. */
  | {
      readonly kind: 'flip-memory';
      readonly oneOf: readonly number[];
      readonly bits: number;
      /** Where the word is; absent for all memory. */
      readonly range?: MemoryRangeDef;
    }
  /** Flips `bits` different bits of one general register between two instructions. */
  | {
      readonly kind: 'flip-register';
      readonly oneOf: readonly number[];
      readonly bits: number;
      /** Drawn where absent, as is the processor. */
      readonly register?: RegisterName;
      readonly cpu?: number;
    }
  /** A processor reports that reading memory went wrong: put right (`corrected`), or lost. */
  | {
      readonly kind: 'machine-check';
      readonly oneOf: readonly number[];
      readonly corrected: boolean;
      /** Which memory; a drawn word where absent. */
      readonly address?: number;
      readonly cpu?: number;
    }
  /** Pulses on an interrupt line without any cause, the first one at once. */
  | {
      readonly kind: 'storm';
      readonly oneOf: readonly number[];
      readonly line: number;
      readonly count: number;
      readonly gapNs: VirtualNs;
    };

/** From one address up to, but not including, another. */
export interface AddressSpan {
  readonly from: number;
  readonly to: number;
}

const LEGACY_FROM = 0xa_0000;
const LEGACY_TO = 0x10_0000;
const FOUR_GIB = 2 ** 32;

/**
 * Where a machine's memory is, in order, without what lies below video memory and firmware, which no
 * system uses. Devices have the addresses below 4 GiB; what does not fit under them comes above
 * (QEMU 10.0, hw/i386/microvm.c and pc_q35.c).
 */
export function memoryOfMachine({ type, memoryMib }: MachineDef): readonly AddressSpan[] {
  const bytes = memoryMib * 2 ** 20;
  const below = Math.min(bytes, lowMemoryMax(type, bytes));
  const low = [
    { from: 0, to: LEGACY_FROM },
    { from: LEGACY_TO, to: below },
  ];
  return bytes === below ? low : [...low, { from: FOUR_GIB, to: FOUR_GIB + bytes - below }];
}

function lowMemoryMax(type: MachineDef['type'], bytes: number): number {
  if (type === 'microvm') return 0xc000_0000;
  return bytes >= 0xb000_0000 ? 0x8000_0000 : 0xb000_0000;
}
