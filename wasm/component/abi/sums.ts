import { joinCore, widenCore, zeroOf, type CoreType, type CoreValue } from './core-values.ts';
import type { FlatReader } from './core-values.ts';
import type { Transfer } from './transfer.ts';
import { alignTo, weightOf, type Type } from './type.ts';

/** A case of a variant; `type` is null for a case without payload. */
export interface Case {
  readonly name: string;
  readonly type: Type<unknown> | null;
}

/** The index of a case and its payload: what all sum types are made of. */
interface Chosen {
  readonly index: number;
  readonly value: unknown;
}

interface SumCodec {
  readonly size: number;
  readonly alignment: number;
  readonly flat: readonly CoreType[];
  load(transfer: Transfer, offset: number): Chosen;
  store(transfer: Transfer, offset: number, index: number, value: unknown): void;
  lift(transfer: Transfer, flat: FlatReader): Chosen;
  lower(transfer: Transfer, flat: CoreValue[], index: number, value: unknown): void;
}

function flatPayload(types: readonly (Type<unknown> | null)[]): CoreType[] {
  const joined: CoreType[] = [];
  for (const type of types) {
    type?.flat.forEach((core, index) => {
      const there = joined[index];
      joined[index] = there === undefined ? core : joinCore(there, core);
    });
  }
  return joined;
}

function readDiscriminant(view: DataView, offset: number, size: number): number {
  if (size === 1) return view.getUint8(offset);
  return size === 2 ? view.getUint16(offset, true) : view.getUint32(offset, true);
}

function sumCodec(types: readonly (Type<unknown> | null)[]): SumCodec {
  const discriminant = types.length <= 0x100 ? 1 : types.length <= 0x10000 ? 2 : 4;
  const payloadAlignment = Math.max(1, ...types.map((type) => type?.alignment ?? 1));
  const alignment = Math.max(discriminant, payloadAlignment);
  const payloadAt = alignTo(discriminant, payloadAlignment);
  const payloadSize = Math.max(0, ...types.map((type) => type?.size ?? 0));
  const joined = flatPayload(types);
  const choose = (transfer: Transfer, index: number): Type<unknown> | null =>
    index < types.length ? types[index] : transfer.trap(`case ${index} of ${types.length}`);
  return {
    size: alignTo(payloadAt + payloadSize, alignment),
    alignment,
    flat: ['i32', ...joined],
    load: (transfer, offset) => {
      const index = readDiscriminant(transfer.view(), offset, discriminant);
      const type = choose(transfer, index);
      return { index, value: type?.load(transfer, offset + payloadAt) };
    },
    store: (transfer, offset, index, value) => {
      const view = transfer.view();
      if (discriminant === 1) view.setUint8(offset, index);
      else if (discriminant === 2) view.setUint16(offset, index, true);
      else view.setUint32(offset, index, true);
      types[index]?.store(transfer, offset + payloadAt, value);
    },
    lift: (transfer, flat) => {
      const index = flat.i32() >>> 0;
      const type = choose(transfer, index);
      const payloadFrom = flat.position;
      const value = type?.lift(transfer, flat);
      flat.position = payloadFrom + joined.length;
      return { index, value };
    },
    lower: (transfer, flat, index, value) => {
      flat.push(index);
      const type = types[index];
      const own: CoreValue[] = [];
      type?.lower(transfer, own, value);
      joined.forEach((core, at) => {
        const from = type?.flat[at];
        flat.push(from === undefined ? zeroOf(core) : widenCore(own[at], from, core));
      });
    },
  };
}

/** The value of a variant: the case's name and its payload (undefined without one). */
export interface VariantValue {
  readonly tag: string;
  readonly value?: unknown;
}

