import { createHash } from 'node:crypto';
import ts from 'typescript';
import { markBranchMemory } from '../spec/branch-memory.ts';
import { guardCatches } from '../spec/guard-catches.ts';
import type { SpecModel } from '../spec/spec-model.ts';
import { MODEL_MAGIC, type ModelModule } from './model-format.ts';

/** The image of a spec's bodies, as a guest has one: code by content. */
export interface ModelImage {
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes. */
  readonly digest: string;
}

/**
 * The code of a spec's files: the spec itself first, then the others by name. Types are taken off, and
 * branches whose steps are ordered are told whether they share memory; each has the map back to its lines.
 */
export function modelImage({ file, files }: SpecModel): ModelImage {
  const names = [file, ...[...files.keys()].filter((name) => name !== file).sort()];
  const modules = names.map((name): ModelModule => {
    const { outputText, sourceMapText = '' } = ts.transpileModule(files.get(name) ?? '', {
      fileName: name,
      transformers: { before: [markBranchMemory(), guardCatches(ts)] },
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.CommonJS,
        verbatimModuleSyntax: false,
        sourceMap: true,
      },
    });
    const code = outputText.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '');
    return { name, code: resolveRequires(code, name, files), map: sourceMapText };
  });
  const bytes = new TextEncoder().encode(MODEL_MAGIC + JSON.stringify(modules));
  return { bytes, digest: createHash('sha256').update(bytes).digest('hex') };
}

/** `require("./b.ts")` of `lib/a.ts` names `lib/b.ts`, as the spec's files are called. */
function resolveRequires(code: string, from: string, files: ReadonlyMap<string, string>): string {
  return code.replace(/require\("(\.{1,2}\/[^"]+)"\)/g, (_, path: string) => {
    const base = from.split('/').slice(0, -1);
    for (const part of path.split('/')) {
      if (part === '..') base.pop();
      else if (part !== '.') base.push(part);
    }
    const written = base.join('/');
    // The compiler may have turned `.ts` into `.js`.
    const name = files.has(written) ? written : written.replace(/\.js$/, '.ts');
    return `require(${JSON.stringify(name)})`;
  });
}
