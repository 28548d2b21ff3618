import {
  checkLinearizable,
  describeCall,
  describeReply,
  functionNamed,
  History,
  makeModel,
  parseHistoryLine,
  partition,
  type LinearizableDef,
  type Operation,
} from '../sim/index.ts';
import type { TimelineRow } from './timeline.ts';

/** The reply that no order explains, and the one that it contradicts, as places in a timeline. */
export interface HistoryClash {
  readonly violation: number;
  readonly earlier: number | null;
  /** Replies by their places, in words: `add ledger 3 \u2192 ok`. */
  readonly words: ReadonlyMap<number, string>;
  /** Places of calls that got a reply, which tells them as well. */
  readonly calls: ReadonlySet<number>;
}

/** Of the operations before the reply that no order explains so many are tried. */
const TRIED_MAX = 16;

type Row = Pick<TimelineRow, 'atNs' | 'node' | 'text'> & { readonly kind: string };

/**
 * Finds what breaks a property of a history. The reply that it contradicts is that of the last
 * operation before it without which the history would have an order; where several were lost
 * together, of the last one that changed anything.
 */
export function findHistoryClash(
  def: LinearizableDef,
  rows: readonly Row[],
  nodes: readonly string[],
): HistoryClash | null {
  const { operations, places, calls } = readOperations(rows, nodes);
  const words = new Map<number, string>();
  for (const [index, place] of places) {
    const operation = operations[index] as Operation;
    words.set(place, `${describeCall(operation)} \u2192 ${describeReply(operation)}`);
  }
  const judged = operations.filter((each) => {
    const row = functionNamed(each.function);
    return def.nodes.includes(each.node) && row?.model === def.model && each.status !== 'fail';
  });
  const model = makeModel(def.model, def.initial);
  const check = (part: readonly Operation[]) => {
    return checkLinearizable(part, model, { left: def.stepsMax });
  };
  for (const part of partition(def.model, judged).values()) {
    const result = check(part);
    if (result.kind !== 'violated') continue;
    const { blamed } = result.violation;
    const violation = places.get(blamed.index);
    if (violation === undefined) return null;
    const before = part.filter((each) => {
      const looksOnly = functionNamed(each.function)?.looksOnly === true;
      return each.status === 'ok' && !looksOnly && endOf(each) <= blamed.calledNs;
    });
    const latest = before.sort((a, b) => endOf(b) - endOf(a) || b.index - a.index);
    const prefix = part.filter(({ calledNs }) => calledNs <= endOf(blamed));
    const cause = latest.slice(0, TRIED_MAX).find((left) => {
      return check(prefix.filter((each) => each !== left)).kind === 'linearizable';
    });
    const earlier = cause ?? latest[0];
    return { violation, earlier: places.get(earlier?.index ?? -1) ?? null, words, calls };
  }
  return null;
}

function endOf({ returnedNs }: Operation): number {
  return returnedNs ?? Infinity;
}

/** The operations that the rows tell of, and the place of the reply of each that has one. */
function readOperations(
  rows: readonly Row[],
  nodes: readonly string[],
): {
  readonly operations: readonly Operation[];
  readonly places: ReadonlyMap<number, number>;
  readonly calls: ReadonlySet<number>;
} {
  const history = new History(nodes);
  const places = new Map<number, number>();
  const calls = new Set<number>();
  const open = new Map<string, { readonly index: number; readonly place: number }>();
  rows.forEach(({ node, kind, text, atNs }, place) => {
    if (kind === 'crash' || kind === 'exit' || kind === 'trap') history.lifeEnded(node);
    if (kind !== 'stdout' && kind !== 'stderr' && kind !== 'marker') return;
    const before = history.all().length;
    history.line(node, text, atNs);
    const line = parseHistoryLine(text);
    if (line === null || typeof line === 'string') return;
    const key = `${node} ${line.client} ${line.id}`;
    if (history.all().length > before) open.set(key, { index: before, place });
    const call = open.get(key);
    if (line.verb === 'invoke' || call === undefined) return;
    places.set(call.index, place);
    calls.add(call.place);
  });
  return { operations: history.all(), places, calls };
}
