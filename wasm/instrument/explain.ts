import { SimError } from '../../sim/index.ts';
import { KIND, KIND_NAMES } from '../binary/module.ts';
import { parseModule } from '../binary/parse.ts';
import { typeName, type FunctionType } from '../binary/types.ts';
import { surveyModule } from './call-graph.ts';
import { usedFeatures } from './features.ts';

export interface ExplainedEntry {
  readonly kind: (typeof KIND_NAMES)[number];
  /** `module.name` of an import, the name of an export. */
  readonly name: string;
  /** `(i32, i64) -> (i32)` of a function, else ''. */
  readonly type: string;
}

/** What a person wants to know of a module before running it. */
export interface Explanation {
  readonly imports: readonly ExplainedEntry[];
  readonly exports: readonly ExplainedEntry[];
  readonly features: readonly string[];
  readonly functionCount: number;
  readonly codeBytes: number;
  readonly dataBytes: number;
  readonly memoryPagesMin: number;
  /** -1 when the module states none. */
  readonly memoryPagesMax: number;
  /** The first reason for which the module is not accepted, or null. */
  readonly refusal: {
    readonly code: string;
    readonly message: string;
    readonly place: string;
  } | null;
}

const NOTHING = {
  imports: [],
  exports: [],
  features: [],
  functionCount: 0,
  codeBytes: 0,
  dataBytes: 0,
  memoryPagesMin: 0,
  memoryPagesMax: -1,
};

/** Describes any bytes; never throws for a bad module, but says what is wrong with it. */
export function explainModule(binary: Uint8Array): Explanation {
  try {
    return { ...describe(binary), refusal: null };
  } catch (error) {
    if (!(error instanceof SimError) || !error.code.startsWith('guest/')) throw error;
    const { code, message, place } = error;
    return { ...NOTHING, refusal: { code, message, place: place ?? '' } };
  }
}

function describe(binary: Uint8Array): Omit<Explanation, 'refusal'> {
  const module = parseModule(binary);
  const survey = surveyModule(module);
  const typeOf = (kind: number, index: number): string =>
    kind === KIND.function ? signature(module.functions[index].type) : '';
  return {
    imports: module.imports.map((entry) => ({
      kind: KIND_NAMES[entry.kind],
      name: `${entry.module}.${entry.name}`,
      type: typeOf(entry.kind, entry.index),
    })),
    exports: module.exports.map(({ name, kind, index }) => ({
      kind: KIND_NAMES[kind],
      name,
      type: typeOf(kind, index),
    })),
    features: usedFeatures(module, survey),
    functionCount: module.bodies.length,
    codeBytes: module.bodies.reduce((sum, { start, end }) => sum + end - start, 0),
    dataBytes: module.data.reduce((sum, { content }) => sum + content.end - content.start, 0),
    memoryPagesMin: module.memories[0]?.min ?? 0,
    memoryPagesMax: module.memories[0]?.max ?? -1,
  };
}

function signature({ params, results }: FunctionType): string {
  return `(${params.map(typeName).join(', ')}) -> (${results.map(typeName).join(', ')})`;
}
