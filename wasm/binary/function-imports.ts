import { KIND } from './module.ts';
import { parseModule } from './parse.ts';
import type { ValueType } from './types.ts';

export interface FunctionImport {
  readonly module: string;
  readonly name: string;
  readonly parameters: readonly ValueType[];
  readonly results: readonly ValueType[];
}

/** The functions that a module imports, in order of their indexes. Throws as `parseModule` does. */
export function functionImports(binary: Uint8Array): FunctionImport[] {
  const parsed = parseModule(binary);
  return parsed.imports
    .filter(({ kind }) => kind === KIND.function)
    .map(({ module, name, index }) => {
      const { params, results } = parsed.functions[index].type;
      return { module, name, parameters: params, results };
    });
}
