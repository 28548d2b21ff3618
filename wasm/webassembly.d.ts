/** The part of the WebAssembly JavaScript API (W3C, version 2.0) that the engine uses. */
declare namespace WebAssembly {
  type ImportValue = CallableFunction | Memory | Table | Global | Tag | number;
  type ModuleImports = Record<string, ImportValue>;
  type Imports = Record<string, ModuleImports>;
  type ExternalKind = 'function' | 'table' | 'memory' | 'global' | 'tag';

  interface ImportDescriptor {
    readonly module: string;
    readonly name: string;
    readonly kind: ExternalKind;
  }
  interface ExportDescriptor {
    readonly name: string;
    readonly kind: ExternalKind;
  }

  class Module {
    constructor(bytes: Uint8Array);
    static imports(module: Module): ImportDescriptor[];
    static exports(module: Module): ExportDescriptor[];
    private readonly module: never;
  }
  class Instance {
    constructor(module: Module, imports?: Imports);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number });
    readonly buffer: ArrayBuffer;
    grow(deltaPages: number): number;
  }
  class Table {
    constructor(descriptor: {
      element: 'anyfunc' | 'externref';
      initial: number;
      maximum?: number;
    });
    readonly length: number;
    get(index: number): unknown;
    set(index: number, value?: unknown): void;
    grow(delta: number, value?: unknown): number;
  }
  class Global<T = number | bigint> {
    constructor(descriptor: { value: string; mutable?: boolean }, value?: T);
    value: T;
  }
  class Tag {
    constructor(descriptor: { parameters: string[] });
    private readonly tag: never;
  }
  class Exception {
    constructor(tag: Tag, payload: unknown[]);
    is(tag: Tag): boolean;
    getArg(tag: Tag, index: number): unknown;
  }
  class RuntimeError extends Error {}
  class CompileError extends Error {}
  class LinkError extends Error {}

  function validate(bytes: Uint8Array): boolean;
}
