/**
 * Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
 * TSE 2002) as a question and answer game: it yields subsets that may be tried at once, and is told
 * the place of the first that still fails, or -1. It returns a subset from which no single item can
 * be left out. It never asks for a subset twice; it asks for the empty one first, which is often
 * enough. Subsets keep the items' order.
 */
export function* ddmin<T>(
  items: readonly T[],
): Generator<readonly (readonly T[])[], readonly T[], number> {
  let kept = items.map((_, index) => index);
  const asked = new Set<string>([keyOf(kept)]);
  let parts = 1;
  while (kept.length > 0) {
    const questions = subsets(kept, parts).filter((subset) => {
      const key = keyOf(subset);
      if (asked.has(key)) return false;
      asked.add(key);
      return true;
    });
    const answer = questions.length === 0 ? -1 : yield questions.map((q) => pick(items, q));
    const smaller = questions[answer];
    if (smaller !== undefined) {
      // A complement keeps the granularity, a part starts anew (the paper's two reductions).
      parts = smaller.length * 2 > kept.length ? Math.max(2, parts - 1) : 2;
      kept = smaller;
      parts = Math.min(parts, Math.max(1, kept.length));
    } else if (parts >= kept.length) {
      break;
    } else {
      parts = Math.min(kept.length, parts * 2);
    }
  }
  return pick(items, kept);
}

/** With one part: nothing at all. Otherwise each part, and then each complement of a part. */
function subsets(kept: readonly number[], parts: number): number[][] {
  if (parts <= 1) return [[]];
  const cuts = Array.from({ length: parts + 1 }, (_, part) => {
    return Math.floor((part * kept.length) / parts);
  });
  const ranges = cuts.slice(1).map((end, part) => [cuts[part] as number, end] as const);
  const partsOfIt = ranges.map(([from, to]) => kept.slice(from, to));
  const complements = ranges.map(([from, to]) => [...kept.slice(0, from), ...kept.slice(to)]);
  return [...partsOfIt, ...complements];
}

function pick<T>(items: readonly T[], places: readonly number[]): readonly T[] {
  return places.map((place) => items[place] as T);
}

function keyOf(places: readonly number[]): string {
  return places.join(',');
}
