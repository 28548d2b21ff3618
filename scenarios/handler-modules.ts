import { createRequire } from 'node:module';
import type * as TypeScript from 'typescript';
import { decodeUtf8, encodeUtf8, isUtf8, SimError } from '../sim/index.ts';
import type { ScenarioFiles } from './compile.ts';
import { guardCatches } from './spec/guard-catches.ts';

/**
 * The code of handlers: a script in the form of CommonJS, or a WASM module. It is part of the
 * world's image, so that a bundle repeats with the very same code.
 */
export interface HandlerModule {
  readonly name: string;
  readonly kind: 'script' | 'wasm';
  readonly bytes: Uint8Array;
}

const ENDINGS = ['.ts', '.mjs', '.js', '.wasm'] as const;

/** Finds the module `name` beside its world file: `name.ts`, `.mjs`, `.js` or `.wasm`. */
export function readHandlerModule(name: string, files: ScenarioFiles): HandlerModule | null {
  for (const ending of ENDINGS) {
    let bytes: Uint8Array;
    try {
      bytes = files.read(name + ending);
    } catch (error) {
      if (error instanceof SimError && error.code === 'input/missing') continue;
      throw error;
    }
    if (ending === '.wasm') return { name, kind: 'wasm', bytes };
    return { name, kind: 'script', bytes: toScript(bytes, name + ending) };
  }
  return null;
}

/** Turns a TypeScript or JavaScript module into a script; imports are for the realm to refuse. */
export function toScript(bytes: Uint8Array, file: string): Uint8Array {
  if (!isUtf8(bytes)) {
    throw new SimError({ code: 'scenario/handler', message: 'it is not UTF-8 text', place: file });
  }
  const typescript = loadTypeScript();
  const { outputText, diagnostics = [] } = typescript.transpileModule(decodeUtf8(bytes), {
    // The compiler leaves the form of .mjs as it is; here it becomes a script like any other.
    fileName: file.replace(/\.mjs$/, '.js'),
    reportDiagnostics: true,
    transformers: { before: [guardCatches(typescript)] },
    compilerOptions: {
      target: typescript.ScriptTarget.ES2022,
      module: typescript.ModuleKind.CommonJS,
      allowJs: true,
    },
  });
  const first = diagnostics[0];
  if (first === undefined) return encodeUtf8(outputText);
  const at = first.file?.getLineAndCharacterOfPosition(first.start ?? 0);
  throw new SimError({
    code: 'scenario/handler',
    message: typescript.flattenDiagnosticMessageText(first.messageText, ' '),
    place: at === undefined ? file : `${file}:${at.line + 1}:${at.character + 1}`,
    remedy: 'mend the module',
  });
}

/** The compiler is large; only who has handlers pays for it. */
function loadTypeScript(): typeof TypeScript {
  return createRequire(import.meta.url)('typescript') as typeof TypeScript;
}