/** A variant over cases that are known only at run time. */
export function variantOf(cases: readonly Case[]): Type<VariantValue> {
  const types = cases.map((one) => one.type);
  const codec = sumCodec(types);
  const indexes = new Map(cases.map((one, index) => [one.name, index]));
  const indexOf = (value: VariantValue): number => indexes.get(value.tag) ?? 0;
  const made = (chosen: Chosen): VariantValue => ({
    tag: cases[chosen.index].name,
    value: chosen.value,
  });
  const texts = cases.map((one) => (one.type === null ? one.name : `${one.name}:${one.type.text}`));
  return {
    text: `variant{${texts.join()}}`,
    size: codec.size,
    alignment: codec.alignment,
    flat: codec.flat,
    weight: weightOf(types),
    load: (transfer, offset) => made(codec.load(transfer, offset)),
    store: (transfer, offset, value) => {
      codec.store(transfer, offset, indexOf(value), value.value);
    },
    lift: (transfer, flat) => made(codec.lift(transfer, flat)),
    lower: (transfer, flat, value) => {
      codec.lower(transfer, flat, indexOf(value), value.value);
    },
  };
}

type CaseTypes = Readonly<Record<string, Type<unknown> | null>>;
type VariantOf<C extends CaseTypes> = {
  [K in keyof C]: C[K] extends Type<infer V>
    ? { readonly tag: K; readonly value: V }
    : { readonly tag: K };
}[keyof C];

/** A variant, cases in the order of the object's keys. */
export function variant<C extends CaseTypes>(cases: C): Type<VariantOf<C>> {
  const entries = Object.entries(cases).map(([name, type]) => ({ name, type }));
  return variantOf(entries) as unknown as Type<VariantOf<C>>;
}

/** An enum; its values are the names. */
export function enumeration<const N extends readonly string[]>(names: N): Type<N[number]> {
  const codec = sumCodec(names.map(() => null));
  const indexes = new Map(names.map((name, index) => [name, index]));
  const indexOf = (name: string): number => indexes.get(name) ?? 0;
  return {
    text: `enum{${names.join()}}`,
    size: codec.size,
    alignment: codec.alignment,
    flat: codec.flat,
    weight: 1,
    load: (transfer, offset) => names[codec.load(transfer, offset).index],
    store: (transfer, offset, value) => {
      codec.store(transfer, offset, indexOf(value), undefined);
    },
    lift: (transfer, flat) => names[codec.lift(transfer, flat).index],
    lower: (transfer, flat, value) => {
      codec.lower(transfer, flat, indexOf(value), undefined);
    },
  };
}

/** `option<T>`: null for none. */
export function option<T>(some: Type<T>): Type<T | null> {
  const codec = sumCodec([null, some]);
  const made = (chosen: Chosen): T | null => (chosen.index === 0 ? null : (chosen.value as T));
  return {
    text: `option<${some.text}>`,
    size: codec.size,
    alignment: codec.alignment,
    flat: codec.flat,
    weight: some.weight + 1,
    load: (transfer, offset) => made(codec.load(transfer, offset)),
    store: (transfer, offset, value) => {
      codec.store(transfer, offset, value === null ? 0 : 1, value);
    },
    lift: (transfer, flat) => made(codec.lift(transfer, flat)),
    lower: (transfer, flat, value) => {
      codec.lower(transfer, flat, value === null ? 0 : 1, value);
    },
  };
}

/** The value of a `result`. */
export type Result<T, E> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

export function success<T>(value: T): Result<T, never> {
  return { ok: true, value };
}

export function failure<E>(error: E): Result<never, E> {
  return { ok: false, error };
}

/** `result<T, E>`; null stands for a missing payload, whose value is then undefined. */
export function result<T = undefined, E = undefined>(
  ok: Type<T> | null,
  error: Type<E> | null,
): Type<Result<T, E>> {
  const codec = sumCodec([ok, error]);
  const made = (chosen: Chosen): Result<T, E> =>
    chosen.index === 0 ? success(chosen.value as T) : failure(chosen.value as E);
  const payload = (value: Result<T, E>): unknown => (value.ok ? value.value : value.error);
  return {
    text: `result<${ok?.text ?? '_'},${error?.text ?? '_'}>`,
    size: codec.size,
    alignment: codec.alignment,
    flat: codec.flat,
    weight: weightOf([ok, error]),
    load: (transfer, offset) => made(codec.load(transfer, offset)),
    store: (transfer, offset, value) => {
      codec.store(transfer, offset, value.ok ? 0 : 1, payload(value));
    },
    lift: (transfer, flat) => made(codec.lift(transfer, flat)),
    lower: (transfer, flat, value) => {
      codec.lower(transfer, flat, value.ok ? 0 : 1, payload(value));
    },
  };
}
