import { clonePlain } from '../plain-data.ts';

/** A kind of resource: `wasi:io/streams#input-stream`, or `#<number>` for the component's own. */
export type ResourceName = string;

/** What a handle stands for: plain data of the host, or the component's own representation. */
export type HandleValue = object | number;

interface HandleEntry {
  readonly resource: ResourceName;
  readonly value: HandleValue;
}

/** More handles than this in use at once end the guest. */
export const HANDLES_MAX = 65_536;

/**
 * The handles of one component instance: one table for all resources, index 0 unused, the last
 * freed index is used first (component model, CanonicalABI.md, "Table").
 */
export class HandleTable {
  private entries: (HandleEntry | null)[] = [null];
  private free: number[] = [];

  /** The new handle, or 0 when the table is full. */
  add(resource: ResourceName, value: HandleValue): number {
    const reused = this.free.pop();
    if (reused === undefined && this.entries.length > HANDLES_MAX) return 0;
    const index = reused ?? this.entries.length;
    this.entries[index] = { resource, value };
    return index;
  }

  /** The value of a handle of this kind; undefined if there is none. */
  get(resource: ResourceName, index: number): HandleValue | undefined {
    const entry = this.entries[index];
    return entry?.resource === resource ? entry.value : undefined;
  }

  /** Takes a handle out; undefined if there is none of this kind. */
  remove(resource: ResourceName, index: number): HandleValue | undefined {
    const value = this.get(resource, index);
    if (value === undefined) return undefined;
    this.entries[index] = null;
    this.free.push(index);
    return value;
  }

  get size(): number {
    return this.entries.length - 1 - this.free.length;
  }

  /** Copies out; plain data. */
  capture(): unknown {
    return clonePlain({
      entries: this.entries.map((entry) => entry && { ...entry }),
      free: this.free,
    });
  }

  restore(state: unknown): void {
    const copy = clonePlain(state) as { entries: (HandleEntry | null)[]; free: number[] };
    this.entries = copy.entries;
    this.free = copy.free;
  }
}
