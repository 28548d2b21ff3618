import { digest32, mix32 } from '../../sim/index.ts';
import type { CoreValue } from './abi/core-values.ts';

/**
 * A 32-bit digest of what a call moved, for the event log: its flat arguments, the content of the
 * strings and byte lists that they point to, and that of what it gave back, so that two runs part
 * at the call that read something else, and not where the guest shows it (CR-28).
 */
export function digestCall(
  core: readonly CoreValue[],
  values: readonly unknown[],
  result: unknown,
): number {
  let hash = 0x9e3779b9;
  for (const value of core) hash = feed(hash, value);
  for (const value of values) hash = feedContent(hash, value);
  return mix32(feedResult(hash, result)) >>> 0;
}

/** The content within a result: of lists, of what succeeded, and of a record's own fields. */
function feedResult(hash: number, value: unknown): number {
  if (typeof value === 'number' || typeof value === 'bigint') return feed(hash, value);
  if (Array.isArray(value)) return value.reduce<number>(feedResult, hash);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) {
    return feedContent(hash, value);
  }
  if ('ok' in value) return 'value' in value ? feedResult(hash, value.value) : hash;
  return isRecord(value) ? Object.values(value).reduce<number>(feedResult, hash) : hash;
}

/** A record of the component's, as against what a handle stands for. */
function isRecord(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype && !('on' in value);
}

function feed(hash: number, value: CoreValue): number {
  if (typeof value === 'number') return mix32(hash ^ (value | 0));
  const low = Number(BigInt.asIntN(32, value));
  return mix32(mix32(hash ^ low) ^ Number(BigInt.asIntN(32, value >> 32n)));
}

/** Handles stand in the flat arguments already; what they stand for is the host's own state. */
function feedContent(hash: number, value: unknown): number {
  if (value instanceof Uint8Array) return mix32(hash ^ digest32(value));
  if (typeof value === 'string') {
    let mixed = hash;
    for (let index = 0; index < value.length; index++) {
      mixed = Math.imul(mixed ^ value.charCodeAt(index), 0x01000193);
    }
    return mix32(mixed);
  }
  return hash;
}

/**
 * What came out of a call, as one integer: the value itself if it is a number, a count of bytes or
 * items, 1 for something else, 0 for nothing; an error is -1.
 */
export function summarise(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return value;
    case 'bigint':
      return Number(BigInt.asIntN(52, value));
    case 'boolean':
      return value ? 1 : 0;
    case 'string':
      return value.length;
    case 'object':
      return summariseObject(value);
    default:
      return 0;
  }
}

function summariseObject(value: object | null): number {
  if (value === null) return 0;
  if (value instanceof Uint8Array || Array.isArray(value)) return value.length;
  if (!('ok' in value)) return 1;
  if (value.ok !== true) return -1;
  return 'value' in value ? summarise(value.value) : 0;
}

/** How many bytes a call moves: those of its byte lists, also within a result or a tuple. */
export function countBytes(values: readonly unknown[]): number {
  let count = 0;
  for (const value of values) {
    if (value instanceof Uint8Array) count += value.length;
    else if (Array.isArray(value)) count += countBytes(value);
    else if (typeof value === 'object' && value !== null) count += countBytesWithin(value);
  }
  return count;
}

function countBytesWithin(value: object): number {
  if ('value' in value) return countBytes([value.value]);
  return 'data' in value ? countBytes([value.data]) : 0;
}
