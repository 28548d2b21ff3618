import type { ModuleModel } from './model.ts';
import {
  ScriptedHost,
  describe,
  describeFailure,
  fromResult,
  toResult,
  type HostSide,
} from './scripted-host.ts';
import { COUNT_EXPORT } from './rewriters.ts';
import { describeTable, plainNames, planCalls, type Trace } from './trace.ts';

export function memoryOf(
  exports: Readonly<Record<string, unknown>>,
  name = 'memory',
): WebAssembly.Memory {
  const memory = exports[name];
  if (!(memory instanceof WebAssembly.Memory)) throw new Error(`no memory ${name}`);
  return memory;
}

export function functionOf(
  exports: Readonly<Record<string, unknown>>,
  name: string,
): (...args: unknown[]) => unknown {
  const exported = exports[name];
  if (typeof exported !== 'function') throw new Error(`no function ${name}`);
  return exported as (...args: unknown[]) => unknown;
}

export interface PlainTrace extends Trace {
  /** Instructions executed since the start, after each planned call; see rewriters.ts. */
  readonly executed: readonly number[];
  /** The same from the start of a planned call to each call of an import. */
  readonly countsAtCalls: readonly number[];
}

/**
 * Runs the planned calls on the engine as it is: the reference of every comparison. The module must
 * be of `withCount(model)`; the count is read after each call (and does not count the reading).
 */
export function runPlain(module: WebAssembly.Module, model: ModuleModel, seed: number): PlainTrace {
  const host = new ScriptedHost(model, seed);
  const functions: Record<string, (...args: unknown[]) => unknown> = {};
  for (const imported of model.imports) {
    functions[imported.name] = (...args) => toResult(host.answer(imported, args));
  }
  const memories: Uint8Array[] = [];
  const executed: number[] = [];
  let instance: WebAssembly.Instance;
  try {
    instance = new WebAssembly.Instance(module, { env: functions });
  } catch (error) {
    host.log.push(`start ! ${describeFailure(error)}`);
    return { log: host.log, memories, tables: [], executed: [], countsAtCalls: [] };
  }
  const { exports } = instance;
  const bytes = () => new Uint8Array(memoryOf(exports).buffer);
  let reads = 0;
  const count = () => {
    reads += 1;
    return Number(functionOf(exports, COUNT_EXPORT)()) - reads;
  };
  const side: HostSide = {
    executed: count,
    memory: bytes,
    touched: () => undefined,
    call: (name) => {
      functionOf(exports, name)();
    },
  };
  host.side = side;
  for (const { exportName, type, args } of planCalls(model, seed)) {
    const shape = model.types[type];
    host.log.push(exportName);
    host.beginCall();
    try {
      const results = fromResult(functionOf(exports, exportName)(...args), shape);
      const texts = shape.results.map((result, index) => describe(results[index], result));
      host.log.push(`${exportName} = ${texts.join(', ')}`);
    } catch (error) {
      host.log.push(`${exportName} ! ${describeFailure(error)}`);
    }
    memories.push(bytes().slice());
    executed.push(count());
  }
  const tables = model.tables.map((_, index) =>
    describeTable(exports[`table${index}`] as WebAssembly.Table, plainNames(exports, model)),
  );
  return { log: host.log, memories, tables, executed, countsAtCalls: host.countsAtCalls };
}
