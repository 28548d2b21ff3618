import type { Axis, PlannedTest } from '../../sim/index.ts';
import { leafCount, leafDigits } from '../../sim/index.ts';

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

/** All leaves of axes, in mixed-radix order (FB-46). */
export function enumerateLeaves(
  test: PlannedTest,
  axes: readonly LeafAxis[],
  first: number,
): readonly Leaf[] {
  const sizes = axes.map(({ size }) => size);
  return Array.from({ length: leafCount(sizes) }, (_, index) => {
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
    const text = axis.kind === 'choice' ? axis.shown?.[value] : axis.name;
    return axis.kind === 'cell' ? axis.name : `${axis.name}=${text ?? `#${value}`}`;
  });
  return `${test.name} [leaf ${index}] ${shown.join(', ')}`;
}
