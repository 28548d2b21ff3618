import { SimError } from '../../../sim/index.ts';
import { malformed } from '../../binary/errors.ts';
import { KIND, KIND_NAMES, type Import, type ParsedModule } from '../../binary/module.ts';
import { parseModule } from '../../binary/parse.ts';
import type { CoreInstance, CoreItem, ModuleInstantiation } from './entities.ts';
import type { CoreFunctionName, HostImport } from './host-import.ts';
import { unsupported } from './scope.ts';

/** Where an import of a core module leads: to the memory, to another module, or to the host. */
export type WireTarget =
  | { readonly kind: 'memory' }
  | { readonly kind: 'export'; readonly module: number; readonly name: string }
  | { readonly kind: 'host'; readonly index: number };

/** The core modules of a component and all wires between them, as the component has them. */
export interface Wiring {
  readonly modules: readonly ParsedModule[];
  /** Of each module, in the order of its imports. */
  readonly targets: readonly (readonly WireTarget[])[];
  readonly hosts: readonly HostImport[];
}

/** Parses the core modules and turns each import into a target. */
export function wire(bytes: Uint8Array, instantiations: readonly ModuleInstantiation[]): Wiring {
  const modules = instantiations.map(({ range }) => parseAt(bytes, range.start, range.end));
  const hosts = new Hosts();
  const targets = modules.map((module, index) =>
    module.imports.map((item) => findTarget(modules, instantiations[index], item, hosts)),
  );
  return { modules, targets, hosts: hosts.list };
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

function findTarget(
  modules: readonly ParsedModule[],
  { range, args }: ModuleInstantiation,
  { module, name, kind }: Import,
  hosts: Hosts,
): WireTarget {
  if (kind === KIND.memory) return { kind: 'memory' };
  const what = `the ${KIND_NAMES[kind]} ${module}.${name} of a core module`;
  const item = itemOf(args.get(module), name);
  if (item === null) throw malformed(range.start, `${what} is not given`);
  if (item.kind === 'export') {
    const exported = modules[item.instance].exports.find((one) => one.name === item.name);
    if (exported?.kind !== kind) throw malformed(range.start, `${what} is given something else`);
    return { kind: 'export', module: item.instance, name: item.name };
  }
  if (kind !== KIND.function) throw malformed(range.start, `${what} is given a function`);
  return { kind: 'host', index: hosts.index(item) };
}

function itemOf(instance: CoreInstance | undefined, name: string): CoreItem | null {
  if (instance === undefined) return null;
  if (instance.kind === 'module') return { kind: 'export', instance: instance.instance, name };
  return instance.items.get(name) ?? null;
}

/** Numbers the functions of the host in the order in which core modules import them. */
class Hosts {
  readonly list: HostImport[] = [];
  private readonly byItem = new Map<CoreItem, number>();

  index(item: Exclude<CoreItem, { kind: 'export' }>): number {
    const known = this.byItem.get(item);
    if (known !== undefined) return known;
    this.byItem.set(item, this.list.length);
    this.list.push(describe(item));
    return this.list.length - 1;
  }
}

function describe(item: Exclude<CoreItem, { kind: 'export' }>): HostImport {
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

/** A function that the component names as its own: realloc, a destructor, the entry. */
export function functionName(item: CoreItem | null, offset: number): CoreFunctionName | null {
  if (item === null) return null;
  if (item.kind !== 'export') throw unsupported(offset, "a host function as a component's own");
  return { module: item.instance, name: item.name };
}
