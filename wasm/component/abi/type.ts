import type { CoreType, CoreValue, FlatReader } from './core-values.ts';
import type { Transfer } from './transfer.ts';

/**
 * A type of the component model with its canonical ABI: how values of it are read from and written
 * to guest memory and flat core values (component model, CanonicalABI.md). `T` is the value's form
 * on our side.
 */
export interface Type<T> {
  /** Equal for equal types, and only for them. */
  readonly text: string;
  readonly size: number;
  readonly alignment: number;
  readonly flat: readonly CoreType[];
  /** The count of type nodes, for the limit on a type's size. */
  readonly weight: number;
  /** Reads from memory; the area was checked by whoever knows its whole extent. */
  load(transfer: Transfer, offset: number): T;
  /** Writes to memory that was checked and marked as written. */
  store(transfer: Transfer, offset: number, value: T): void;
  lift(transfer: Transfer, flat: FlatReader): T;
  lower(transfer: Transfer, flat: CoreValue[], value: T): void;
}

/** The form of a type's values on our side. */
export type ValueOf<T> = T extends Type<infer V> ? V : never;

export function alignTo(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment;
}

export function weightOf(parts: readonly (Type<unknown> | null)[]): number {
  return parts.reduce((sum, part) => sum + (part?.weight ?? 0), 1);
}
