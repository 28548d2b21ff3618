import type { Rewriter } from './encode.ts';
import { unsigned } from './encode.ts';
import { plain } from './instructions.ts';
import type { DefinedFunction, Instruction, ModuleModel } from './model.ts';
import type { NanShape, ValueType } from './opcodes.ts';

const CANONICAL_F32 = [0, 0, 0xc0, 0x7f];
const CANONICAL_F64 = [0, 0, 0, 0, 0, 0, 0xf8, 0x7f];
const F32X4 = [0, 1, 2, 3].flatMap(() => CANONICAL_F32);
const F64X2 = [0, 1].flatMap(() => CANONICAL_F64);

/** Local (relative to the first extra one), the canonical NaN, "equal to itself", the choice. */
const CANONICALISE: Readonly<Record<NanShape, readonly [number, number[], number[], number[]]>> = {
  f32: [0, [0x43, ...CANONICAL_F32], [0x5b], [0x1b]],
  f64: [1, [0x44, ...CANONICAL_F64], [0x61], [0x1b]],
  f32x4: [2, [0xfd, 12, ...F32X4], [0xfd, 65], [0xfd, 82]],
  f64x2: [2, [0xfd, 12, ...F64X2], [0xfd, 71], [0xfd, 82]],
};

/**
 * The plainest possible canonicalisation: after each instruction that may make a NaN, replace a NaN
 * by the canonical one. It defines what the pass's deferred canonicalisation must be equal to.
 */
export function canonicaliser(simd: boolean): Rewriter {
  const locals: ValueType[] = simd ? ['f32', 'f64', 'v128'] : ['f32', 'f64'];
  return {
    locals,
    after: ({ nan }, firstLocal) => {
      if (nan === null) return [];
      const [local, constant, equal, choose] = CANONICALISE[nan];
      const index = unsigned(firstLocal + local);
      const get = [0x20, ...index];
      return [0x22, ...index, ...constant, ...get, ...get, ...equal, ...choose];
    },
  };
}

/** Name of the export that tells the count of `counting`. */
export const COUNT_EXPORT = 'executed';

/**
 * The module with one more global (an i64, the count) and an export that reads it. All indexes of
 * the original stay.
 */
export function withCount(model: ModuleModel): ModuleModel {
  const global = model.globals.length;
  const shape = { params: [], results: ['i64' as const] };
  const read: DefinedFunction = {
    type: model.types.length,
    locals: [],
    body: [plain('global.get', [0x23, ...unsigned(global)], [], ['i64'])],
    guarded: false,
    exportName: COUNT_EXPORT,
  };
  return {
    ...model,
    types: [...model.types, shape],
    globals: [...model.globals, { type: 'i64', mutable: true, init: [0x42, 0] }],
    functions: [...model.functions, read],
  };
}

/** Constructs that only mark a place cost nothing; `if` and all plain instructions cost one. */
function isFree(instruction: Instruction): boolean {
  return instruction.kind === 'block' && instruction.name !== 'if';
}

/** Instructions that `canonicaliser` adds after one that may make a NaN. */
const CANONICALISE_COST = 6;

/**
 * The plainest possible fuel: adds one to a global before each instruction that costs fuel. It
 * defines what the pass's cached counter per basic block must be equal to. The instructions that
 * the canonicaliser adds are counted as well when they are part of the module under test.
 */
export function counting(
  rewriter: Rewriter,
  { global, countsCanonicaliser }: { global: number; countsCanonicaliser: boolean },
): Rewriter {
  const index = unsigned(global);
  const add = (cost: number) => [0x23, ...index, 0x42, cost, 0x7c, 0x24, ...index];
  const one = add(1);
  const more = add(1 + CANONICALISE_COST);
  return {
    ...rewriter,
    before: (instruction) => {
      if (isFree(instruction)) return [];
      const longer =
        countsCanonicaliser && instruction.kind === 'plain' && instruction.nan !== null;
      return longer ? more : one;
    },
  };
}
