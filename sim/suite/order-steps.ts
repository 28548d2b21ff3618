import type { LoggedEvent } from '../kernel/event-log.ts';
import { readTraffic } from '../network/traffic.ts';

/**
 * What a step touches: two steps that touch one thing, which at least one of them changes, may differ in
 * their order; all others may not.
 */
export interface Touches {
  /** Taken to touch whatever any other step does. */
  readonly everything: boolean;
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
}

/** One step of a branch: from where it went on to where it waited again, with all that came of it. */
export interface OrderStep {
  /** The number of its `parallel` in the run: steps of different ones have one order. */
  readonly group: number;
  readonly branch: number;
  /** The branches that could have gone on in its place, with this one; ascending. */
  readonly enabled: readonly number[];
  /** Whether every order is wanted, equal ones too. */
  readonly exhaustive: boolean;
  /** Whether it cut off others, which would have gone on. */
  readonly cut: boolean;
  readonly touches: Touches;
}

/** Kinds of the events by which a body in parallel branches says what it does (see `orderSteps`). */
export const ORDER_EVENTS = {
  /** A group begins: its number; which branches share memory, and whether all orders are wanted. */
  begin: 'parallel/begin',
  /** A branch goes on: its number; which could, and whether the world had come to rest before. */
  step: 'parallel/step',
  /** The step touches something that no other event tells of: a digest; how. */
  touch: 'parallel/touch',
  /** All branches have ended, or one has failed: the number of the group; as of a step. */
  end: 'parallel/end',
} as const;

/** How something is touched, in the result of a `touch` event. */
export const TOUCH = { read: 0, write: 1, everything: 2, cut: 3 } as const;

/** A group has at most so many branches: their sets are numbers of this many bits. */
export const ORDER_BRANCHES_MAX = 16;

/** The result of a `begin` event. */
export function beginResult(shared: readonly number[], exhaustive: boolean): number {
  return branchMask(shared) * 2 + (exhaustive ? 1 : 0);
}

/** The result of a `step` or an `end` event; `settled` says that nothing was under way before it. */
export function stepResult(enabled: readonly number[], settled: boolean): number {
  return branchMask(enabled) * 2 + (settled ? 0 : 1);
}

function branchMask(branches: readonly number[]): number {
  return branches.reduce((mask, branch) => mask | (1 << branch), 0);
}

function branchesOf(mask: number): readonly number[] {
  return Array.from({ length: ORDER_BRANCHES_MAX }, (_, branch) => branch).filter((branch) => {
    return (mask & (1 << branch)) !== 0;
  });
}

interface OpenStep extends Omit<OrderStep, 'touches' | 'cut'> {
  cut: boolean;
  everything: boolean;
  readonly reads: Set<string>;
  readonly writes: Set<string>;
}

/**
 * The steps of a run, from its events: those between one step and the next are what came of the first, since
 * a step waits for the world to come to rest. Where it did not, both are taken to touch everything; so are
 * steps whose effects no event tells apart. `node` is the one that the branches run on.
 */
export function orderSteps(events: Iterable<LoggedEvent>, node: number): readonly OrderStep[] {
  const steps: OpenStep[] = [];
  let open: OpenStep | null = null;
  let shared: readonly number[] = [];
  let exhaustive = false;
  let group = -1;
  for (const event of events) {
    const { kind, guest, input, result } = event;
    const own = guest === node;
    if (own && kind === ORDER_EVENTS.begin) {
      group++;
      exhaustive = (result & 1) === 1;
      shared = branchesOf(result >> 1);
    } else if (own && (kind === ORDER_EVENTS.step || kind === ORDER_EVENTS.end)) {
      const settled = (result & 1) === 0;
      if (open !== null) open.everything ||= !settled;
      open = null;
      if (kind === ORDER_EVENTS.end) continue;
      const enabled = branchesOf(result >> 1);
      const everything = !settled && steps.at(-1)?.group === group;
      const writes = new Set(shared.includes(input) ? ['memory'] : []);
      const own = { group, branch: input, enabled, exhaustive, cut: false };
      open = { ...own, everything, reads: new Set(), writes };
      steps.push(open);
    } else if (open !== null) touch(open, event, own);
  }
  // The run ended under way: what the branches would have done is not known.
  if (open !== null) Object.assign(open, { everything: true, cut: true });
  return steps.map(({ everything, reads, writes, ...step }) => {
    return { ...step, touches: { everything, reads, writes } };
  });
}

/** Adds what an event touches to the step that it came of. */
function touch(step: OpenStep, { kind, guest, input, result }: LoggedEvent, own: boolean): void {
  if (kind === 'marker') step.writes.add('history');
  // A plan's event, a lost packet that is sent again later, a look at a clock: time has a part in it.
  if (guest < 0 || kind === 'net/drop' || /clock|\bnow\b/.test(kind)) step.everything = true;
  else if (!own) step.writes.add(`node/${guest}`);
  else if (kind === 'net/send' || kind === 'net/deliver') {
    step.writes.add(`node/${readTraffic(result).peer}`);
  } else if (kind === 'console' || kind === 'entropy') step.writes.add(kind);
  else if (kind === ORDER_EVENTS.touch) {
    if (result === TOUCH.cut) step.cut = true;
    if (result >= TOUCH.everything) step.everything = true;
    else (result === TOUCH.write ? step.writes : step.reads).add(`file/${input}`);
  } else if (kind !== 'choose' && kind !== 'marker') step.everything = true;
}

/** Whether two steps may differ in their order. */
export function areDependent(a: Touches, b: Touches): boolean {
  if (a.everything || b.everything) return true;
  for (const thing of a.writes) if (b.writes.has(thing) || b.reads.has(thing)) return true;
  for (const thing of a.reads) if (b.writes.has(thing)) return true;
  return false;
}
