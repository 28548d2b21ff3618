/** Value types by their byte in the binary format (WebAssembly core 3.0, 5.3). */
export const TYPE = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  funcref: 0x70,
  externref: 0x6f,
  exnref: 0x69,
} as const;

export type ValueType = number;

const NAMES: ReadonlyMap<number, string> = new Map([
  [TYPE.i32, 'i32'],
  [TYPE.i64, 'i64'],
  [TYPE.f32, 'f32'],
  [TYPE.f64, 'f64'],
  [TYPE.v128, 'v128'],
  [TYPE.funcref, 'funcref'],
  [TYPE.externref, 'externref'],
  [TYPE.exnref, 'exnref'],
]);

/** The text name of a value type. */
export function typeName(type: ValueType): string {
  return NAMES.get(type) ?? `0x${type.toString(16)}`;
}

export function isReference(type: ValueType): boolean {
  return type === TYPE.funcref || type === TYPE.externref || type === TYPE.exnref;
}

/** Bytes a value takes in a saved frame. References have none: they cannot be saved. */
export function typeBytes(type: ValueType): number {
  switch (type) {
    case TYPE.i32:
    case TYPE.f32:
      return 4;
    case TYPE.i64:
    case TYPE.f64:
      return 8;
    case TYPE.v128:
      return 16;
    default:
      return 0;
  }
}

export interface FunctionType {
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
  /** Equal for structurally equal types, and only for them. */
  readonly key: string;
}

export function functionType(
  params: readonly ValueType[],
  results: readonly ValueType[],
): FunctionType {
  return { params, results, key: `${params.join()}>${results.join()}` };
}
