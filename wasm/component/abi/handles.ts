import type { HandleValue, ResourceName } from './handle-table.ts';
import type { Transfer } from './transfer.ts';
import type { Type } from './type.ts';

/** A resource with the form of its representation on our side. */
export interface Resource<T extends HandleValue> {
  readonly name: ResourceName;
  /** Never set: carries the type only. */
  readonly representation?: T;
}

export function resource<T extends HandleValue>(name: ResourceName): Resource<T> {
  return { name };
}

function handle<T extends HandleValue>(
  text: string,
  take: (transfer: Transfer, index: number) => HandleValue | undefined,
  give: (transfer: Transfer, value: T) => number,
): Type<T> {
  const found = (transfer: Transfer, index: number): T => {
    const value = take(transfer, index);
    return value === undefined
      ? transfer.trap(`${index} is not a handle for ${text}`)
      : (value as T);
  };
  return {
    text,
    size: 4,
    alignment: 4,
    flat: ['i32'],
    weight: 1,
    load: (transfer, offset) => found(transfer, transfer.view().getUint32(offset, true)),
    store: (transfer, offset, value) => {
      transfer.view().setUint32(offset, give(transfer, value), true);
    },
    lift: (transfer, flat) => found(transfer, flat.i32() >>> 0),
    lower: (transfer, flat, value) => void flat.push(give(transfer, value)),
  };
}

/** `own<R>`: moves the representation; lifting takes the handle out of the guest's table. */
export function own<T extends HandleValue>(of: Resource<T>): Type<T> {
  return handle<T>(
    `own<${of.name}>`,
    (transfer, index) => transfer.handles.remove(of.name, index),
    (transfer, value) => {
      const index = transfer.handles.add(of.name, value);
      return index > 0 ? index : transfer.trap('the table of handles is full');
    },
  );
}

/** `borrow<R>`: the representation stays where it is. */
export function borrow<T extends HandleValue>(of: Resource<T>): Type<T> {
  return handle<T>(
    `borrow<${of.name}>`,
    (transfer, index) => transfer.handles.get(of.name, index),
    (transfer, value) => transfer.lend(of.name, value),
  );
}
