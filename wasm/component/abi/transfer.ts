import type { HandleTable, HandleValue, ResourceName } from './handle-table.ts';

export type StringEncoding = 'utf8' | 'utf16' | 'latin1+utf16';

/** The part of a guest instance that values are moved through; HostContext has it. */
export interface TransferMemory {
  memory(): DataView;
  bytes(): Uint8Array;
  memoryBytes(): number;
  touched(offset: number, length: number): void;
  trap(code: string, message: string): never;
}

/** (old pointer, old size, alignment, new size) to the new pointer. */
export type Realloc = (pointer: number, size: number, alignment: number, wanted: number) => number;

/** The most bytes that the lists and strings of one call may have, each time they are named. */
export const LIFTED_BYTES_MAX = 2 ** 27;

/**
 * Where the values of one lowered or lifted function go: the guest's memory, its allocator, its
 * string encoding, its handles. All offsets are guest addresses. What the canonical ABI calls a
 * trap ends the guest with the code `canonical-abi`.
 */
export class Transfer {
  readonly handles: HandleTable;
  readonly encoding: StringEncoding;
  private readonly guest: TransferMemory;
  private readonly reallocate: Realloc | null;
  private claimed = 0;

  constructor(
    guest: TransferMemory,
    handles: HandleTable,
    encoding: StringEncoding,
    reallocate: Realloc | null,
  ) {
    this.guest = guest;
    this.handles = handles;
    this.encoding = encoding;
    this.reallocate = reallocate;
  }

  view(): DataView {
    return this.guest.memory();
  }

  bytes(): Uint8Array {
    return this.guest.bytes();
  }

  /** The handle for a resource that the host lends to the guest: it never does. */
  lend(resource: ResourceName, value: HandleValue): number {
    return this.trap(`the host lends no ${resource} (${typeof value})`);
  }

  trap(message: string): never {
    return this.guest.trap('canonical-abi', message);
  }

  /** Traps unless `length` bytes at `offset` are aligned guest memory. */
  check(offset: number, length: number, alignment: number): void {
    if (offset % alignment !== 0) this.trap(`pointer ${offset} is not aligned to ${alignment}`);
    if (offset + length > this.guest.memoryBytes()) {
      this.trap(`${length} bytes at ${offset} are outside of the memory`);
    }
  }

  /** Starts a call: what it may lift is counted from here. */
  begin(): void {
    this.claimed = 0;
  }

  /**
   * Checks an area that a list or string of the guest names. Lists may name the same area again
   * and again, so the sum of a call is limited: one call cannot make the host hold more.
   */
  claim(offset: number, length: number, alignment: number): void {
    this.check(offset, length, alignment);
    this.claimed += length;
    if (this.claimed > LIFTED_BYTES_MAX) this.trap(`a call passes over ${LIFTED_BYTES_MAX} bytes`);
  }

  /** New guest memory of `length` bytes, from the guest's own allocator; marked as written. */
  allocate(length: number, alignment: number): number {
    if (this.reallocate === null) return this.trap('a function without realloc returns a list');
    if (length >= 2 ** 31) return this.trap(`a value of ${length} bytes is too long`);
    const offset = this.reallocate(0, 0, alignment, length) >>> 0;
    this.check(offset, length, alignment);
    this.guest.touched(offset, length);
    return offset;
  }

  /** Must be called before values are stored at a pointer that the guest gave. */
  touched(offset: number, length: number): void {
    this.guest.touched(offset, length);
  }
}
