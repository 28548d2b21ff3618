import { decodeCanonical, encodeCanonical, sha256 } from '../../sim/index.ts';
import { functionImports } from '../binary/imports.ts';
import { instrument } from '../instrument/index.ts';
import type { Layout } from '../instrument/layout.ts';
import { CODE_VERSION, type InstrumentOptions } from '../instrument/options.ts';
import type { ProgramModule } from './program.ts';

/** Keeps instrumented code between processes. What it returns is checked; it may forget. */
export interface CodeCache {
  get(key: string): Uint8Array | null;
  put(key: string, bytes: Uint8Array): void;
}

/** Instrumented and compiled code; another thread can take it over as it is. */
export interface Code {
  readonly key: string;
  readonly module: WebAssembly.Module;
  readonly layout: Layout;
}

interface CachedCode {
  readonly digest: string;
  readonly binary: Uint8Array;
  readonly layout: Omit<Layout, 'functionExports'>;
  readonly functionExports: readonly (readonly [number, string])[];
}

/** Instruments and compiles each module once: in this process, and across processes by a cache. */
export class CodeStore {
  private readonly codes = new Map<string, Code>();
  private readonly cache: CodeCache | null;

  constructor(cache: CodeCache | null, shared: readonly Code[]) {
    this.cache = cache;
    for (const code of shared) this.codes.set(code.key, code);
  }

  /** All code so far, to be taken over by another thread's store. */
  shareable(): readonly Code[] {
    return [...this.codes.values()];
  }

  obtain(module: ProgramModule, options: InstrumentOptions): Code {
    const suspending = functionImports(module.binary).map((each) => {
      return module.suspends(each.module, each.name);
    });
    const key = sha256(
      encodeCanonical([CODE_VERSION, sha256(module.binary), { ...options }, suspending]),
    );
    let code = this.codes.get(key);
    if (code === undefined) {
      const { binary, layout } = this.cached(key) ?? this.make(key, module, options);
      code = { key, module: new WebAssembly.Module(binary), layout };
      this.codes.set(key, code);
    }
    return code;
  }

  private make(
    key: string,
    module: ProgramModule,
    options: InstrumentOptions,
  ): { binary: Uint8Array; layout: Layout } {
    const { binary, layout } = instrument(module.binary, options, module.suspends);
    const { functionExports, ...rest } = layout;
    const entry: CachedCode = {
      digest: sha256(binary),
      binary,
      layout: rest,
      functionExports: [...functionExports],
    };
    this.cache?.put(key, encodeCanonical(entry));
    return { binary, layout };
  }

  /** The cached code, or null if there is none or it is damaged. */
  private cached(key: string): { binary: Uint8Array; layout: Layout } | null {
    const bytes = this.cache?.get(key) ?? null;
    if (bytes === null) return null;
    try {
      const entry = decodeCanonical(bytes) as unknown as CachedCode;
      if (sha256(entry.binary) !== entry.digest) return null;
      const layout = { ...entry.layout, functionExports: new Map(entry.functionExports) };
      return { binary: entry.binary, layout };
    } catch {
      return null;
    }
  }
}
