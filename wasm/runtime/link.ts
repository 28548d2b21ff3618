import { assert } from '../../sim/index.ts';
import type { Layout } from '../instrument/layout.ts';
import { wrapHostCall, type Slot } from './host-call.ts';
import type { Machine } from './machine.ts';
import type { ImportTarget } from './program.ts';

/** A module made ready: instrumented, compiled, with its imports resolved. */
export interface PreparedModule {
  readonly module: WebAssembly.Module;
  readonly layout: Layout;
  readonly imports: readonly PreparedImport[];
  /** Whether its limits are the memory's. */
  readonly definesState: boolean;
}

export interface PreparedImport {
  readonly module: string;
  readonly name: string;
  readonly target: ImportTarget;
  /** Of a host function: how many parameters, and whether its result is an i64. */
  readonly parameterCount: number;
  readonly bigResult: boolean;
}

/** Instances that are linked to one memory. They serve one guest at a time. */
export interface Linked {
  readonly instances: readonly WebAssembly.Instance[];
  readonly memory: WebAssembly.Memory;
  readonly slot: Slot;
}

/** Instantiates the modules in order. Nothing of the guest runs yet. */
export function link(modules: readonly PreparedModule[]): Linked {
  const slot: Slot = { machine: null, functions: [] };
  const state = {
    preempt: () => (slot.machine as Machine).preempt(),
    trap: (code: number) => (slot.machine as Machine).noteTrap(code),
    grow: (delta: number) => (slot.machine as Machine).askToGrow(delta >>> 0),
  };
  let memory: WebAssembly.Memory | null = null;
  const mainIndex = modules.findIndex((module) => module.definesState);
  const main = modules[mainIndex] as PreparedModule;
  if (main.layout.memory.imported !== null) {
    const { physicalPagesMin, physicalPagesMax } = main.layout.memory;
    memory = new WebAssembly.Memory({ initial: physicalPagesMin, maximum: physicalPagesMax });
  }
  const instances: WebAssembly.Instance[] = [];
  for (const prepared of modules) {
    const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
    imports['athanor'] = { ...state, ...(memory === null ? {} : { memory }) };
    for (const item of prepared.imports) {
      const group = (imports[item.module] ??= {});
      group[item.name] = resolve(item, instances, memory, slot);
    }
    instances.push(new WebAssembly.Instance(prepared.module, imports));
  }
  if (memory === null) {
    const exported = instances[mainIndex]?.exports[main.layout.memory.exportName];
    assert(exported instanceof WebAssembly.Memory, 'the main module exports its memory');
    memory = exported;
  }
  return { instances, memory, slot };
}

function resolve(
  item: PreparedImport,
  instances: readonly WebAssembly.Instance[],
  memory: WebAssembly.Memory | null,
  slot: Slot,
): WebAssembly.ImportValue {
  const { target } = item;
  switch (target.kind) {
    case 'memory':
      assert(memory !== null, 'a module that imports the memory is linked to one');
      return memory;
    case 'export': {
      if (target.module >= instances.length) return bindLate(instances, target);
      const value = instances[target.module]?.exports[target.name];
      assert(value !== undefined, 'an import from another module is exported there');
      return value as WebAssembly.ImportValue;
    }
    case 'host':
      return wrapHostCall(slot, target.index, item.parameterCount, item.bigResult ? 0n : 0);
  }
}

/** A function of a module that is instantiated later: looked up when it is called. */
function bindLate(
  instances: readonly WebAssembly.Instance[],
  { module, name }: { readonly module: number; readonly name: string },
): (...args: unknown[]) => unknown {
  return (...args) => {
    const value = instances[module]?.exports[name];
    assert(typeof value === 'function', 'a function bound late is exported');
    return (value as (...values: unknown[]) => unknown)(...args);
  };
}
