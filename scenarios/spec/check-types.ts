import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { packageRoot } from '../package-root.ts';
import { specError } from './spec-error.ts';
import { SPEC_MODULE } from './spec-module.ts';
import type { SpecModel } from './spec-model.ts';

/** Strict, with the language of the realm and nothing of a host. */
const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts'],
  types: [],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
};

/**
 * Refuses a spec with a type error: `scenario/spec-type` with the place of the first. Its files are as
 * they were planned, in `folder`; words have the types of `athanor/spec`. Nothing of it runs.
 */
export function checkTypes({ file, files }: SpecModel, folder: string): void {
  const root = resolve(folder);
  const texts = new Map([...files].map(([name, text]) => [join(root, name), text]));
  const host = specHost(texts, root);
  const globals = join(packageRoot(), 'scenarios', 'spec', 'globals.d.ts');
  const program = ts.createProgram([globals, join(root, file)], OPTIONS, host);
  const own = [...texts.keys()].flatMap((path) => {
    const source = program.getSourceFile(path);
    return source === undefined ? [] : [...program.getSemanticDiagnostics(source)];
  });
  const [first] = own;
  if (first === undefined) return;
  const more = own.length === 1 ? '' : ` (and ${own.length - 1} more)`;
  throw specError(
    'type',
    `${ts.flattenDiagnosticMessageText(first.messageText, ' ').replace(/\s+/g, ' ')}${more}`,
    placeOfDiagnostic(first, root) ?? file,
    'mend the types; --no-types runs the spec as it is',
  );
}

/** The files of the spec as they were read; everything else as it stands on the disk. */
function specHost(texts: ReadonlyMap<string, string>, root: string): ts.CompilerHost {
  const plain = ts.createCompilerHost(OPTIONS);
  const words = wordsFile();
  const extension = words.endsWith('.d.ts') ? ts.Extension.Dts : ts.Extension.Ts;
  const types = { resolvedFileName: words, extension };
  return {
    ...plain,
    getCurrentDirectory: () => root,
    fileExists: (path) => texts.has(path) || plain.fileExists(path),
    readFile: (path) => texts.get(path) ?? plain.readFile(path),
    getSourceFile: (path, version, ...rest) => {
      const text = texts.get(path);
      if (text !== undefined) return ts.createSourceFile(path, text, version);
      return plain.getSourceFile(path, version, ...rest);
    },
    resolveModuleNameLiterals: (names, importer, redirected, options) => {
      return names.map(({ text }) => {
        // The words refer to nothing but themselves, as far as types go.
        if (importer === words)
          return { resolvedModule: text === './words.ts' ? types : undefined };
        if (text === SPEC_MODULE) return { resolvedModule: types };
        return ts.resolveModuleName(text, importer, options, plain, undefined, redirected);
      });
    },
  };
}

/** The types of the words: the sources where these run, what was built of them in a package. */
function wordsFile(): string {
  const own = fileURLToPath(import.meta.url);
  return join(dirname(own), own.endsWith('.ts') ? 'words.ts' : 'words.d.ts');
}

function placeOfDiagnostic({ file, start }: ts.Diagnostic, root: string): string | null {
  if (file === undefined || start === undefined) return null;
  const { line, character } = file.getLineAndCharacterOfPosition(start);
  return `${relative(root, file.fileName)}:${line + 1}:${character + 1}`;
}
