import { SimError } from '../../sim/index.ts';
import { malformed } from '../binary/errors.ts';
import { KIND, MODE, type ParsedModule } from '../binary/module.ts';
import { ByteReader } from '../binary/reader.ts';
import { typeName } from '../binary/types.ts';
import type { ProgramImport } from '../runtime/program.ts';
import { flatSignature } from './abi/function.ts';
import type { Entity, LiftedFunction } from './link/entities.ts';
import type { CoreFunctionName, HostImport } from './link/host-import.ts';
import { readComponent } from './link/read-component.ts';
import { withoutVersion } from './link/read-declarations.ts';
import { LinkState, Scope, unsupported } from './link/scope.ts';
import { MEMORY_IMPORT, shareMemory } from './link/share-memory.ts';
import { TrampolineResolver } from './link/trampolines.ts';
import { functionName, wire, type WireTarget, type Wiring } from './link/wiring.ts';

export { isComponent } from './link/read-component.ts';

/** A core module of a component, its imports resolved. */
export interface ComponentModule {
  /** The module, made to import its memory (see `shareMemory`). */
  readonly binary: Uint8Array;
  /** The module as it stands in the component. */
  readonly plain: Uint8Array;
  readonly definesMemory: boolean;
  readonly imports: readonly ProgramImport[];
}

/** The function that is the component's program. */
export interface ComponentEntry {
  readonly main: CoreFunctionName;
  /** Whether the result is a `result`, whose error means exit code 1. */
  readonly returnsResult: boolean;
}

/** A component taken apart: core modules in order of instantiation and how they are wired. */
export interface TakenApart {
  readonly modules: readonly ComponentModule[];
  readonly hosts: readonly HostImport[];
  /** Called before the entry, one after another. */
  readonly initialisers: readonly CoreFunctionName[];
  readonly entry: ComponentEntry;
  /** Names of all that the component exports, with the names within instances after a `#`. */
  readonly exports: readonly string[];
}

/**
 * Takes a component apart: works out all its definitions, so that what remains is core modules,
 * the wires between them, and functions of the host. Throws SimError `guest/…` with the offset for
 * anything malformed, too large, or not supported.
 */
export function takeApart(bytes: Uint8Array): TakenApart {
  const state = new LinkState(bytes);
  const { exports } = readComponent(new ByteReader(bytes), new Scope(state, null, 0), null);
  const wiring = wire(bytes, state.instantiations);
  const layout = new ModuleLayout(wiring);
  const entry = findEntry(exports);
  return {
    modules: layout.modules(),
    hosts: wiring.hosts.map((host) => layout.moveHost(host)),
    initialisers: layout.initialisers(),
    entry: { ...entry, main: layout.move(entry.main) },
    exports: [...exports].flatMap(([name, entity]) => exportNames(name, entity)),
  };
}

function exportNames(name: string, entity: Entity): string[] {
  if (entity.sort !== 'instance') return [name];
  return [...entity.value.exports.keys()].map((inner) => `${name}#${inner}`);
}

/** Which core modules remain, in which order, and what their imports come to. */
class ModuleLayout {
  private readonly wiring: Wiring;
  private readonly resolver: TrampolineResolver;
  /** Places in the component of the modules that remain, in our order. */
  private readonly order: readonly number[];

  constructor(wiring: Wiring) {
    this.wiring = wiring;
    this.resolver = new TrampolineResolver(wiring);
    const kept = [...wiring.modules.keys()].filter((at) => !this.resolver.dissolved.has(at));
    const starting = kept.filter((at) => wiring.modules[at].start >= 0);
    const first = kept.filter((at) => {
      // Start functions are called in the order of modules, once all of them stand.
      const keepsOrder = starting.length < 2 || !starting.includes(at);
      return keepsOrder && canComeFirst(wiring.modules[at]);
    });
    this.order = [...first, ...kept.filter((at) => !first.includes(at))];
  }

  modules(): ComponentModule[] {
    const { modules } = this.wiring;
    const definers = modules.filter((module) => definesMemory(module)).length;
    if (definers !== 1) throw unsupported(0, `a component with ${definers} memories`);
    return this.order.map((at) => {
      const module = modules[at];
      const imports = module.imports.map((item, place): ProgramImport => {
        const target = this.resolver.resolve(this.wiring.targets[at][place]);
        if (item.kind === KIND.function) this.checkType(module, item.index, target);
        return { module: item.module, name: item.name, target: this.moveTarget(target) };
      });
      if (module.importedMemoryCount === 0) {
        imports.push({ ...MEMORY_IMPORT, target: { kind: 'memory' } });
      }
      const binary = shareMemory(module);
      return { binary, plain: module.bytes, definesMemory: definesMemory(module), imports };
    });
  }

