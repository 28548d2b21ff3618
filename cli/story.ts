import {
  compilePattern,
  formatTime,
  matchPattern,
  type FailureSignature,
  type PropertyDef,
  type ScenarioDef,
} from '../sim/index.ts';
import type { RunRecord } from './record.ts';
import { findHistoryClash } from './story-history.ts';
import { singleFaultsOf, type SingleFault } from './single-faults.ts';
import { printable, type TimelineRow } from './timeline.ts';

/** A story is at most this long: what fits on a screen and in a head. */
export const STORY_LINES_MAX = 24;

/** A line of a story. */
export interface StoryLine {
  readonly atNs: number;
  /** The node's name, or `world`. */
  readonly node: string;
  readonly text: string;
  /** Why the line is worth more than the others: what broke the property, and what it contradicts. */
  readonly role: 'fault' | 'violation' | 'contradicted' | 'context';
}

export interface Story {
  readonly lines: readonly StoryLine[];
  /** What must have held and did not, in a sentence. */
  readonly moral: string;
}

/** A row of the timeline, or a fault that one decision made. */
type Row = Omit<TimelineRow, 'kind'> & { readonly kind: TimelineRow['kind'] | 'single' };

/** Of single faults the last ones are told first: the failure came soon after. */
const SINGLES_TOLD = 8;

/** Things that happen to nodes; the rest are lines of consoles. */
const FAULTS: ReadonlySet<Row['kind']> = new Set([
  'single',
  'crash',
  'restart',
  'pause',
  'network',
  'trap',
  'wipe',
  'upgrade',
  'clock',
  'plan',
  'disk',
]);

/** Faults that one decision makes. */
const SINGLE: ReadonlySet<Row['kind']> = new Set(['single', 'disk']);

/**
 * What happened in a failed run, in order, for people: the faults, the line that broke the property,
 * the earlier line that it contradicts, and of the consoles what has to do with these: lines with
 * the same words where the pattern has stars or with the same numbers, the last line before a crash,
 * the first after it, and the last words of all.
 */
export function storyOf(
  record: RunRecord,
  timeline: readonly TimelineRow[],
  signature: FailureSignature,
): Story {
  const { scenario, outcome } = record;
  const nodes = scenario.world.nodes.map(({ name }) => name);
  const rows = withSingles(timeline, record, nodes);
  const property = outcome.properties.find(({ name }) => name === signature.property);
  const def = scenario.properties.find(({ name }) => name === signature.property);
  // Guests run ahead of the world's last event: what only the end decides may stand in such a line.
  const endNs = property?.atNs ?? Infinity;
  const told = rows.filter(({ atNs }) => atNs <= endNs);
  const clash = def === undefined ? null : findClash(def, told, nodes);
  const ranks = rankRows(told, clash, lastingNodes(scenario, def));
  const best = [...ranks].sort((a, b) => a[1] - b[1] || a[0] - b[0]).slice(0, STORY_LINES_MAX);
  const lines = best
    .map(([place]) => place)
    .sort((a, b) => a - b)
    .map((place): StoryLine => {
      const { atNs, node, kind, text } = told[place] as Row;
      const role =
        place === clash?.violation
          ? 'violation'
          : place === clash?.earlier
            ? 'contradicted'
            : FAULTS.has(kind)
              ? 'fault'
              : 'context';
      return { atNs, node: nodes[node] ?? 'world', text: clash?.told.get(place) ?? text, role };
    });
  const detail = property?.detail ?? outcome.reason;
  const running = outcome.nodes.filter(({ name, status }) => {
    return status === 'running' && def?.kind === 'exit' && def.nodes.includes(nodes.indexOf(name));
  });
  const who = running.length === 0 ? '' : ` (${running.map(({ name }) => name).join(', ')})`;
  return { lines, moral: `"${signature.property}" failed: ${detail}${who}` };
}

/** The timeline with the single faults, each before what else happened at its time. */
function withSingles(
  timeline: readonly TimelineRow[],
  record: RunRecord,
  nodes: readonly string[],
): readonly Row[] {
  const rows: Row[] = [];
  const disks = new Set(
    timeline.flatMap(({ atNs, node, kind, text }) => {
      return kind === 'disk' ? [`${atNs} ${nodes[node] ?? ''} ${text.split(' ')[0] ?? ''}`] : [];
    }),
  );
  // The world's own line of a disk's fault says also which file it met.
  const singles = singleFaultsOf(record).filter(({ atNs, node, text }) => {
    const fault = text.replace(/^disk /, '').replaceAll(' ', '-');
    return !disks.has(`${atNs} ${node} ${fault}`);
  });
  let told = 0;
  const add = (untilNs: number): void => {
    for (; told < singles.length; told++) {
      const { atNs, node, text } = singles[told] as SingleFault;
      if (atNs > untilNs) return;
      rows.push({ atNs, node: nodes.indexOf(node), kind: 'single', text });
    }
  };
  for (const row of timeline) {
    add(row.atNs);
    rows.push(row);
  }
  add(Infinity);
  return rows;
}

/** Nodes whose last words count: those that a property of an end is about. */
function lastingNodes(scenario: ScenarioDef, def: PropertyDef | undefined): readonly number[] {
  return def?.kind === 'exit' ? def.nodes : scenario.world.nodes.length <= 2 ? [0, 1] : [];
}

