import { assert, type EventKind } from '../../sim/index.ts';
import { COST_NS, bytesNs } from '../preview1/costs.ts';
import type { HostContext } from '../runtime/host-context.ts';
import type { HostFunction, HostSet } from '../runtime/host-set.ts';
import { BLOCKED, lowerImport } from './abi/function.ts';
import { Transfer, type Realloc } from './abi/transfer.ts';
import { countBytes, digestCall, summarise } from './effect-digest.ts';
import type { BoundImport, BoundProgram } from './guest-program.ts';
import type { CoreFunctionName } from './link/host-import.ts';
import { WasiHost } from './wasi/wasi-host.ts';

type BoundFunction = Extract<BoundImport, { kind: 'function' }>;
type BoundResource = Extract<BoundImport, { kind: 'resource' }>;

/** The host side of one component instance: its imports as core functions, and its state. */
export class ComponentHost implements HostSet {
  readonly functions: readonly HostFunction[];
  private readonly context: HostContext;
  private readonly wasi: WasiHost;
  private readonly returnsResult: boolean;
  private instances: readonly WebAssembly.Instance[] = [];

  constructor(program: BoundProgram, context: HostContext) {
    this.context = context;
    this.wasi = new WasiHost(context);
    this.returnsResult = program.returnsResult;
    this.functions = program.imports.map((one, index) => {
      const kind = context.port.eventKind(program.hostNames[index]);
      return one.kind === 'function' ? this.bind(one, kind) : this.bindResource(one, kind);
    });
  }

  attach(instances: readonly WebAssembly.Instance[]): void {
    this.instances = instances;
  }

  /** `wasi:cli/run` returns a `result`: 0 for ok, 1 for the error. */
  exitCode(result: unknown): number {
    return this.returnsResult && result === 1 ? 1 : 0;
  }

  capture(): unknown {
    return this.wasi.capture();
  }

  restore(state: unknown): void {
    this.wasi.restore(state);
  }

  private bind({ row, lowering, encoding, realloc }: BoundFunction, kind: EventKind): HostFunction {
    const { context, wasi } = this;
    const allocate = realloc === null ? null : this.allocator(realloc);
    const transfer = new Transfer(context, wasi.handles, encoding, allocate);
    return lowerImport(lowering, transfer, (values, core) => {
      wasi.extraNs = 0;
      const value = row.run(wasi, values);
      if (value === BLOCKED) return value;
      context.port.effect(kind, digestCall(core, values, value), summarise(value));
      const moved = lowering.movesBytes ? countBytes(values) + countBytes([value]) : 0;
      context.charge(row.costNs + wasi.extraNs + bytesNs(moved) + wasi.files.takeDelayNs());
      return value;
    });
  }

  private bindResource(one: BoundResource, kind: EventKind): HostFunction {
    const { context } = this;
    const { handles } = this.wasi;
    const noHandle = (index: number): never =>
      context.trap('canonical-abi', `${index} is not a handle for ${one.resource}`);
    switch (one.operation) {
      case 'new':
        return (representation) => {
          const index = handles.add(one.resource, Number(representation));
          return index > 0 ? index : context.trap('canonical-abi', 'the table of handles is full');
        };
      case 'rep':
        return (index) => {
          const value = handles.get(one.resource, Number(index));
          return typeof value === 'number' ? value : noHandle(Number(index));
        };
      case 'drop':
        return (index) => {
          const value = handles.remove(one.resource, Number(index));
          if (value === undefined) return noHandle(Number(index));
          context.port.effect(kind, Number(index), 0);
          context.charge(COST_NS.descriptor);
          if (typeof value !== 'number') one.row?.drop(this.wasi, value);
          else if (one.destructor !== null) this.destroy(one.destructor, value);
          return undefined;
        };
    }
  }

  private destroy(destructor: CoreFunctionName, representation: number): void {
    const call = this.exported(destructor);
    this.context.reenter(() => call(representation));
  }

  private allocator(name: CoreFunctionName): Realloc {
    return (pointer, size, alignment, wanted) => {
      const call = this.exported(name);
      return Number(this.context.reenter(() => call(pointer, size, alignment, wanted)));
    };
  }

  private exported({ module, name }: CoreFunctionName): (...args: number[]) => unknown {
    const exported = this.instances[module]?.exports[name];
    assert(typeof exported === 'function', 'a function that the component names is exported');
    return exported as (...args: number[]) => unknown;
  }
}
