import { assert, SimError } from '../../sim/index.ts';
import type { Layout } from '../instrument/layout.ts';
import type { Linked, PreparedModule } from './link.ts';

/** References outside memory: for each the function's index in its plain module, or -1 for null. */
export interface ReferenceImage {
  readonly module: number;
  /** The exported table, or the exported global, which has one entry. */
  readonly exportName: string;
  readonly entries: readonly number[];
}

/** A place that holds references, and how many of its entries an image needs. */
interface Place {
  readonly exportName: string;
  readonly countMax: number;
}

const BYTES_PER_SAVED_REFERENCE = 8;

/** Tables that the code changes, globals of reference type, and references in saved frames. */
function places(layout: Layout, shadowSp: number): readonly Place[] {
  const tables = layout.tables.filter(({ mutates }) => mutates);
  const globals = layout.globals.filter(({ offset }) => offset < 0);
  const saved = layout.savedReferences;
  const depth = Math.floor((layout.shadowStackTop - shadowSp) / BYTES_PER_SAVED_REFERENCE);
  return [
    ...tables.map(({ exportName }) => ({ exportName, countMax: Infinity })),
    ...globals.map(({ exportName }) => ({ exportName, countMax: 1 })),
    ...(saved === null ? [] : [saved.functions, saved.externs]).map((exportName) => {
      return { exportName, countMax: depth + 1 };
    }),
  ];
}

/** Whether guests of the module keep references where a pooled instance would carry them over. */
export function keepsReferences(layout: Layout): boolean {
  return places(layout, layout.shadowStackTop).length > 0;
}

/** The references of a guest that is stopped with its frames from `shadowSp` up. */
export function captureReferences(
  modules: readonly PreparedModule[],
  linked: Linked,
  shadowSp: number,
): readonly ReferenceImage[] {
  return modules.flatMap(({ layout }, module) => {
    const found = places(layout, shadowSp);
    if (found.length === 0) return [];
    const exports = linked.instances[module]?.exports ?? {};
    const indexOf = new Map<unknown, number>([[null, -1]]);
    for (const [index, name] of layout.functionExports) indexOf.set(exports[name], index);
    return found.map(({ exportName, countMax }): ReferenceImage => {
      const entries = read(exports[exportName], countMax).map((value) => {
        const index = indexOf.get(value);
        if (index === undefined) throw foreignReference(exportName);
        return index;
      });
      return { module, exportName, entries };
    });
  });
}

export function restoreReferences(
  modules: readonly PreparedModule[],
  linked: Linked,
  images: readonly ReferenceImage[],
): void {
  for (const { module, exportName, entries } of images) {
    const layout = modules[module]?.layout;
    const exports = linked.instances[module]?.exports ?? {};
    const values = entries.map((entry) => {
      const name = layout?.functionExports.get(entry);
      return name === undefined ? null : exports[name];
    });
    write(exports[exportName], values);
  }
}

function read(holder: unknown, countMax: number): readonly unknown[] {
  if (holder instanceof WebAssembly.Global) return [holder.value];
  assert(holder instanceof WebAssembly.Table, 'references stand in a table or a global');
  const count = Math.min(holder.length, countMax);
  return Array.from({ length: count }, (_, at) => holder.get(at));
}

function write(holder: unknown, values: readonly unknown[]): void {
  if (holder instanceof WebAssembly.Global) {
    (holder as WebAssembly.Global<unknown>).value = values[0];
    return;
  }
  assert(holder instanceof WebAssembly.Table, 'references stand in a table or a global');
  const missing = values.length - holder.length;
  if (missing > 0) holder.grow(missing);
  values.forEach((value, at) => holder.set(at, value));
}

function foreignReference(exportName: string): SimError {
  return new SimError({
    code: 'guest/reference',
    message: 'the guest holds a reference that is no function of its own module',
    place: exportName,
    remedy: 'a guest with such references cannot be saved',
  });
}
