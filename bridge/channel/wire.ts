/**
 * The binary channel between this controller and one simulated machine: numbers and limits.
 * The text of record is `bridge/qemu/src/sim-wire.h`; a test compares both with docs/machines.md.
 */

/** Grows with each change of the messages or of their meaning. */
export const WIRE_VERSION = 1;

/** Bytes of a header: u32 length, u32 type, u64 a, u64 b, little endian. */
export const HEADER_BYTES = 24;

/** The largest payload of one message, either way. */
export const PAYLOAD_BYTES_MAX = 16 * 2 ** 20;

/** A run stops by itself once it has reported this many bytes of events. */
export const BACKLOG_BYTES_MAX = 4 * 2 ** 20;

/** What the controller asks for. */
export const COMMAND = {
  RUN: 1,
  HASH: 2,
  FRAME: 3,
  CONSOLE: 4,
  BLOCK_COMPLETE: 5,
  FORK: 6,
  QUERY: 7,
  READ_MEMORY: 8,
  SEED: 9,
  SAVE: 10,
  LOAD: 11,
  RESET: 12,
  DEVICE_STATE: 13,
  NMI: 14,
  FLIP_MEMORY: 20,
  FLIP_REGISTER: 21,
  MACHINE_CHECK: 22,
  STORM: 23,
  CLOCKS: 30,
  SHARE: 40,
  STALL: 41,
} as const;

/** What the machine says. */
export const REPORT = {
  STOPPED: 100,
  FRAME_OUT: 101,
  CONSOLE_OUT: 102,
  BELL: 103,
  BLOCK_REQUEST: 104,
  POWER_OFF: 105,
  RESET_DONE: 106,
  PANIC: 107,
  RANDOM: 108,
  HASHED: 120,
  FORKED: 121,
  STATUS: 122,
  MEMORY: 123,
  HELLO: 124,
  DONE: 125,
  REFUSED: 126,
} as const;

/** Why a run stopped. */
export const STOP = { LIMIT: 0, EVENT: 1, BACKLOG: 2, OFF: 3 } as const;

/** Parts of a machine that HASH digests. */
export const HASH_RAM = 1;
export const HASH_DEVICES = 2;

/** RESET clears the machine's memory, as a loss of power does. */
export const RESET_CLEAR_RAM = 1;

/** The share of a machine whose CPUs execute all the time that they have work, in millionths. */
export const SHARE_WHOLE = 1_000_000;

/** Operations of a block request. */
export const BLOCK_OPERATION = { READ: 0, WRITE: 1, FLUSH: 2, DISCARD: 3 } as const;

/** One message. `payload` is a view of the receive buffer: copy what is to be kept. */
export interface Message {
  readonly type: number;
  readonly a: bigint;
  readonly b: bigint;
  readonly payload: Buffer;
}

/** Bytes of one message. */
export function encodeMessage(type: number, a: bigint, b: bigint, payload?: Uint8Array): Buffer {
  const length = payload?.length ?? 0;
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt32LE(type, 4);
  bytes.writeBigUInt64LE(a, 8);
  bytes.writeBigUInt64LE(b, 16);
  if (payload !== undefined) bytes.set(payload, HEADER_BYTES);
  return bytes;
}
