import { formatTime } from '../../sim/index.ts';
import { layOut } from '../columns.ts';
import type { Colors } from '../output.ts';
import type { CurvePoint } from './over-time.ts';
import type { Estimate } from './statistics.ts';

const WIDTH = 40;

/**
 * The curve as lines: of each position its time, its interval as a bar from 0 to 1 with the share in
 * it, and the counts. Positions beyond `rowsMax` are thinned out where the curve is flat.
 */
export function drawCurve(
  points: readonly CurvePoint[],
  options: {
    readonly marks: ReadonlySet<number>;
    readonly colors: Colors;
    readonly rowsMax: number;
  },
): string[] {
  const { marks, colors, rowsMax } = options;
  const shown = thin(points, marks, rowsMax);
  const head = ['time', 'decision', `0%${' '.repeat(WIDTH - 6)}100%`, 'failing'].map(colors.dim);
  const rows = shown.map((point) => [
    formatTime(point.atNs),
    `${marks.has(point.position) ? '> ' : ''}${point.position}`,
    bar(point),
    countsOf(point),
  ]);
  return layOut([head, ...rows], new Set([0, 1]));
}

/** `3 of 8  (13% to 70%)`. */
export function countsOf({ failures, samples, low, high }: Estimate): string {
  if (samples === 0) return 'it has failed';
  return `${failures} of ${samples} (${percent(low)} to ${percent(high)})`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function bar({ low, high, failures, samples }: CurvePoint): string {
  const column = (share: number): number => Math.min(WIDTH - 1, Math.floor(share * WIDTH));
  const cells = Array<string>(WIDTH).fill(' ');
  for (let at = column(low); at <= column(high); at++) cells[at] = '-';
  cells[column(samples === 0 ? 1 : failures / samples)] = '#';
  return cells.join('');
}

/** Keeps marked positions and both ends, and drops those whose neighbours are nearest to them. */
function thin(
  points: readonly CurvePoint[],
  marks: ReadonlySet<number>,
  rowsMax: number,
): readonly CurvePoint[] {
  const kept = [...points];
  while (kept.length > rowsMax) {
    let best = -1;
    let bestGap = Infinity;
    for (let index = 1; index < kept.length - 1; index++) {
      const point = kept[index] as CurvePoint;
      if (marks.has(point.position)) continue;
      const gap =
        (kept[index + 1] as CurvePoint).position - (kept[index - 1] as CurvePoint).position;
      if (gap < bestGap) [best, bestGap] = [index, gap];
    }
    if (best < 0) return kept;
    kept.splice(best, 1);
  }
  return kept;
}
