import type { ValueType } from './opcodes.ts';
import { guard } from './guard.ts';
import type {
  Block,
  ElementModel,
  FunctionShape,
  Instruction,
  ModuleModel,
  Plain,
} from './model.ts';

/** Type bytes of the binary format (WebAssembly core 2.0, section 5.3). */
export const TYPE_BYTE: Readonly<Record<ValueType, number>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  funcref: 0x70,
  externref: 0x6f,
  exnref: 0x69,
};

const VOID = 0x40;
const END = 0x0b;

/** Unsigned LEB128 of an integer below 2^32. */
export function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value >>> 0;
  do {
    const low = rest & 0x7f;
    rest >>>= 7;
    bytes.push(rest === 0 ? low : low | 0x80);
  } while (rest !== 0);
  return bytes;
}

/** Signed LEB128 of a 64-bit integer (also fit for 32-bit immediates). */
export function signed(value: bigint | number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asIntN(64, BigInt(value));
  for (;;) {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    if ((rest === 0n && low < 64) || (rest === -1n && low >= 64)) {
      bytes.push(low);
      return bytes;
    }
    bytes.push(low | 0x80);
  }
}

/** A name: length and UTF-8 bytes (the generator uses ASCII only). */
export function text(value: string): number[] {
  return [...unsigned(value.length), ...new TextEncoder().encode(value)];
}

function vector(items: readonly (readonly number[])[]): number[] {
  const bytes = unsigned(items.length);
  for (const item of items) for (const byte of item) bytes.push(byte);
  return bytes;
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content];
}

function encodeShape(shape: FunctionShape): number[] {
  const list = (types: readonly ValueType[]) => vector(types.map((type) => [TYPE_BYTE[type]]));
  return [0x60, ...list(shape.params), ...list(shape.results)];
}

/** What an observer may put around each instruction when a module is encoded. */
export interface Rewriter {
  /** Locals to add to a function; the first gets index `firstLocal`. */
  readonly locals: readonly ValueType[];
  before?(instruction: Instruction, firstLocal: number): readonly number[];
  after?(instruction: Plain, firstLocal: number): readonly number[];
  /** At an `else`, a `catch` or the `end` of a block or function. */
  atEdge?(edge: 'else' | 'catch' | 'end' | 'function-end', firstLocal: number): readonly number[];
}

interface Output {
  readonly bytes: number[];
  readonly rewriter: Rewriter | null;
  readonly firstLocal: number;
  /** Results of the function at hand: what a used-up guard returns zeros of. */
  readonly results: readonly ValueType[];
}

const BLOCK_CODE: Readonly<Record<Block['name'], number>> = {
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  try: 0x06,
  'try-delegate': 0x06,
  try_table: 0x1f,
};

function blockType({ typeIndex, shape }: Block): number[] {
  if (typeIndex !== null) return signed(typeIndex);
  return shape.results.length === 0 ? [VOID] : [TYPE_BYTE[shape.results[0]]];
}

function edge(output: Output, kind: 'else' | 'catch' | 'end' | 'function-end'): void {
  const extra = output.rewriter?.atEdge?.(kind, output.firstLocal);
  if (extra !== undefined) output.bytes.push(...extra);
}

function encodeBlock(block: Block, output: Output): void {
  const { bytes } = output;
  bytes.push(BLOCK_CODE[block.name], ...blockType(block));
  if (block.name === 'try_table') {
    bytes.push(
      ...vector(
        block.clauses.map(({ code, tag, label }) =>
          code >= 2 ? [code, ...unsigned(label)] : [code, ...unsigned(tag), ...unsigned(label)],
        ),
      ),
    );
  }
  if (block.name === 'loop') encodeBody(guard(output.results), output);
  encodeBody(block.body, output);
  if (block.otherwise !== null) {
    edge(output, 'else');
    bytes.push(0x05);
    encodeBody(block.otherwise, output);
  }
  for (const { tag, body } of block.handlers) {
    edge(output, 'catch');
    bytes.push(...(tag === null ? [0x19] : [0x07, ...unsigned(tag)]));
    encodeBody(body, output);
  }
  edge(output, 'end');
  bytes.push(...(block.name === 'try-delegate' ? [0x18, ...unsigned(block.delegate)] : [END]));
}

