/** The candidate that `word` was probably meant to be, or undefined if none is near. */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  // A third of the letters may be wrong, one in any case.
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** ` (did you mean "x"?)` or nothing. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const meant = suggest(word, candidates);
  return meant === undefined ? '' : ` (did you mean "${meant}"?)`;
}

/** Words are compared up to this length only, so that hostile ones cost nothing. */
const LENGTH_MAX = 64;

/**
 * How many insertions, deletions, substitutions and swaps of neighbours lead from one to the
 * other (optimal string alignment).
 */
function editDistance(from: string, to: string): number {
  const a = from.slice(0, LENGTH_MAX);
  const b = to.slice(0, LENGTH_MAX);
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row++) {
    const above = rows[row - 1] as number[];
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let least = Math.min(
        (above[column] as number) + 1,
        (line[column - 1] as number) + 1,
        (above[column - 1] as number) + (same ? 0 : 1),
      );
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (row > 1 && column > 1 && swapped) {
        least = Math.min(least, ((rows[row - 2] as number[])[column - 2] as number) + 1);
      }
      line.push(least);
    }
    rows.push(line);
  }
  return (rows[a.length] as number[])[b.length] as number;
}
