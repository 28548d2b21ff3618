import type { ModuleModel } from './model.ts';
import type { ValueType } from './opcodes.ts';
import { Draws } from './random-source.ts';
import { DUMP_EXPORT, RESET_EXPORT, randomArgument } from './random-module.ts';

/** One call of an export by the test. */
export interface PlannedCall {
  readonly exportName: string;
  readonly type: number;
  readonly args: readonly unknown[];
}

/** Everything that can be seen of a run. */
export interface Trace {
  /** Calls of exports and imports with arguments, results and traps, in order. */
  readonly log: readonly string[];
  /** Guest memory after each planned call. */
  readonly memories: readonly Uint8Array[];
  /** Contents of the exported tables after the last call. */
  readonly tables: readonly string[];
}

/** The calls of a test run: a budget and an export, some times over, then the dump. */
export function planCalls(model: ModuleModel, seed: number): PlannedCall[] {
  const draws = new Draws(seed ^ 0x51ab);
  const named = model.functions.filter(({ exportName }) => exportName?.startsWith('f'));
  const special = (name: string) => model.functions.find(({ exportName }) => exportName === name);
  const reset = special(RESET_EXPORT);
  const dump = special(DUMP_EXPORT);
  if (reset === undefined || dump === undefined) throw new Error('module has no reset or dump');
  const calls: PlannedCall[] = [];
  for (let index = 0; index < 3 && named.length > 0; index += 1) {
    const target = draws.pick(named);
    const { params } = model.types[target.type];
    const args = params.map((type) => argument(draws, type));
    calls.push({ exportName: RESET_EXPORT, type: reset.type, args: [5 + draws.below(20)] });
    calls.push({ exportName: target.exportName ?? '', type: target.type, args });
  }
  calls.push({ exportName: DUMP_EXPORT, type: dump.type, args: [] });
  return calls;
}

function argument(draws: Draws, type: ValueType): unknown {
  const value = randomArgument(draws, type);
  return Number.isNaN(value) ? NaN : value;
}

/** The exported functions of a plain instance, by what tables hold of them. */
export function plainNames(
  exports: Readonly<Record<string, unknown>>,
  model: ModuleModel,
): Map<unknown, string> {
  const names = new Map<unknown, string>();
  for (const { exportName } of model.functions) {
    if (exportName !== null) names.set(exports[exportName], exportName);
  }
  return names;
}

/** Entries of a table: '-' for null, a name, or 'function' when no name is known. */
export function describeTable(
  table: WebAssembly.Table,
  names: ReadonlyMap<unknown, string>,
): string {
  const entries = Array.from({ length: table.length }, (_, index) => {
    const entry = table.get(index);
    if (entry === null) return '-';
    return names.get(entry) ?? (typeof entry === 'function' ? 'function' : JSON.stringify(entry));
  });
  return entries.join(' ');
}

/** The first difference between two traces, memory left out, or null. */
export function difference(
  expected: Omit<Trace, 'memories'>,
  actual: Omit<Trace, 'memories'>,
): string | null {
  const count = Math.max(expected.log.length, actual.log.length);
  for (let index = 0; index < count; index += 1) {
    if (expected.log[index] === actual.log[index]) continue;
    return `log ${index}: expected ${expected.log[index]}, got ${actual.log[index]}`;
  }
  for (let index = 0; index < expected.tables.length; index += 1) {
    if (sameEntries(expected.tables[index], actual.tables[index])) continue;
    return `table ${index}: expected ${expected.tables[index]}, got ${actual.tables[index]}`;
  }
  return null;
}

/** Entry by entry; a function whose name is not known may be any function. */
function sameEntries(expected: string, actual: string): boolean {
  const others = actual.split(' ');
  const entries = expected.split(' ');
  if (entries.length !== others.length) return false;
  return entries.every((entry, index) => {
    const other = others[index];
    if (entry === other) return true;
    return entry !== '-' && other !== '-' && (entry === 'function' || other === 'function');
  });
}

/** The first difference between two memories, or null. */
export function memoryDifference(expected: Uint8Array, actual: Uint8Array): string | null {
  if (expected.length !== actual.length) return `${expected.length} bytes, got ${actual.length}`;
  if (Buffer.compare(expected, actual) === 0) return null;
  const at = expected.findIndex((byte, index) => byte !== actual[index]);
  const hex = (bytes: Uint8Array) => Buffer.from(bytes.subarray(at, at + 8)).toString('hex');
  return `at ${at}: expected ${hex(expected)}, got ${hex(actual)}`;
}
