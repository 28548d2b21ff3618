import {
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
  readWord,
} from '../kernel/shape.ts';
import { MODEL_NAMES, type ModelName } from '../property/functions.ts';

/** The operations of one kind of object have a legal order that keeps real time, key by key. */
export interface LinearizableDef {
  readonly kind: 'linearizable';
  readonly name: string;
  /** The nodes whose lines count. */
  readonly nodes: readonly number[];
  readonly model: ModelName;
  /** What each register, or each key of a map, holds at first; null: nothing. */
  readonly initial: string | null;
  /** The search gives up, inconclusive, after this many steps: attempts to place an operation. */
  readonly stepsMax: number;
}

/** The transactions on lists could have run one after the other. */
export interface SerializableDef {
  readonly kind: 'serializable';
  readonly name: string;
  /** The nodes whose lines count. */
  readonly nodes: readonly number[];
  /** The check gives up, inconclusive, at so many dependencies between transactions. */
  readonly stepsMax: number;
}

/** A property of what clients saw: of the operations that they wrote down. */
export type HistoryPropertyDef = LinearizableDef | SerializableDef;

/** A step takes about a microsecond and its memory up to 100 bytes: 100 MB, some seconds. */
export const HISTORY_STEPS_DEFAULT = 1_000_000;
export const HISTORY_STEPS_MAX = 10_000_000;

/** Whether a property is one of a history. */
export function isHistoryProperty<T extends { readonly kind: string }>(
  def: T,
): def is T & HistoryPropertyDef {
  return def.kind === 'linearizable' || def.kind === 'serializable';
}

/** Why a history property is not acceptable, with the field; or null. */
export function historyPropertyFault(
  def: HistoryPropertyDef,
): { readonly field: string; readonly why: string } | null {
  const { stepsMax } = def;
  if (!Number.isSafeInteger(stepsMax) || stepsMax < 1 || stepsMax > HISTORY_STEPS_MAX) {
    return { field: 'stepsMax', why: `${stepsMax} is not within 1 to ${HISTORY_STEPS_MAX}` };
  }
  if (def.kind === 'serializable') return null;
  const { model, initial } = def;
  if (initial !== null && (model === 'set' || model === 'queue')) {
    return { field: 'initial', why: `a ${model} begins empty` };
  }
  if (initial !== null && !/^[^ ]{1,1000}$/u.test(initial)) {
    return { field: 'initial', why: 'it is one word of at most 1000 characters' };
  }
  return null;
}

/** Reads a history property of the exchange form; `nodesMax` bounds its list of nodes. */
export function linearizableReader(
  nodesMax: number,
): (value: unknown, path: string) => LinearizableDef {
  return readRecord<LinearizableDef>({
    kind: readWord(['linearizable']),
    name: readText(),
    nodes: readList(readInteger(), nodesMax),
    model: readWord(MODEL_NAMES),
    initial: readNullable(readText()),
    stepsMax: readInteger(),
  });
}

/** As `linearizableReader`. */
export function serializableReader(
  nodesMax: number,
): (value: unknown, path: string) => SerializableDef {
  return readRecord<SerializableDef>({
    kind: readWord(['serializable']),
    name: readText(),
    nodes: readList(readInteger(), nodesMax),
    stepsMax: readInteger(),
  });
}
