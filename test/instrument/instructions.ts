import type { Plain } from './model.ts';
import {
  MEMORY_OPCODES,
  SCALAR_OPCODES,
  VECTOR_OPCODES,
  type NanShape,
  type Opcode,
  type ValueType,
} from './opcodes.ts';

const BY_NAME: ReadonlyMap<string, Opcode> = new Map(
  [...SCALAR_OPCODES, ...VECTOR_OPCODES, ...MEMORY_OPCODES].map((entry) => [entry.name, entry]),
);

/** A plain instruction from its parts. */
export function plain(
  name: string,
  bytes: readonly number[],
  pops: readonly ValueType[],
  pushes: readonly ValueType[],
  { terminal = false, nan = null }: { terminal?: boolean; nan?: NanShape | null } = {},
): Plain {
  return { kind: 'plain', name, bytes, pops, pushes, terminal, nan };
}

/** Prefix and opcode bytes; SIMD opcodes from 128 on take two bytes of LEB128. */
export function opcodeBytes({ prefix, code }: Opcode): number[] {
  if (prefix === null) return [code];
  return code < 0x80 ? [prefix, code] : [prefix, (code & 0x7f) | 0x80, code >>> 7];
}

/** The instruction of an opcode, with the bytes of its immediates. */
export function fromOpcode(entry: Opcode, immediates: readonly number[]): Plain {
  const bytes = [...opcodeBytes(entry), ...immediates];
  return plain(entry.name, bytes, entry.params, entry.results, { nan: entry.nan });
}

/** The instruction of that name, which must have no immediates. */
export function opcode(name: string): Plain {
  const entry = BY_NAME.get(name);
  if (entry?.immediate.kind !== 'none') throw new Error(`no plain instruction ${name}`);
  return fromOpcode(entry, []);
}

const ZERO: Readonly<Record<Exclude<ValueType, 'exnref'>, readonly number[]>> = {
  i32: [0x41, 0],
  i64: [0x42, 0],
  f32: [0x43, 0, 0, 0, 0],
  f64: [0x44, 0, 0, 0, 0, 0, 0, 0, 0],
  v128: [0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  funcref: [0xd0, 0x70],
  externref: [0xd0, 0x6f],
};

/** The constant zero, or the null reference, of a type. */
export function zero(type: ValueType): Plain {
  if (type === 'exnref') return plain('ref.null', [0xd0, 0x69], [], [type]);
  const name = type.endsWith('ref') ? 'ref.null' : `${type}.const`;
  return plain(name, ZERO[type], [], [type]);
}
