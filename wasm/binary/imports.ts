import { KIND, type FunctionEntry } from './module.ts';
import { parseModule } from './parse.ts';
import { typeName } from './types.ts';

/** A function import with the names of its types, as in the text format. */
export interface FunctionImport {
  readonly module: string;
  readonly name: string;
  readonly parameters: readonly string[];
  readonly results: readonly string[];
}

/** The functions that a module imports, in order. Throws SimError `guest/…` as `parseModule`. */
export function functionImports(binary: Uint8Array): readonly FunctionImport[] {
  const module = parseModule(binary);
  return module.imports
    .filter(({ kind }) => kind === KIND.function)
    .map(({ module: from, name, index }) => {
      const { type } = module.functions[index] as FunctionEntry;
      const parameters = type.params.map((each) => typeName(each));
      return {
        module: from,
        name,
        parameters,
        results: type.results.map((each) => typeName(each)),
      };
    });
}
