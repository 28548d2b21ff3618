import { malformed, refused, tooLarge } from '../../binary/errors.ts';
import { weightOf, type Type } from '../abi/type.ts';
import type {
  ByteRange,
  ComponentDefinition,
  ComponentFunction,
  ComponentInstance,
  CoreInstance,
  CoreItem,
  Entity,
  ModuleInstantiation,
  TypeDefinition,
} from './entities.ts';

/** Definitions worked through in one component, nested ones each time they are instantiated. */
export const DEFINITIONS_MAX = 1_000_000;
/** Nodes of one type, all parts counted each time they occur. */
export const TYPE_WEIGHT_MAX = 10_000;
/** The same, all types of the component together. */
export const TYPES_WEIGHT_MAX = 2_000_000;
/** Nested components and instance types. */
export const NESTING_MAX = 16;
/** Instances of core modules: each has its own slice of the saved globals. */
export const CORE_INSTANCES_MAX = 8;

/** What all scopes of one component share. */
export class LinkState {
  readonly bytes: Uint8Array;
  readonly instantiations: ModuleInstantiation[] = [];
  resourceCount = 0;
  private definitions = 0;
  private weight = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Counts a definition against the limit. */
  define(offset: number): void {
    this.definitions++;
    if (this.definitions > DEFINITIONS_MAX) throw tooLarge(offset, 'definitions', DEFINITIONS_MAX);
  }

  /** Counts the parts of a type against the limits, before the type is made. */
  weigh(parts: readonly (Type<unknown> | null)[], offset: number): void {
    const weight = weightOf(parts);
    if (weight > TYPE_WEIGHT_MAX) throw tooLarge(offset, 'parts in a type', TYPE_WEIGHT_MAX);
    this.weight += weight;
    if (this.weight > TYPES_WEIGHT_MAX) throw tooLarge(offset, 'types', TYPES_WEIGHT_MAX);
  }

  instantiate(offset: number, instantiation: ModuleInstantiation): CoreInstance {
    if (this.instantiations.length === CORE_INSTANCES_MAX) {
      throw tooLarge(offset, 'core instances', CORE_INSTANCES_MAX);
    }
    this.instantiations.push(instantiation);
    return { kind: 'module', instance: this.instantiations.length - 1 };
  }
}

/** The index spaces of one component or instance type (component model, Binary.md). */
export class Scope {
  readonly state: LinkState;
  readonly parent: Scope | null;
  readonly depth: number;
  readonly coreFunctions: CoreItem[] = [];
  readonly coreTables: CoreItem[] = [];
  readonly coreMemories: CoreItem[] = [];
  readonly coreGlobals: CoreItem[] = [];
  readonly coreModules: ByteRange[] = [];
  readonly coreInstances: CoreInstance[] = [];
  readonly functions: ComponentFunction[] = [];
  readonly types: TypeDefinition[] = [];
  readonly instances: ComponentInstance[] = [];
  readonly components: ComponentDefinition[] = [];
  readonly exports = new Map<string, Entity>();

  constructor(state: LinkState, parent: Scope | null, offset: number, depth?: number) {
    this.state = state;
    this.parent = parent;
    this.depth = depth ?? (parent === null ? 0 : parent.depth + 1);
    if (this.depth > NESTING_MAX) throw tooLarge(offset, 'nested components', NESTING_MAX);
  }

  /** Adds an entity to the index space of its sort. */
  add(entity: Entity): void {
    switch (entity.sort) {
      case 'function':
        this.functions.push(entity.value);
        break;
      case 'type':
        this.types.push(entity.value);
        break;
      case 'instance':
        this.instances.push(entity.value);
        break;
      case 'component':
        this.components.push(entity.value);
        break;
      case 'module':
        this.coreModules.push(entity.value);
        break;
    }
  }

  /** The enclosing scope that many levels up. */
  outer(levels: number, offset: number): Scope {
    const scopes: Scope[] = [this];
    for (let up = this.parent; up !== null; up = up.parent) scopes.push(up);
    return at(scopes, levels, 'enclosing component', offset);
  }

  export(name: string, entity: Entity, offset: number): void {
    if (this.exports.has(name)) throw malformed(offset, `the export ${name} occurs twice`);
    this.exports.set(name, entity);
    this.add(entity);
  }
}

/** The element of an index space, or an error with the offset. */
export function at<T>(space: readonly T[], index: number, what: string, offset: number): T {
  if (index >= space.length) throw malformed(offset, `there is no ${what} ${index}`);
  return space[index];
}

/** A feature of the component model that is not supported. */
export function unsupported(offset: number, feature: string): Error {
  return refused(
    offset,
    feature,
    'build the component for WASI 0.2 (wasm32-wasip2), without composition or async',
  );
}
