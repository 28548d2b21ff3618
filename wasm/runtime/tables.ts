import { assert } from '../../sim/index.ts';
import type { Linked, PreparedModule } from './link.ts';

/** A table that changed: for each entry the function's index in its plain module, or -1. */
export interface TableImage {
  readonly module: number;
  readonly table: number;
  readonly entries: readonly number[];
}

/** The tables that the code may change. */
export function captureTables(
  modules: readonly PreparedModule[],
  linked: Linked,
): readonly TableImage[] {
  return modules.flatMap(({ layout }, module) => {
    const changing = layout.tables.filter((table) => table.mutates);
    if (changing.length === 0) return [];
    const exports = linked.instances[module]?.exports ?? {};
    const indexOf = new Map<unknown, number>([[null, -1]]);
    for (const [index, name] of layout.functionExports) indexOf.set(exports[name], index);
    return changing.map(({ index, exportName }): TableImage => {
      const table = exports[exportName];
      assert(table instanceof WebAssembly.Table, 'a table that changes is exported');
      const entries = Array.from({ length: table.length }, (_, at) => {
        const entry = indexOf.get(table.get(at));
        assert(entry !== undefined, 'a table holds functions of its own module');
        return entry;
      });
      return { module, table: index, entries };
    });
  });
}

export function restoreTables(
  modules: readonly PreparedModule[],
  linked: Linked,
  images: readonly TableImage[],
): void {
  for (const image of images) {
    const layout = modules[image.module]?.layout;
    const exports = linked.instances[image.module]?.exports ?? {};
    const name = layout?.tables.find((table) => table.index === image.table)?.exportName;
    const table = exports[name ?? ''];
    assert(table instanceof WebAssembly.Table, 'a saved table exists');
    const missing = image.entries.length - table.length;
    assert(missing >= 0, 'a saved table is at least as long as a fresh one');
    if (missing > 0) table.grow(missing);
    image.entries.forEach((entry, at) => {
      const exportName = layout?.functionExports.get(entry);
      table.set(at, exportName === undefined ? null : exports[exportName]);
    });
  }
}
