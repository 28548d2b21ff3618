import { SimError, VIRTUAL_NS_MAX } from '../sim/index.ts';
import { BLOCK_OPERATION, REPORT } from './channel/wire.ts';
import type { Message } from './channel/wire.ts';

/** What a block request asks for. */
export type BlockOperation = 'read' | 'write' | 'flush' | 'discard';

/** What happened in a machine, with its exact virtual time. Bytes belong to whoever gets them. */
export type MachineEvent =
  | { readonly kind: 'frame'; readonly atNs: number; readonly port: number; readonly bytes: Buffer }
  | {
      readonly kind: 'console';
      readonly atNs: number;
      readonly port: number;
      readonly bytes: Buffer;
    }
  | {
      /** A program of the guest wrote `value` to the doorbell, at `offset` 0 or 4. */
      readonly kind: 'bell';
      readonly atNs: number;
      readonly offset: number;
      readonly value: number;
    }
  | BlockRequest
  | { readonly kind: 'power-off'; readonly atNs: number }
  | { readonly kind: 'reset'; readonly atNs: number; readonly byGuest: boolean }
  | { readonly kind: 'panic'; readonly atNs: number }
  /** A program of the guest drew 32 random bits from the doorbell. */
  | { readonly kind: 'random'; readonly atNs: number; readonly value: number };

/** A block request; it waits until `completeBlock` decides its end. */
export interface BlockRequest {
  readonly kind: 'block';
  readonly atNs: number;
  /** Unique within a machine; forks share those that waited when they were made. */
  readonly id: number;
  readonly disk: number;
  readonly operation: BlockOperation;
  /** First sector (of 512 bytes) and length; both 0 for `flush`. */
  readonly sector: number;
  readonly byteCount: number;
  /** What is to be written; empty for other operations. */
  readonly data: Buffer;
}

/** Kinds of events that a run can stop at. */
export type StopKind = MachineEvent['kind'];

const STOP_BIT: Readonly<Record<StopKind, bigint>> = {
  frame: bit(REPORT.FRAME_OUT),
  console: bit(REPORT.CONSOLE_OUT),
  bell: bit(REPORT.BELL),
  block: bit(REPORT.BLOCK_REQUEST),
  'power-off': bit(REPORT.POWER_OFF),
  reset: bit(REPORT.RESET_DONE),
  panic: bit(REPORT.PANIC),
  random: bit(REPORT.RANDOM),
};

const OPERATION: Readonly<Record<number, BlockOperation>> = {
  [BLOCK_OPERATION.READ]: 'read',
  [BLOCK_OPERATION.WRITE]: 'write',
  [BLOCK_OPERATION.FLUSH]: 'flush',
  [BLOCK_OPERATION.DISCARD]: 'discard',
};

const BLOCK_FIELDS_BYTES = 24;

function bit(type: number): bigint {
  return 1n << BigInt(type - REPORT.STOPPED);
}

/** The mask that RUN takes for these kinds. */
export function stopMask(kinds: readonly StopKind[]): bigint {
  return kinds.reduce((mask, kind) => mask | STOP_BIT[kind], 0n);
}

/** A number of the machine as an exact one; `backend/channel` for one that no machine can reach. */
export function exactNumber(value: bigint): number {
  if (value > BigInt(VIRTUAL_NS_MAX)) throw malformed(`the number ${value}`);
  return Number(value);
}

/** Reads an event. Throws `backend/channel` for one that is malformed. */
export function readEvent(message: Message): MachineEvent {
  const atNs = exactNumber(message.a);
  switch (message.type) {
    case REPORT.FRAME_OUT:
      return { kind: 'frame', atNs, port: exactNumber(message.b), bytes: copy(message.payload) };
    case REPORT.CONSOLE_OUT:
      return { kind: 'console', atNs, port: exactNumber(message.b), bytes: copy(message.payload) };
    case REPORT.BELL:
      return {
        kind: 'bell',
        atNs,
        offset: Number(message.b >> 32n),
        value: Number(message.b & 0xffff_ffffn),
      };
    case REPORT.BLOCK_REQUEST:
      return readBlockRequest(atNs, message);
    case REPORT.POWER_OFF:
      return { kind: 'power-off', atNs };
    case REPORT.RESET_DONE:
      return { kind: 'reset', atNs, byGuest: message.b === 1n };
    case REPORT.PANIC:
      return { kind: 'panic', atNs };
    case REPORT.RANDOM:
      return { kind: 'random', atNs, value: exactNumber(message.b) };
    default:
      throw malformed(`an event of type ${message.type}`);
  }
}

function readBlockRequest(atNs: number, message: Message): BlockRequest {
  const { payload } = message;
  if (payload.length < BLOCK_FIELDS_BYTES) throw malformed('a block request that is cut short');
  const operation = OPERATION[payload.readUInt32LE(4)];
  const byteCount = payload.readUInt32LE(16);
  const data = copy(payload.subarray(BLOCK_FIELDS_BYTES));
  if (operation === undefined || data.length !== (operation === 'write' ? byteCount : 0)) {
    throw malformed('a block request whose parts do not agree');
  }
  return {
    kind: 'block',
    atNs,
    id: exactNumber(message.b),
    disk: payload.readUInt32LE(0),
    operation,
    sector: exactNumber(payload.readBigUInt64LE(8)),
    byteCount,
    data,
  };
}

function copy(bytes: Buffer): Buffer {
  return Buffer.from(bytes);
}

function malformed(what: string): SimError {
  return new SimError({
    code: 'backend/channel',
    message: `the machine sent ${what}`,
    remedy: 'run `sim doctor`: QEMU and the adapter may not belong together',
  });
}
