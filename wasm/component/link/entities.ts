import type { FunctionType } from '../abi/function.ts';
import type { StringEncoding } from '../abi/transfer.ts';
import type { Type } from '../abi/type.ts';

/**
 * What the definitions of a component stand for once everything that can be known without running
 * it is worked out: which core instance exports what, which function is the host's.
 */

/** A range of bytes of the component file. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** An export of a core module's instance: a function, table, memory, global or tag. */
export interface CoreExport {
  readonly kind: 'export';
  /** In order of instantiation. */
  readonly instance: number;
  readonly name: string;
}

/** A function of the host as core code calls it. */
export interface LoweredFunction {
  readonly kind: 'lower';
  readonly func: ImportedFunction;
  readonly options: CanonicalOptions;
  readonly offset: number;
}

export interface ResourceFunction {
  readonly kind: 'resource';
  readonly operation: 'new' | 'drop' | 'rep';
  readonly resource: ResourceDefinition;
  readonly offset: number;
}

export type CoreItem = CoreExport | LoweredFunction | ResourceFunction;

/** A core instance: made from a module, or a bag of items of others. */
export type CoreInstance =
  | { readonly kind: 'module'; readonly instance: number }
  | { readonly kind: 'bag'; readonly items: ReadonlyMap<string, CoreItem> };

export interface CanonicalOptions {
  readonly encoding: StringEncoding;
  readonly memory: CoreItem | null;
  readonly realloc: CoreItem | null;
  readonly postReturn: CoreItem | null;
}

export interface ResourceDefinition {
  /** `wasi:io/streams#input-stream` for the host's, `#<number>` for the component's own. */
  readonly name: string;
  /** Whether the component itself defines it. */
  readonly local: boolean;
  readonly destructor: CoreItem | null;
}

export interface ImportedFunction {
  readonly kind: 'imported';
  /** With its version; empty for a function that is imported by itself. */
  readonly interfaceName: string;
  readonly name: string;
  readonly type: FunctionType;
}

export interface LiftedFunction {
  readonly kind: 'lifted';
  readonly core: CoreItem;
  readonly options: CanonicalOptions;
  readonly type: FunctionType;
}

export type ComponentFunction = ImportedFunction | LiftedFunction;

export type TypeDefinition =
  | { readonly kind: 'value'; readonly type: Type<unknown> }
  | { readonly kind: 'function'; readonly type: FunctionType }
  | { readonly kind: 'resource'; readonly resource: ResourceDefinition }
  /** An instance type is read again for each import, since each makes its own resources. */
  | { readonly kind: 'instance'; readonly range: ByteRange; readonly scope: unknown }
  | { readonly kind: 'component' };

export interface ComponentInstance {
  readonly exports: ReadonlyMap<string, Entity>;
}

export type Entity =
  | { readonly sort: 'function'; readonly value: ComponentFunction }
  | { readonly sort: 'type'; readonly value: TypeDefinition }
  | { readonly sort: 'instance'; readonly value: ComponentInstance }
  | { readonly sort: 'component'; readonly value: ComponentDefinition }
  | { readonly sort: 'module'; readonly value: ByteRange };

/** A nested component, not yet instantiated. */
export interface ComponentDefinition {
  readonly range: ByteRange;
  readonly scope: unknown;
}

/** One instantiation of a core module. */
export interface ModuleInstantiation {
  readonly range: ByteRange;
  /** Import module name to the instance that serves it. */
  readonly args: ReadonlyMap<string, CoreInstance>;
}