/** The line that broke a property, the one it contradicts, and the words that they share. */
interface Clash {
  readonly violation: number;
  readonly earlier: number | null;
  readonly words: readonly string[];
  /** Rows that are told in other words. */
  readonly told: ReadonlyMap<number, string>;
  /** Rows that another row tells as well. */
  readonly left: ReadonlySet<number>;
}

const NONE: ReadonlySet<number> = new Set();
const AS_THEY_ARE: ReadonlyMap<number, string> = new Map();

function findClash(def: PropertyDef, rows: readonly Row[], nodes: readonly string[]): Clash | null {
  if (def.kind === 'linearizable') {
    const found = findHistoryClash(def, rows, nodes);
    return found === null ? null : { ...found, words: [], told: found.words, left: found.calls };
  }
  if (!('console' in def) || def.kind === 'eventually') return null;
  const pattern = compilePattern(def.console);
  const matches = rows.flatMap(({ node, kind, text }, place) => {
    if (kind !== 'stdout' && kind !== 'stderr') return [];
    if (!def.nodes.includes(node)) return [];
    const captures = matchPattern(pattern, text);
    return captures === null ? [] : [{ place, node, captures }];
  });
  const last = matches[matches.length - 1];
  if (last === undefined) return null;
  if (def.kind !== 'unique' && def.kind !== 'agree') {
    return {
      violation: last.place,
      earlier: null,
      words: countedWords(rows[last.place]?.text ?? ''),
      told: AS_THEY_ARE,
      left: NONE,
    };
  }
  const key = (captures: readonly string[]): string => {
    return def.kind === 'unique' ? captures.join(' ') : (captures[0] ?? '');
  };
  const earlier = matches.find(({ place, node, captures }) => {
    if (place === last.place || key(captures) !== key(last.captures)) return false;
    return def.kind === 'unique' ? node !== last.node : captures.join() !== last.captures.join();
  });
  return {
    violation: last.place,
    earlier: earlier?.place ?? null,
    words: sharedWords(def.console, last.captures),
    told: AS_THEY_ARE,
    left: NONE,
  };
}

/** What a line counts, as other lines may write it: `token 4` becomes `token=4`. */
function countedWords(line: string): readonly string[] {
  return [...line.matchAll(/([a-z]+)[ =](\d+)/g)].map(([, word = '', count = '']) => {
    return `${word}=${count}`;
  });
}

/** The words of a pattern in which its first star stands, filled in: `term=*` becomes `term=3`. */
function sharedWords(pattern: string, captures: readonly string[]): readonly string[] {
  const word = pattern.split(' ').find((part) => part.includes('*'));
  return word === undefined ? [] : [word.replace('*', () => captures[0] ?? '')];
}

/** Each row that may be told, with its rank: 0 must be told, more may be left out. */
function rankRows(
  rows: readonly Row[],
  clash: Clash | null,
  lasting: readonly number[],
): ReadonlyMap<number, number> {
  const ranks = new Map<number, number>();
  const rank = (place: number, value: number): void => {
    ranks.set(place, Math.min(value, ranks.get(place) ?? Infinity));
  };
  if (clash !== null) rank(clash.violation, 0);
  if (clash !== null && clash.earlier !== null) rank(clash.earlier, 0);
  const lastLine = new Map<number, number>();
  const restarted = new Set<number>();
  const seen = new Set<string>();
  const singles: number[] = [];
  rows.forEach(({ node, kind, text }, place) => {
    if (SINGLE.has(kind)) singles.push(place);
    if (FAULTS.has(kind)) {
      rank(place, SINGLE.has(kind) ? 5 : 1);
      const before = lastLine.get(node);
      if (kind === 'crash' && before !== undefined) rank(before, 3);
      if (kind === 'restart') restarted.add(node);
      return;
    }
    if (kind === 'exit') return rank(place, 2);
    if ((kind !== 'stdout' && kind !== 'stderr') || clash?.left.has(place) === true) return;
    if (restarted.delete(node)) rank(place, 3);
    lastLine.set(node, place);
    const words = clash?.words ?? [];
    const key = `${node} ${text}`;
    if (words.some((word) => text.split(' ').includes(word)) && !seen.has(key)) rank(place, 2);
    seen.add(key);
  });
  for (const [node, place] of lastLine) rank(place, lasting.includes(node) ? 2 : 4);
  for (const place of singles.slice(-SINGLES_TOLD)) rank(place, 1);
  const end = clash?.violation ?? rows.length - 1;
  const nodes = new Set([clash?.violation, clash?.earlier].map((at) => rows[at ?? -1]?.node));
  for (let place = end - 1, count = 0; place >= 0 && count < 6; place--) {
    const row = rows[place];
    if (row === undefined || !nodes.has(row.node) || clash?.left.has(place) === true) continue;
    rank(place, 4);
    count++;
  }
  return ranks;
}

const MARKS: Readonly<Record<StoryLine['role'], string>> = {
  fault: '\u21af',
  violation: '\u2717',
  contradicted: '\u25c0',
  context: ' ',
};

/** A story as lines of text, its moral last. */
export function tellStory({ lines, moral }: Story): readonly string[] {
  const width = Math.max(5, ...lines.map(({ node }) => node.length));
  const told = lines.map(({ atNs, node, text, role }) => {
    const time = formatTime(atNs)
      .replace(/\d{3}s$/, 's')
      .padStart(13);
    return `${time}  ${node.padEnd(width)} ${MARKS[role]} ${printable(text)}`;
  });
  return [...told, printable(moral)];
}
