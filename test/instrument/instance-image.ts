import { CONTROL, type Layout } from '../../wasm/instrument/layout.ts';
import { functionOf, memoryOf } from './plain-run.ts';

type Exports = Readonly<Record<string, unknown>>;

/** A stopped guest, taken out of its instance as the layout's contract says. */
export interface InstanceImage {
  /** Parts of physical memory: the saved frames, the control area, the guest's own. */
  readonly parts: readonly { readonly address: number; readonly bytes: Uint8Array }[];
  readonly memoryBytes: number;
  readonly tables: readonly { readonly exportName: string; readonly entries: readonly unknown[] }[];
  readonly references: readonly { readonly exportName: string; readonly value: unknown }[];
  /** References in the saved frames. */
  readonly frames: readonly {
    readonly exportName: string;
    readonly entries: readonly unknown[];
  }[];
}

/** A reference that holds in any instance: functions by their index in the plain module. */
interface FunctionToken {
  readonly functionExport: string;
}

function isToken(value: unknown): value is FunctionToken {
  return typeof value === 'object' && value !== null && 'functionExport' in value;
}

function toToken(exports: Exports, layout: Layout, value: unknown): unknown {
  if (typeof value !== 'function') return value;
  for (const name of layout.functionExports.values()) {
    if (exports[name] === value) return { functionExport: name };
  }
  throw new Error('a function reference is not among the function exports');
}

function fromToken(exports: Exports, value: unknown): unknown {
  return isToken(value) ? functionOf(exports, value.functionExport) : value;
}

function isReference(layout: Layout, index: number): boolean {
  return layout.globals.some((global) => global.index === index && global.offset < 0);
}

function tableOf(exports: Exports, name: string): WebAssembly.Table {
  const table = exports[name];
  if (!(table instanceof WebAssembly.Table)) throw new Error(`no table ${name}`);
  return table;
}

function globalOf(exports: Exports, name: string): WebAssembly.Global<unknown> {
  const global = exports[name];
  if (!(global instanceof WebAssembly.Global)) throw new Error(`no global ${name}`);
  return global as WebAssembly.Global<unknown>;
}

/** Saves a guest that is suspended or at rest. */
export function captureImage(exports: Exports, layout: Layout): InstanceImage {
  if (layout.globalsBytes > 0) functionOf(exports, 'athanor:save')();
  const tables = layout.tables
    .filter(({ mutates }) => mutates)
    .map(({ exportName }) => {
      const table = tableOf(exports, exportName);
      const entries = Array.from({ length: table.length }, (_, index) =>
        toToken(exports, layout, table.get(index)),
      );
      return { exportName, entries };
    });
  const references = layout.globals
    .filter(({ index }) => isReference(layout, index))
    .map(({ exportName }) => ({
      exportName,
      value: toToken(exports, layout, globalOf(exports, exportName).value),
    }));
  const memory = new Uint8Array(memoryOf(exports, layout.memory.exportName).buffer);
  const { shadowStackTop, controlBase, dirtyMapBase, guestBaseBytes } = layout;
  const shadowSp = new Int32Array(memory.buffer, controlBase)[CONTROL.shadowSp];
  const depth = (shadowStackTop - shadowSp) >> 3;
  const saved = layout.savedReferences;
  const frames = (saved ? [saved.functions, saved.externs] : []).map((exportName) => {
    const table = tableOf(exports, exportName);
    const length = Math.min(table.length, depth + 1);
    const entries = Array.from({ length }, (_, at) => toToken(exports, layout, table.get(at)));
    return { exportName, entries };
  });
  const ranges = [
    [shadowSp, shadowStackTop],
    [controlBase, dirtyMapBase],
    [guestBaseBytes, memory.length],
  ];
  const parts = ranges.map(([from, to]) => ({ address: from, bytes: memory.slice(from, to) }));
  return { parts, memoryBytes: memory.length, tables, references, frames };
}

/** Puts an image into a fresh instance of the same module. */
export function restoreImage(exports: Exports, layout: Layout, image: InstanceImage): void {
  const memory = memoryOf(exports, layout.memory.exportName);
  const missing = (image.memoryBytes - memory.buffer.byteLength) / 65536;
  if (missing > 0) memory.grow(missing);
  const bytes = new Uint8Array(memory.buffer);
  for (const part of image.parts) bytes.set(part.bytes, part.address);
  if (layout.globalsBytes > 0) functionOf(exports, 'athanor:load')();
  for (const { exportName, entries } of image.tables) {
    const table = tableOf(exports, exportName);
    if (table.length < entries.length) table.grow(entries.length - table.length);
    entries.forEach((entry, index) => {
      table.set(index, fromToken(exports, entry));
    });
  }
  for (const frame of image.frames) {
    const table = tableOf(exports, frame.exportName);
    const missingEntries = frame.entries.length - table.length;
    if (missingEntries > 0) table.grow(missingEntries);
    frame.entries.forEach((entry, at) => {
      table.set(at, fromToken(exports, entry));
    });
  }
  for (const { exportName, value } of image.references) {
    globalOf(exports, exportName).value = fromToken(exports, value);
  }
}