  initialisers(): CoreFunctionName[] {
    return this.resolver.initialisers.map((target) => {
      if (target.kind !== 'export')
        throw malformed(0, 'a start function is no function of a module');
      return this.move(target);
    });
  }

  /** A function's name with its module's place among those that remain. */
  move({ module, name }: CoreFunctionName): CoreFunctionName {
    const target = this.resolver.resolve({ kind: 'export', module, name });
    if (target.kind !== 'export') throw unsupported(0, "a host function as a component's own");
    return { module: this.order.indexOf(target.module), name: target.name };
  }

  moveHost(host: HostImport): HostImport {
    const moved = (name: CoreFunctionName | null): CoreFunctionName | null =>
      name === null ? null : this.move(name);
    if (host.kind === 'function') return { ...host, realloc: moved(host.realloc) };
    return { ...host, destructor: moved(host.destructor) };
  }

  private moveTarget(target: WireTarget): WireTarget {
    return target.kind === 'export' ? { kind: 'export', ...this.move(target) } : target;
  }

  /** Holds an imported function's core type against that of what is given. */
  private checkType(module: ParsedModule, index: number, target: WireTarget): void {
    const { type } = module.functions[index];
    const wanted = signature(type.params.map(typeName), type.results.map(typeName));
    const given = this.signatureOf(target);
    if (wanted !== given) {
      throw malformed(0, `a core module imports a function as ${wanted} and is given ${given}`);
    }
  }

  private signatureOf(target: WireTarget): string {
    if (target.kind === 'memory') return 'a memory';
    if (target.kind === 'host') {
      const host = this.wiring.hosts[target.index];
      if (host.kind === 'resource') {
        return signature(['i32'], host.operation === 'drop' ? [] : ['i32']);
      }
      const { params, results } = flatSignature(host.type);
      return signature(params, results);
    }
    const module = this.wiring.modules[target.module];
    const exported = module.exports.find((one) => one.name === target.name);
    const type = module.functions[exported?.index ?? 0].type;
    return signature(type.params.map(typeName), type.results.map(typeName));
  }
}

function signature(params: readonly string[], results: readonly string[]): string {
  return `(${params.join()}) -> (${results.join()})`;
}

function definesMemory(module: ParsedModule): boolean {
  return module.memories.length > module.importedMemoryCount;
}

/**
 * Whether instantiating a module can be seen by no other: adapters. They come first, so that those
 * who import from them call them directly; what they import from later ones is bound when called.
 */
function canComeFirst(module: ParsedModule): boolean {
  return (
    !definesMemory(module) &&
    module.data.every((segment) => segment.mode !== MODE.active) &&
    module.imports.every((item) => item.kind === KIND.function || item.kind === KIND.memory)
  );
}

/** Exports that are a program by themselves, when there is no `wasi:cli/run`. */
const PLAIN_ENTRIES = ['run', 'main', 'start'];

function findEntry(exports: ReadonlyMap<string, Entity>): ComponentEntry {
  for (const [name, entity] of exports) {
    if (entity.sort !== 'instance' || withoutVersion(name) !== 'wasi:cli/run') continue;
    const run = entity.value.exports.get('run');
    if (run?.sort === 'function' && run.value.kind === 'lifted') return entryOf(run.value);
  }
  for (const name of PLAIN_ENTRIES) {
    const entity = exports.get(name);
    if (entity?.sort === 'function' && entity.value.kind === 'lifted') return entryOf(entity.value);
  }
  const found = [...exports.keys()].join(', ');
  throw new SimError({
    code: 'guest/entry',
    message: `the component is no program: it exports neither wasi:cli/run nor a function run, main or start; it exports ${found === '' ? 'nothing' : found}`,
    remedy: 'build it as a command (world wasi:cli/command), or export run: func()',
  });
}

function entryOf(lifted: LiftedFunction): ComponentEntry {
  const { type } = lifted;
  const plain = type.result === null || type.result.flat.length === 1;
  if (type.params.length > 0 || !plain) {
    throw new SimError({
      code: 'guest/entry',
      message: `the component's entry is ${type.text}: expected no parameters and no result, or one without payload`,
      remedy: 'export run: func() -> result',
    });
  }
  const main = functionName(lifted.core, 0);
  if (main === null) throw malformed(0, 'the entry is lifted from nothing');
  return { main, returnsResult: type.result?.text === 'result<_,_>' };
}