function encodeBody(body: readonly Instruction[], output: Output): void {
  const { bytes, rewriter, firstLocal } = output;
  for (const instruction of body) {
    const before = rewriter?.before?.(instruction, firstLocal);
    if (before !== undefined) bytes.push(...before);
    if (instruction.kind === 'block') {
      encodeBlock(instruction, output);
      continue;
    }
    for (const byte of instruction.bytes) bytes.push(byte);
    const after = rewriter?.after?.(instruction, firstLocal);
    if (after !== undefined) bytes.push(...after);
  }
}

function encodeFunction(model: ModuleModel, index: number, rewriter: Rewriter | null): number[] {
  const { type, locals, body, guarded } = model.functions[index];
  const { params, results } = model.types[type];
  const all = [...locals, ...(rewriter?.locals ?? [])];
  const bytes = vector(all.map((local) => [1, TYPE_BYTE[local]]));
  const firstLocal = params.length + locals.length;
  const output: Output = { bytes, rewriter, firstLocal, results };
  if (guarded) encodeBody(guard(results), output);
  encodeBody(body, output);
  edge(output, 'function-end');
  bytes.push(END);
  return [...unsigned(bytes.length), ...bytes];
}

function referenceExpression(index: number | null): number[] {
  return index === null ? [0xd0, TYPE_BYTE.funcref, END] : [0xd2, ...unsigned(index), END];
}

/** Element segments in all eight encodings (core 2.0, section 5.5.12). */
function encodeElement({ mode, table, offset, functions }: ElementModel): number[] {
  const expressions = functions.some((index) => index === null);
  const items = vector(
    functions.map((index) => (expressions ? referenceExpression(index) : unsigned(index ?? 0))),
  );
  const kind = expressions ? [TYPE_BYTE.funcref] : [0];
  const flag = expressions ? 4 : 0;
  if (mode === 'passive') return [flag | 1, ...kind, ...items];
  if (mode === 'declared') return [flag | 3, ...kind, ...items];
  const start = [0x41, ...signed(offset), END];
  if (table === 0) return [flag, ...start, ...items];
  return [flag | 2, ...unsigned(table), ...start, ...kind, ...items];
}

function encodeExports(model: ModuleModel): number[] {
  const rows: number[][] = [[...text('memory'), 2, 0]];
  model.functions.forEach(({ exportName }, index) => {
    if (exportName === null) return;
    rows.push([...text(exportName), 0, ...unsigned(model.imports.length + index)]);
  });
  model.tables.forEach((_, index) => rows.push([...text(`table${index}`), 1, index]));
  return vector(rows);
}

function limits(min: number, max: number | null): number[] {
  return max === null ? [0, ...unsigned(min)] : [1, ...unsigned(min), ...unsigned(max)];
}

/** The binary of a module; `rewriter` may add code, never change what is there. */
export function encode(model: ModuleModel, rewriter: Rewriter | null = null): Uint8Array {
  const imports = model.imports.map(({ name, type }) => [
    ...text('env'),
    ...text(name),
    0,
    ...unsigned(type),
  ]);
  const globals = model.globals.map(({ type, mutable, init }) => [
    TYPE_BYTE[type],
    mutable ? 1 : 0,
    ...init,
    END,
  ]);
  const data = model.data.map(({ mode, offset, bytes }) => [
    ...(mode === 'passive' ? [1] : [0, 0x41, ...signed(offset), END]),
    ...unsigned(bytes.length),
    ...bytes,
  ]);
  const bytes = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  const add = (id: number, content: readonly number[], present = true) => {
    if (present) for (const byte of section(id, content)) bytes.push(byte);
  };
  add(1, vector(model.types.map(encodeShape)));
  add(2, vector(imports), imports.length > 0);
  add(3, vector(model.functions.map(({ type }) => unsigned(type))));
  const tables = model.tables.map(({ type, min, max }) => [TYPE_BYTE[type], ...limits(min, max)]);
  add(4, vector(tables), tables.length > 0);
  add(5, vector([limits(model.memory.min, model.memory.max)]));
  add(13, vector(model.tags.map((type) => [0, ...unsigned(type)])), model.tags.length > 0);
  add(6, vector(globals), globals.length > 0);
  add(7, encodeExports(model));
  add(8, unsigned(model.start ?? 0), model.start !== null);
  add(9, vector(model.elements.map(encodeElement)), model.elements.length > 0);
  add(12, unsigned(model.data.length), model.data.length > 0);
  add(10, vector(model.functions.map((_, index) => encodeFunction(model, index, rewriter))));
  add(11, vector(data), data.length > 0);
  return Uint8Array.from(bytes);
}
