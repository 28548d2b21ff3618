import type { Axis, ExploredOrder, PlannedTest } from '../../sim/index.ts';
import { COUNT_MAX, leafCount, leafDigits, SimError } from '../../sim/index.ts';

/** A dimension of a test that a run can pin. */
export type LeafAxis =
  | { readonly kind: 'cell'; readonly name: string; readonly size: number }
  | { readonly kind: 'rule'; readonly name: string; readonly size: number }
  /** A choice of the body: `size` options, as shown. */
  | {
      readonly kind: 'choice';
      readonly name: string;
      readonly size: number;
      readonly shown: readonly string[] | null;
    }
  /** An order of the steps of branches, of those that can differ. */
  | {
      readonly kind: 'order';
      readonly name: string;
      readonly size: number;
      readonly order: ExploredOrder;
    };

/** One execution of a test: each axis at one of its values. */
export interface Leaf {
  readonly test: PlannedTest;
  /** Its place among the test's leaves. */
  readonly index: number;
  readonly pins: readonly { readonly axis: LeafAxis; readonly index: number }[];
}

/** The axes of a body that the plan knows, and those that only a run shows. */
export function choiceAxes(
  planned: readonly Axis[],
  seen: ReadonlyMap<string, number>,
): LeafAxis[] {
  const known = planned.flatMap((axis): LeafAxis[] => {
    const size = axis.estimated === null ? axis.size : (seen.get(axis.name) ?? 1);
    const shown = axis.values?.length === size ? axis.values : null;
    return [{ kind: 'choice', name: axis.name, size, shown }];
  });
  const names = new Set(known.map(({ name }) => name));
  const found = [...seen].flatMap(([name, size]): LeafAxis[] => {
    return names.has(name) ? [] : [{ kind: 'choice', name, size, shown: null }];
  });
  return [...known, ...found];
}

/** The name of the axis of all ordered steps of a body: one order goes through its `parallel`s. */
const ORDER_AXIS = 'events';

/** A leaf for each order of the steps that its branches take; itself where they take none. */
export function orderedLeaves(
  leaf: Leaf,
  orders: readonly ExploredOrder[],
  first: number,
): readonly Leaf[] {
  if (orders.length === 1 && orders[0]?.text === '') return [{ ...leaf, index: first }];
  return orders.map((order, index) => {
    const axis = { kind: 'order', name: ORDER_AXIS, size: orders.length, order } as const;
    return { ...leaf, index: first + index, pins: [...leaf.pins, { axis, index }] };
  });
}

/** What the leaves of a test say of how its branches were interleaved (FB-44): of launches, or of events. */
export function levelOf(axis: LeafAxis): 'launch' | 'event' | null {
  if (axis.kind === 'order') return 'event';
  return axis.kind === 'choice' && axis.name.startsWith('parallel#') ? 'launch' : null;
}

/** How many orders a test's leaves stand for, and how many of them there are; null without ordered steps. */
export function countExplored(
  leaves: readonly Leaf[],
): { readonly orders: number; readonly estimated: boolean; readonly explored: number } | null {
  const counts = leaves.flatMap(({ pins }) => {
    return pins.flatMap(({ axis }) => (axis.kind === 'order' ? [axis.order.equivalent] : []));
  });
  if (counts.length === 0) return null;
  return {
    orders: counts.reduce((sum: number, count) => Math.min(COUNT_MAX, sum + (count ?? 1)), 0),
    estimated: counts.includes(null),
    explored: counts.length,
  };
}

/** A test has at most so many leaves in a run: they are all kept before the first one runs. */
export const LEAVES_MAX = 100_000;

/** All leaves of axes, in mixed-radix order (FB-46). Throws `budget/leaves` beyond LEAVES_MAX. */
export function enumerateLeaves(
  test: PlannedTest,
  axes: readonly LeafAxis[],
  first: number,
): readonly Leaf[] {
  const sizes = axes.map(({ size }) => size);
  const count = leafCount(sizes);
  if (first + count > LEAVES_MAX) {
    throw new SimError({
      code: 'budget/leaves',
      message: `test "${test.name}" has ${first + count} leaves, more than ${LEAVES_MAX}`,
      place: axes.map(({ name, size }) => `${name}: ${size}`).join(', '),
      remedy: 'take fewer options, interleavings: 50, or a smaller max_fires; see sim plan',
    });
  }
  return Array.from({ length: count }, (_, index) => {
    const digits = leafDigits(sizes, index);
    const pins = axes.map((axis, at) => ({ axis, index: digits[at] as number }));
    return { test, index: first + index, pins };
  });
}

/** A stable name: the test, its leaf, and how its axes stand, such as `retries=2, wal=01` (FB-47). */
export function leafTitle({ test, index, pins }: Leaf): string {
  if (pins.length === 0) return test.name;
  const shown = pins.map(({ axis, index: value }) => {
    if (axis.kind === 'rule') {
      return `${axis.name}=${value.toString(2).padStart(Math.log2(axis.size), '0')}`;
    }
    if (axis.kind === 'order') return `${axis.name}=${axis.order.text}`;
    const text = axis.kind === 'choice' ? axis.shown?.[value] : axis.name;
    if (axis.kind === 'cell') return axis.name;
    const level = levelOf(axis) ?? '';
    return `${axis.name}=${level}${text ?? `#${value}`}`;
  });
  return `${test.name} [leaf ${index}] ${shown.join(', ')}`;
}
