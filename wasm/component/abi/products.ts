import { alignTo, weightOf, type Type, type ValueOf } from './type.ts';

/** A named part of a record or a case of a variant. */
export interface Member {
  readonly name: string;
  readonly type: Type<unknown>;
}

interface Placed extends Member {
  readonly offset: number;
}

function place(members: readonly Member[]): { placed: Placed[]; size: number; alignment: number } {
  const placed: Placed[] = [];
  let end = 0;
  let alignment = 1;
  for (const member of members) {
    const offset = alignTo(end, member.type.alignment);
    placed.push({ ...member, offset });
    end = offset + member.type.size;
    alignment = Math.max(alignment, member.type.alignment);
  }
  return { placed, size: alignTo(end, alignment), alignment };
}

/** A record whose values are objects with the members' names as keys. */
export function recordOf(members: readonly Member[]): Type<Record<string, unknown>> {
  const { placed, size, alignment } = place(members);
  const types = members.map((member) => member.type);
  return {
    text: `record{${members.map((member) => `${member.name}:${member.type.text}`).join()}}`,
    size,
    alignment,
    flat: types.flatMap((type) => type.flat),
    weight: weightOf(types),
    load: (transfer, offset) => {
      const value: Record<string, unknown> = {};
      for (const member of placed) {
        value[member.name] = member.type.load(transfer, offset + member.offset);
      }
      return value;
    },
    store: (transfer, offset, value) => {
      for (const member of placed) {
        member.type.store(transfer, offset + member.offset, value[member.name]);
      }
    },
    lift: (transfer, flat) => {
      const value: Record<string, unknown> = {};
      for (const member of placed) value[member.name] = member.type.lift(transfer, flat);
      return value;
    },
    lower: (transfer, flat, value) => {
      for (const member of placed) member.type.lower(transfer, flat, value[member.name]);
    },
  };
}

type MemberTypes = Readonly<Record<string, Type<unknown>>>;
type RecordValue<M extends MemberTypes> = { readonly [K in keyof M]: ValueOf<M[K]> };

/** A record, members in the order of the object's keys. */
export function record<M extends MemberTypes>(members: M): Type<RecordValue<M>> {
  const entries = Object.entries(members).map(([name, type]) => ({ name, type }));
  return recordOf(entries) as unknown as Type<RecordValue<M>>;
}

type TupleValue<T extends readonly Type<unknown>[]> = {
  readonly [K in keyof T]: ValueOf<T[K]>;
};

/** A tuple whose values are arrays. */
export function tuple<const T extends readonly Type<unknown>[]>(...types: T): Type<TupleValue<T>> {
  const { placed, size, alignment } = place(types.map((type) => ({ name: '', type })));
  const made: Type<readonly unknown[]> = {
    text: `tuple<${types.map((type) => type.text).join()}>`,
    size,
    alignment,
    flat: types.flatMap((type) => type.flat),
    weight: weightOf(types),
    load: (transfer, offset) =>
      placed.map((member) => member.type.load(transfer, offset + member.offset)),
    store: (transfer, offset, value) => {
      placed.forEach((member, index) => {
        member.type.store(transfer, offset + member.offset, value[index]);
      });
    },
    lift: (transfer, flat) => placed.map((member) => member.type.lift(transfer, flat)),
    lower: (transfer, flat, value) => {
      placed.forEach((member, index) => member.type.lower(transfer, flat, value[index]));
    },
  };
  return made as unknown as Type<TupleValue<T>>;
}

/** Flags as a number: bit k is the k-th name. At most 32 names (component model, "Flags"). */
export function flags(names: readonly string[]): Type<number> {
  const size = names.length <= 8 ? 1 : names.length <= 16 ? 2 : 4;
  const mask = names.length === 32 ? 0xffff_ffff : 2 ** names.length - 1;
  const cut = (bits: number): number => (bits & mask) >>> 0;
  return {
    text: `flags{${names.join()}}`,
    size,
    alignment: size,
    flat: ['i32'],
    weight: 1,
    load: (transfer, offset) => {
      const view = transfer.view();
      if (size === 1) return cut(view.getUint8(offset));
      return cut(size === 2 ? view.getUint16(offset, true) : view.getUint32(offset, true));
    },
    store: (transfer, offset, value) => {
      const view = transfer.view();
      if (size === 1) view.setUint8(offset, value);
      else if (size === 2) view.setUint16(offset, value, true);
      else view.setUint32(offset, value, true);
    },
    lift: (_, flat) => cut(flat.i32()),
    lower: (_, flat, value) => void flat.push(value | 0),
  };
}
