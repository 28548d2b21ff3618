import { decodeUtf8, digest32, ERRNO, isUtf8, PATH_BYTES_MAX } from '../../sim/index.ts';
import type { HostContext } from '../runtime/host-context.ts';
import { VECTOR_BYTES, VECTORS_MAX } from './abi.ts';

const TWO_32 = 0x1_0000_0000;

/**
 * The guest's memory as host functions use it. Addresses and lengths are what the guest gave, as
 * signed 32 bits. Callers check ranges with `holds` before they read or write.
 */
export class GuestMemory {
  private readonly context: HostContext;

  constructor(context: HostContext) {
    this.context = context;
  }

  /** Whether `[address, address + length)` lies within the memory that the guest sees. */
  holds(address: number, length: number): boolean {
    return (address >>> 0) + (length >>> 0) <= this.context.memoryBytes();
  }

  u16(address: number): number {
    return this.context.memory().getUint16(address >>> 0, true);
  }

  u32(address: number): number {
    return this.context.memory().getUint32(address >>> 0, true);
  }

  u64(address: number): bigint {
    return this.context.memory().getBigUint64(address >>> 0, true);
  }

  setU8(address: number, value: number): void {
    this.context.memory().setUint8(address >>> 0, value);
    this.context.touched(address >>> 0, 1);
  }

  setU16(address: number, value: number): void {
    this.context.memory().setUint16(address >>> 0, value, true);
    this.context.touched(address >>> 0, 2);
  }

  setU32(address: number, value: number): void {
    this.context.memory().setUint32(address >>> 0, value, true);
    this.context.touched(address >>> 0, 4);
  }

  setU64(address: number, value: bigint): void {
    this.context.memory().setBigUint64(address >>> 0, value, true);
    this.context.touched(address >>> 0, 8);
  }

  /** Writes 64 bits of a whole number below 2^53. */
  setSize(address: number, value: number): void {
    const view = this.context.memory();
    view.setUint32(address >>> 0, value >>> 0, true);
    view.setUint32((address >>> 0) + 4, Math.floor(value / TWO_32), true);
    this.context.touched(address >>> 0, 8);
  }

  /** A view of a part of the memory, until the guest runs again. */
  view(address: number, length: number): Uint8Array {
    const { buffer, byteOffset } = this.context.bytes();
    return new Uint8Array(buffer, byteOffset + (address >>> 0), length >>> 0);
  }

  /** Says that the host wrote into a view. */
  touched(address: number, length: number): void {
    this.context.touched(address >>> 0, length);
  }

  setBytes(address: number, bytes: Uint8Array): void {
    this.context.bytes().set(bytes, address >>> 0);
    this.context.touched(address >>> 0, bytes.length);
  }

  digest(address: number, length: number): number {
    const start = address >>> 0;
    return digest32(this.context.bytes(), start, start + length);
  }

  /** Text, or `-FAULT`, `-NAMETOOLONG` (a path has at most PATH_BYTES_MAX), `-ILSEQ`. */
  path(address: number, length: number): string | number {
    if (!this.holds(address, length)) return -ERRNO.FAULT;
    if (length >>> 0 > PATH_BYTES_MAX) return -ERRNO.NAMETOOLONG;
    const bytes = this.view(address, length);
    return isUtf8(bytes) ? decodeUtf8(bytes) : -ERRNO.ILSEQ;
  }

  /** The bytes in all vectors of a list, or `-FAULT`, `-INVAL` (too many vectors or bytes). */
  vectorBytes(list: number, count: number): number {
    if (count >>> 0 > VECTORS_MAX) return -ERRNO.INVAL;
    if (!this.holds(list, count * VECTOR_BYTES)) return -ERRNO.FAULT;
    const view = this.context.memory();
    let total = 0;
    for (let index = 0, at = list >>> 0; index < count; index++, at += VECTOR_BYTES) {
      const length = view.getUint32(at + 4, true);
      if (!this.holds(view.getUint32(at, true), length)) return -ERRNO.FAULT;
      total += length;
    }
    return total > 0x7fffffff ? -ERRNO.INVAL : total;
  }

  /** All bytes of a list of vectors: a view if one vector holds them, else a copy. */
  gather(list: number, count: number, total: number): Uint8Array {
    const view = this.context.memory();
    for (let index = 0, at = list >>> 0; index < count; index++, at += VECTOR_BYTES) {
      const length = view.getUint32(at + 4, true);
      if (length === 0) continue;
      if (length === total) return this.view(view.getUint32(at, true), length);
      break;
    }
    const gathered = new Uint8Array(total);
    let done = 0;
    for (let index = 0, at = list >>> 0; index < count; index++, at += VECTOR_BYTES) {
      const length = view.getUint32(at + 4, true);
      gathered.set(this.view(view.getUint32(at, true), length), done);
      done += length;
    }
    return gathered;
  }
}
