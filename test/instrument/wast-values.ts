import type { Wabt } from './wabt.ts';
import { functionOf, memoryOf } from './plain-run.ts';
import type { ValueType } from './opcodes.ts';

/** A constant of a script. */
export interface ScriptValue {
  readonly type: ValueType;
  /** Little-endian bits; empty for references. */
  readonly bytes: Uint8Array;
  /** Only for references: null, or the number of a host reference. */
  readonly reference: unknown;
  /** The result may be any NaN of the type (a lane of a vector is not told apart). */
  readonly anyNan: boolean;
}

const BYTES: Partial<Record<ValueType, number>> = { i32: 4, i64: 8, f32: 4, f64: 8, v128: 16 };

export function bytesOf(type: ValueType): number {
  return BYTES[type] ?? 0;
}

function typeOf(text: string): ValueType {
  const head = /^\(\s*([\w.]+)\s*([\w$]*)/.exec(text);
  if (head === null) throw new Error(`no constant: ${text}`);
  switch (head[1]) {
    case 'ref.null':
      return head[2].startsWith('func') ? 'funcref' : 'externref';
    case 'ref.func':
      return 'funcref';
    case 'ref.extern':
    case 'ref.host':
      return 'externref';
    default:
      return head[1].split('.')[0] as ValueType;
  }
}

function referenceOf(text: string): unknown {
  const number = /ref\.(extern|host)\s+(\d+)/.exec(text);
  if (number !== null) return `host ${number[2]}`;
  return /ref\.null/.test(text) ? null : 'function';
}

const ANY_NAN = /nan:(canonical|arithmetic)/;

/**
 * The bits of many constants at once: the assembler reads the text, the engine stores the bits. So
 * no number of a script is parsed by us.
 */
export function evaluateConstants(wabt: Wabt, texts: readonly string[]): Map<string, ScriptValue> {
  const values = new Map<string, ScriptValue>();
  const numeric: Constant[] = [];
  for (const text of new Set(texts)) {
    const type = typeOf(text);
    const anyNan = ANY_NAN.test(text);
    if (bytesOf(type) === 0 || anyNan) {
      const bytes = new Uint8Array(bytesOf(type));
      values.set(text, { type, bytes, reference: anyNan ? null : referenceOf(text), anyNan });
    } else {
      numeric.push({ text, type });
    }
  }
  const chunk = 500;
  for (let start = 0; start < numeric.length; start += chunk) {
    const part = numeric.slice(start, start + chunk);
    for (const [text, value] of storedValues(wabt, part)) values.set(text, value);
  }
  return values;
}

interface Constant {
  readonly text: string;
  readonly type: ValueType;
}

/** Leaves out what the assembler does not take. */
function storedValues(wabt: Wabt, part: readonly Constant[]): Map<string, ScriptValue> {
  const values = new Map<string, ScriptValue>();
  let bits: Uint8Array;
  try {
    bits = storedBits(wabt, part);
  } catch {
    if (part.length <= 1) return values;
    const half = part.length >> 1;
    const rest = storedValues(wabt, part.slice(half));
    return new Map([...storedValues(wabt, part.slice(0, half)), ...rest]);
  }
  part.forEach(({ text, type }, index) => {
    const bytes = bits.slice(index * 16, index * 16 + bytesOf(type));
    values.set(text, { type, bytes, reference: null, anyNan: false });
  });
  return values;
}

function storedBits(wabt: Wabt, part: readonly Constant[]): Uint8Array {
  const stores = part.map(({ text, type }, index) => {
    // The scripts' first version spelled it out.
    const modern = text.replaceAll('infinity', 'inf');
    return `(${type}.store (i32.const ${index * 16}) ${modern})`;
  });
  const wat = `(module (memory (export "memory") 1) (func (export "run") ${stores.join('\n')}))`;
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wabt.assemble(wat)));
  functionOf(exports, 'run')();
  return new Uint8Array(memoryOf(exports).buffer);
}

/** A value as JavaScript takes it; the payload of a NaN is lost, a vector is impossible. */
export function toJavaScript({ type, bytes, reference }: ScriptValue): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (type) {
    case 'i32':
      return view.getInt32(0, true);
    case 'i64':
      return view.getBigInt64(0, true);
    case 'f32':
      return view.getFloat32(0, true);
    case 'f64':
      return view.getFloat64(0, true);
    default:
      return reference;
  }
}

/** A module `run` that takes operands from memory, calls `env.f`, and puts the results back. */
export function bridgeWat(params: readonly ValueType[], results: readonly ValueType[]): string {
  const type = `(param ${params.join(' ')}) (result ${results.join(' ')})`;
  const loads = params.map((param, index) => `(${param}.load (i32.const ${index * 16}))`);
  const locals = results.map((result, index) => `(local $r${index} ${result})`);
  const sets = [...results.keys()].reverse().map((index) => `(local.set $r${index})`);
  const stores = results.map(
    (result, index) => `(${result}.store (i32.const ${1024 + index * 16}) (local.get $r${index}))`,
  );
  return `(module (import "env" "f" (func $f ${type})) (memory (export "memory") 1)
    (func (export "run") ${locals.join(' ')} ${loads.join(' ')} (call $f) ${sets.join(' ')}
    ${stores.join(' ')}))`;
}
