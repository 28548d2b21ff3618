import {
  readBoolean,
  readBytes,
  readInteger,
  readList,
  readRecord,
  readVariant,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { MILLION, type Millionths, type VirtualNs } from '../kernel/units.ts';
import { FRAME_BYTES_MAX } from '../network/ethernet.ts';
import { MACHINE_CPUS_MAX } from '../plan/machine.ts';
import { REGISTERS, MEMORY_WORD_BITS, type RegisterName } from '../plan/hardware.ts';

/** At most this many bytes go in one request. */
export const BLOCK_BYTES_MAX = 16 * 2 ** 20;

export type BlockStatus = 'ok' | 'io-error';

/** How a request ends. */
export interface BlockEnd {
  readonly id: number;
  readonly status: BlockStatus;
  /** What was read; empty for other operations. */
  readonly data: Uint8Array;
}

/** A fault inside a machine; it takes effect where the machine stands at that time. */
export type HardwareInput =
  /** These bits of the word at the guest-physical `address` flip. */
  | {
      readonly kind: 'flip-memory';
      readonly atNs: VirtualNs;
      readonly address: number;
      readonly bits: readonly number[];
    }
  | {
      readonly kind: 'flip-register';
      readonly atNs: VirtualNs;
      readonly cpu: number;
      readonly register: RegisterName;
      readonly bits: readonly number[];
    }
  | {
      readonly kind: 'machine-check';
      readonly atNs: VirtualNs;
      readonly cpu: number;
      readonly corrected: boolean;
      readonly address: number;
    }
  /** `count` pulses on a line of the ISA bus, `gapNs` apart, from `atNs` on. */
  | {
      readonly kind: 'storm';
      readonly atNs: VirtualNs;
      readonly line: number;
      readonly count: number;
      readonly gapNs: VirtualNs;
    };

/** From what a machine tells the time. */
export interface SourcesOfTime {
  /** What the processors' counter gains in 10^6 ns: 0 while it stands still. */
  readonly rate: number;
  /** How far the calendar chip is ahead of the world's time. */
  readonly leadNs: number;
}

/** Something that reaches a machine, at a time that it has not passed. */
export type MachineInput =
  /** The sources of time are these from then on. */
  | ({ readonly kind: 'clocks'; readonly atNs: VirtualNs } & SourcesOfTime)
  | { readonly kind: 'frame'; readonly atNs: VirtualNs; readonly bytes: Uint8Array }
  | { readonly kind: 'block'; readonly atNs: VirtualNs; readonly end: BlockEnd }
  /** A non-maskable interrupt to all processors. */
  | { readonly kind: 'interrupt'; readonly atNs: VirtualNs }
  /** The processors execute for this share of the time from then on. */
  | { readonly kind: 'share'; readonly atNs: VirtualNs; readonly cpu: Millionths }
  /** Just these processors get no turns from then on. */
  | { readonly kind: 'stall'; readonly atNs: VirtualNs; readonly vcpus: readonly number[] }
  | HardwareInput;

export const readBlockEnd: Read<BlockEnd> = readRecord<BlockEnd>({
  id: readInteger(),
  status: readWord(['ok', 'io-error']),
  data: readBytes(BLOCK_BYTES_MAX),
});

type Input<K extends MachineInput['kind']> = Extract<MachineInput, { kind: K }>;

const bits = readList(readInteger(0, MEMORY_WORD_BITS - 1), MEMORY_WORD_BITS);

/** Reads what waits for a machine. */
export const readMachineInput: Read<MachineInput> = readVariant<MachineInput>({
  clocks: readRecord<Input<'clocks'>>({
    kind: readWord(['clocks']),
    atNs: readInteger(),
    rate: readInteger(0, 2_000_000),
    leadNs: readInteger(-Number.MAX_SAFE_INTEGER),
  }),
  frame: readRecord<Input<'frame'>>({
    kind: readWord(['frame']),
    atNs: readInteger(),
    bytes: readBytes(FRAME_BYTES_MAX),
  }),
  interrupt: readRecord<Input<'interrupt'>>({
    kind: readWord(['interrupt']),
    atNs: readInteger(),
  }),
  share: readRecord<Input<'share'>>({
    kind: readWord(['share']),
    atNs: readInteger(),
    cpu: readInteger(1, MILLION),
  }),
  stall: readRecord<Input<'stall'>>({
    kind: readWord(['stall']),
    atNs: readInteger(),
    vcpus: readList(readInteger(0, MACHINE_CPUS_MAX - 1), MACHINE_CPUS_MAX),
  }),
  block: readRecord<Input<'block'>>({
    kind: readWord(['block']),
    atNs: readInteger(),
    end: readBlockEnd,
  }),
  'flip-memory': readRecord<Input<'flip-memory'>>({
    kind: readWord(['flip-memory']),
    atNs: readInteger(),
    address: readInteger(),
    bits,
  }),
  'flip-register': readRecord<Input<'flip-register'>>({
    kind: readWord(['flip-register']),
    atNs: readInteger(),
    cpu: readInteger(),
    register: readWord(REGISTERS),
    bits,
  }),
  'machine-check': readRecord<Input<'machine-check'>>({
    kind: readWord(['machine-check']),
    atNs: readInteger(),
    cpu: readInteger(),
    corrected: readBoolean,
    address: readInteger(),
  }),
  storm: readRecord<Input<'storm'>>({
    kind: readWord(['storm']),
    atNs: readInteger(),
    line: readInteger(),
    count: readInteger(1),
    gapNs: readInteger(1),
  }),
});
