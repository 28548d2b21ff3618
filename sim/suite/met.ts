import type { Decision } from '../kernel/decision.ts';
import type { LoggedEvent } from '../kernel/event-log.ts';
import { readTraffic } from '../network/traffic.ts';
import type { ActionDef, ScenarioDef } from '../plan/scenario.ts';

/** Two nodes that talked in a run: `from` sent the first packet. */
export interface MetCall {
  readonly from: string;
  readonly to: string;
  /** Packets from the caller, and those that came back. */
  readonly calls: number;
  readonly answers: number;
  /** Whether a fault that happened was on the way there, and on the way back. */
  readonly callFaulted: boolean;
  readonly answerFaulted: boolean;
}

/** A node whose compiled guest opened files. */
export interface MetFiles {
  readonly node: string;
  readonly opened: number;
  readonly faulted: boolean;
}

/** A choice that bodies made: how many options it had, and which were taken, ascending. */
export interface MetChoice {
  readonly name: string;
  readonly options: number;
  readonly taken: readonly number[];
}

/** A chance of a fault on a link or a disk: how often it was drawn, and how often it hit. */
export interface MetChance {
  readonly stream: string;
  readonly drawn: number;
  readonly hits: number;
}

/** A rule: what it does, as rules are written but for its time, and whether it changed anything. */
export interface MetRule {
  readonly name: string;
  readonly acted: boolean;
  /** Null for rules that are more than an action on nodes or links. */
  readonly does: string | null;
  readonly on: readonly string[];
}

/** Choices with more options than this are left out. */
export const MET_OPTIONS_MAX = 1_000;

/** What a leaf's run met, where it could have gone another way (FB-25); lists in the order met. */
export interface Met {
  readonly calls: readonly MetCall[];
  readonly files: readonly MetFiles[];
  readonly choices: readonly MetChoice[];
  readonly chances: readonly MetChance[];
  readonly rules: readonly MetRule[];
}

/** What is read of a run. */
export interface MetRun {
  readonly events: Iterable<LoggedEvent>;
  readonly decisions: Iterable<Decision>;
  /** Whether the plan's event of that name changed anything. */
  readonly acted: (event: string) => boolean;
}

const CHOICE = /^node\/[^/]+\/choose\/(?!parallel#)(.+)$/;
/** Chances that a rule can try both ways; other draws on links and disks are no faults. */
const CHANCES = [
  /^link\/[^/]+\/[^/]+\/(?:loss|duplicate|reorder|corrupt|corrupt-undetected)$/,
  /^node\/[^/]+\/disk\/(?:read|write|sync)-error\//,
  /^node\/[^/]+\/disk\/(?:lying-flush|lost-write|torn-write|bit-rot|latent-error|stall)\//,
  /^node\/[^/]+\/disk\/misdirected-(?:read|write)\//,
];
const OPENED = /(?:path_open|open-at)$/;

/** Reads what a run met from its logs. */
export function metOf({ world, plan }: ScenarioDef, run: MetRun): Met {
  const actions = plan.events.flatMap(({ name, action }) => (run.acted(name) ? [action] : []));
  const nodes = world.nodes.map(({ name }) => name);
  const pairs = new Map<string, { from: number; to: number; calls: number; answers: number }>();
  const opened = new Map<number, number>();
  for (const { kind, guest, result } of run.events) {
    if (kind === 'net/send') {
      const { peer } = readTraffic(result);
      const key = `${Math.min(guest, peer)} ${Math.max(guest, peer)}`;
      const pair = pairs.get(key) ?? { from: guest, to: peer, calls: 0, answers: 0 };
      pairs.set(key, pair);
      if (pair.from === guest) pair.calls++;
      else pair.answers++;
    } else if (guest >= 0 && OPENED.test(kind)) opened.set(guest, (opened.get(guest) ?? 0) + 1);
  }
  const named = (node: number): string => nodes[node] ?? String(node);
  const between = [...pairs.values()].filter(({ from, to }) => from !== to);
  return {
    calls: between.map(({ from, to, calls, answers }) => ({
      from: named(from),
      to: named(to),
      calls,
      answers,
      callFaulted: actions.some((action) => isOnWay(action, from, to)),
      answerFaulted: actions.some((action) => isOnWay(action, to, from)),
    })),
    files: [...opened].map(([node, count]) => {
      const faulted = actions.some((action) => isOnDisk(action, node));
      return { node: named(node), opened: count, faulted };
    }),
    ...readDecisions(run.decisions),
    rules: plan.events.map(({ name, action }) => {
      return { name, acted: run.acted(name), ...describeAction(action, named) };
    }),
  };
}

function readDecisions(decisions: Iterable<Decision>): Pick<Met, 'choices' | 'chances'> {
  const choices = new Map<string, { options: number; readonly taken: Set<number> }>();
  const chances = new Map<string, { stream: string; drawn: number; hits: number }>();
  for (const { stream, arity, choice } of decisions) {
    const name = CHOICE.exec(stream)?.[1];
    if (name !== undefined) {
      if (arity > MET_OPTIONS_MAX) continue;
      const known = choices.get(name) ?? { options: 0, taken: new Set<number>() };
      choices.set(name, known);
      known.options = Math.max(known.options, arity);
      known.taken.add(choice);
    } else if (CHANCES.some((chance) => chance.test(stream))) {
      const known = chances.get(stream) ?? { stream, drawn: 0, hits: 0 };
      chances.set(stream, known);
      known.drawn++;
      if (choice > 0) known.hits++;
    }
  }
  return {
    choices: [...choices].map(([name, { options, taken }]) => {
      return { name, options, taken: [...taken].sort((a, b) => a - b) };
    }),
    chances: [...chances.values()],
  };
}

/** A name as a word of TypeScript. */
export function quoteName(name: string): string {
  return /^[\w.:>-]+$/.test(name) ? `'${name}'` : JSON.stringify(name);
}

function describeAction(
  action: ActionDef,
  named: (node: number) => string,
): Pick<MetRule, 'does' | 'on'> {
  const list = (nodes: readonly number[]): string => {
    return `[${nodes.map((node) => quoteName(named(node))).join(', ')}]`;
  };
  const { kind } = action;
  if (kind === 'cut') {
    const does = `do: 'cut', from: ${list(action.from)}, to: ${list(action.to)}`;
    return { does, on: [...action.from, ...action.to].map(named) };
  }
  if (kind !== 'crash' && kind !== 'kill' && kind !== 'isolate' && kind !== 'wipe')
    return { does: null, on: [] };
  return { does: `do: '${kind}', one_of: ${list(action.oneOf)}`, on: action.oneOf.map(named) };
}

/** Whether an action is about packets from one node to another. */
function isOnWay(action: ActionDef, from: number, to: number): boolean {
  if (action.kind === 'cut' || action.kind === 'stick')
    return action.from.includes(from) && action.to.includes(to);
  if (action.kind === 'degrade') return isAmong(action.nodes, from) && isAmong(action.nodes, to);
  if (action.kind === 'partition') {
    const groupOf = (node: number): number => action.groups.findIndex((one) => one.includes(node));
    return groupOf(from) !== groupOf(to);
  }
  if (action.kind === 'clock' || action.kind === 'restart' || !('oneOf' in action)) return false;
  return action.oneOf.includes(from) || action.oneOf.includes(to);
}

function isOnDisk(action: ActionDef, node: number): boolean {
  return action.kind === 'disk' && isAmong(action.nodes, node);
}

/** An empty list stands for all. */
function isAmong(nodes: readonly number[], node: number): boolean {
  return nodes.length === 0 || nodes.includes(node);
}
