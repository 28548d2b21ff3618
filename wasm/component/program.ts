import { SimError } from '../../sim/index.ts';
import { malformed } from '../binary/errors.ts';
import { parseModule } from '../binary/parse.ts';
import { KIND, KIND_NAMES, type ParsedModule } from '../binary/module.ts';
import { ByteReader } from '../binary/reader.ts';
import type { ImportTarget, ProgramImport } from '../runtime/program.ts';
import type {
  CoreInstance,
  CoreItem,
  Entity,
  LiftedFunction,
  ModuleInstantiation,
} from './link/entities.ts';
import type { CoreFunctionName, HostImport } from './link/host-import.ts';
import { readComponent } from './link/read-component.ts';
import { withoutVersion } from './link/read-declarations.ts';
import { LinkState, Scope, unsupported } from './link/scope.ts';
import { MEMORY_IMPORT, shareMemory } from './link/share-memory.ts';

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
  const linker = new Linker(bytes, state.instantiations);
  const modules = linker.modules();
  return {
    modules,
    hosts: linker.hosts,
    entry: findEntry(exports),
    exports: [...exports].flatMap(([name, entity]) => exportNames(name, entity)),
  };
}

function exportNames(name: string, entity: Entity): string[] {
  if (entity.sort !== 'instance') return [name];
  return [...entity.value.exports.keys()].map((inner) => `${name}#${inner}`);
}

/** Turns core instances and items into indexes of modules and host imports. */
class Linker {
  readonly hosts: HostImport[] = [];
  private readonly byItem = new Map<CoreItem, number>();
  private readonly parsed: readonly ParsedModule[];
  private readonly instantiations: readonly ModuleInstantiation[];

  constructor(bytes: Uint8Array, instantiations: readonly ModuleInstantiation[]) {
    this.instantiations = instantiations;
    this.parsed = instantiations.map(({ range }) => parseAt(bytes, range.start, range.end));
  }

  modules(): ComponentModule[] {
    const definers = this.parsed.filter((module) => definesMemory(module));
    if (definers.length !== 1) {
      throw unsupported(0, `a component with ${definers.length} memories`);
    }
    return this.parsed.map((module, index) => {
      const imports: ProgramImport[] = module.imports.map((item) => ({
        module: item.module,
        name: item.name,
        target: this.target(index, item.module, item.name, item.kind),
      }));
      if (module.importedMemoryCount === 0) {
        imports.push({ ...MEMORY_IMPORT, target: { kind: 'memory' } });
      }
      const binary = shareMemory(module);
      return { binary, plain: module.bytes, definesMemory: definesMemory(module), imports };
    });
  }

  private target(index: number, moduleName: string, name: string, kind: number): ImportTarget {
    if (kind === KIND.memory) return { kind: 'memory' };
    const { range, args } = this.instantiations[index];
    const what = `the ${KIND_NAMES[kind]} ${moduleName}.${name} of a core module`;
    const item = itemOf(args.get(moduleName), name);
    if (item === null) throw malformed(range.start, `${what} is not given`);
    if (item.kind === 'export') {
      const exported = this.exported(item.instance, item.name);
      if (exported?.kind !== kind) throw malformed(range.start, `${what} is given something else`);
      return { kind: 'export', module: item.instance, name: item.name };
    }
    if (kind !== KIND.function) throw malformed(range.start, `${what} is given a function`);
    return { kind: 'host', index: this.host(item) };
  }

  private exported(instance: number, name: string): { readonly kind: number } | undefined {
    return this.parsed[instance].exports.find((one) => one.name === name);
  }

  private host(item: Exclude<CoreItem, { kind: 'export' }>): number {
    const known = this.byItem.get(item);
    if (known !== undefined) return known;
    this.byItem.set(item, this.hosts.length);
    this.hosts.push(this.describe(item));
    return this.hosts.length - 1;
  }

  private describe(item: Exclude<CoreItem, { kind: 'export' }>): HostImport {
    const { offset } = item;
    if (item.kind === 'resource') {
      const { operation, resource } = item;
      const destructor = functionName(resource.destructor, offset);
      return { kind: 'resource', operation, resource: resource.name, destructor, offset };
    }
    const { interfaceName, name, type } = item.func;
    const { encoding } = item.options;
    const realloc = functionName(item.options.realloc, offset);
    return { kind: 'function', interfaceName, name, type, encoding, realloc, offset };
  }
}

function definesMemory(module: ParsedModule): boolean {
  return module.memories.length > module.importedMemoryCount;
}

/** Parses a core module; an error's place names the module's own place in the component. */
function parseAt(bytes: Uint8Array, start: number, end: number): ParsedModule {
  try {
    return parseModule(bytes.subarray(start, end));
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    const { code, message, remedy } = error;
    const place = `core module at offset ${start}, ${error.place ?? ''}`;
    throw new SimError({ code, message, place, ...(remedy === undefined ? {} : { remedy }) });
  }
}

function itemOf(instance: CoreInstance | undefined, name: string): CoreItem | null {
  if (instance === undefined) return null;
  if (instance.kind === 'module') return { kind: 'export', instance: instance.instance, name };
  return instance.items.get(name) ?? null;
}

function functionName(item: CoreItem | null, offset: number): CoreFunctionName | null {
  if (item === null) return null;
  if (item.kind !== 'export') throw unsupported(offset, "a host function as a component's own");
  return { module: item.instance, name: item.name };
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
  const text = type.result?.text ?? 'nothing';
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
  return { main, returnsResult: text === 'result<_,_>' };
}
