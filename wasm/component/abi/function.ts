import { FlatReader, zeroOf, type CoreType, type CoreValue } from './core-values.ts';
import { tuple } from './products.ts';
import { BYTES } from './sequences.ts';
import type { Transfer } from './transfer.ts';
import { weightOf, type Type } from './type.ts';

/** More flat parameters than this are passed as one pointer (CanonicalABI.md, MAX_FLAT_PARAMS). */
const FLAT_PARAMS_MAX = 16;

/** A function of the component model; parameter names play no part in its ABI. */
export interface FunctionType {
  readonly params: readonly Type<unknown>[];
  /** Null when nothing is returned. */
  readonly result: Type<unknown> | null;
  /** Equal for equal types, and only for them. */
  readonly text: string;
  readonly weight: number;
}

export function functionType(
  params: readonly Type<unknown>[],
  result: Type<unknown> | null,
): FunctionType {
  const from = params.map((param) => param.text).join();
  return {
    params,
    result,
    text: `func(${from})${result === null ? '' : `->${result.text}`}`,
    weight: weightOf([...params, result]),
  };
}

/** What a host function returns when the guest must wait: it will be called again. */
export const BLOCKED: unique symbol = Symbol('blocked');
export type Blocked = typeof BLOCKED;

/** A function as a core module imports it. */
export type CoreFunction = (...values: CoreValue[]) => CoreValue | undefined;

/** The core signature of a lowered import. */
export function flatSignature(type: FunctionType): { params: CoreType[]; results: CoreType[] } {
  const flat = type.params.flatMap((param) => param.flat);
  const params: CoreType[] = flat.length > FLAT_PARAMS_MAX ? ['i32'] : flat;
  const results = [...(type.result?.flat ?? [])];
  if (results.length <= 1) return { params, results };
  return { params: [...params, 'i32'], results: [] };
}

/** All about a function's lowering that does not depend on the guest; made once for a program. */
export interface Lowering {
  readonly type: FunctionType;
  readonly params: readonly CoreType[];
  /** The arguments as they lie in memory, when they are too many; else null. */
  readonly packed: Type<readonly unknown[]> | null;
  /** What a blocked call returns: any value of the result's core type. */
  readonly blockedValue: CoreValue | undefined;
  /** Whether byte lists cross in either direction. */
  readonly movesBytes: boolean;
}

export function planLowering(type: FunctionType): Lowering {
  const { params, results } = flatSignature(type);
  const flatCount = type.params.reduce((sum, param) => sum + param.flat.length, 0);
  return {
    type,
    params,
    packed: flatCount > FLAT_PARAMS_MAX ? tuple(...type.params) : null,
    blockedValue: results.length === 1 ? zeroOf(results[0]) : undefined,
    movesBytes: type.text.includes(BYTES.text),
  };
}

const NO_VALUES: readonly unknown[] = [];

function liftArguments(
  { type, params, packed }: Lowering,
  transfer: Transfer,
  core: readonly CoreValue[],
): readonly unknown[] {
  if (type.params.length === 0) return NO_VALUES;
  const flat = new FlatReader(core, params);
  if (packed === null) return type.params.map((param) => param.lift(transfer, flat));
  const offset = flat.i32() >>> 0;
  transfer.claim(offset, packed.size, packed.alignment);
  return packed.load(transfer, offset);
}

/**
 * The core function for a lowered import (`canon lower`): lifts the arguments, calls `run`, lowers
 * what it returns. When `run` is blocked nothing is written and the result has no meaning.
 */
export function lowerImport(
  lowering: Lowering,
  transfer: Transfer,
  run: (values: readonly unknown[], core: readonly CoreValue[]) => unknown,
): CoreFunction {
  const { params, blockedValue } = lowering;
  const { result } = lowering.type;
  return (...core) => {
    transfer.begin();
    const value = run(liftArguments(lowering, transfer, core), core);
    if (value === BLOCKED || result === null) return blockedValue;
    if (result.flat.length <= 1) {
      const flat: CoreValue[] = [];
      result.lower(transfer, flat, value);
      return flat[0];
    }
    const offset = Number(core[params.length - 1]) >>> 0;
    transfer.check(offset, result.size, result.alignment);
    transfer.touched(offset, result.size);
    result.store(transfer, offset, value);
    return undefined;
  };
}
