import { DOORS, readTraffic, type Decision, type LoggedEvent } from '../sim/index.ts';

/** A row of the timeline: a console line, or something that happened to a node (-1: the world). */
export interface ReportRow {
  readonly atNs: number;
  readonly node: number;
  readonly kind: string;
  readonly text: string;
}

/** A node, and what became of it. */
export interface ReportNode {
  readonly name: string;
  readonly guest: string;
  readonly ended: string;
  readonly lives: number;
}

/** What a report is made of, read from a bundle and from its replay. */
export interface ReportSource {
  readonly title: string;
  readonly bundle: string;
  readonly seed: number;
  readonly verdict: string;
  readonly reason: string;
  readonly endNs: number;
  readonly engine: string;
  readonly scenarioId: string;
  readonly replay: string;
  readonly nodes: readonly ReportNode[];
  readonly properties: readonly {
    readonly name: string;
    readonly kind: string;
    readonly verdict: string;
    readonly detail: string;
    readonly atNs: number | null;
  }[];
  readonly rows: readonly ReportRow[];
  /** Why there are no console lines, or null where they are. */
  readonly missing: string | null;
  /** The bundle's `plan.json`, or null: such a bundle is sound (FB-57). */
  readonly plan: unknown;
  readonly decisions: Iterable<Decision>;
  readonly events: Iterable<LoggedEvent>;
}

/** At most so many rows, messages and decisions are shown; the rest is only counted. */
export const REPORT_ITEMS_MAX = 500_000;

/**
 * Messages in columns, in the order of sending: the time since the one before, and how long each
 * took, or -1 for one that never arrived. Short numbers are read faster than times.
 */
interface Messages {
  readonly from: number[];
  readonly to: number[];
  readonly since: number[];
  readonly took: number[];
  readonly bytes: number[];
}

/** The document that a page shows: plain data, in columns where there is much of it. */
export function reportDocument(source: ReportSource): Readonly<Record<string, unknown>> {
  const { decisions, events, rows, ...rest } = source;
  return {
    schema_version: 1,
    ...rest,
    rows: {
      since: rows.map(({ atNs }, row) => atNs - (rows[row - 1]?.atNs ?? 0)),
      node: rows.map(({ node }) => node),
      kind: rows.map(({ kind }) => kind),
      text: rows.map(({ text }) => text),
    },
    ...trafficOf(events),
    decisions: decisionColumns(decisions),
    doors: DOORS,
  };
}

/**
 * Pairs what was sent with what arrived: packets between two nodes with the same digest pair in
 * the order in which they were sent.
 */
function trafficOf(events: Iterable<LoggedEvent>): {
  readonly messages: Messages;
  readonly eventCount: number;
} {
  const messages: Messages = { from: [], to: [], since: [], took: [], bytes: [] };
  const sent: number[] = [];
  const flying = new Map<string, { next: number; readonly list: number[] }>();
  let eventCount = 0;
  for (const { kind, guest, atNs, input, result } of events) {
    eventCount++;
    if (kind === 'net/send' && messages.from.length < REPORT_ITEMS_MAX) {
      const { peer, bytes } = readTraffic(result);
      const key = `${guest}/${peer}/${input}`;
      const queue = flying.get(key) ?? { next: 0, list: [] };
      flying.set(key, queue);
      queue.list.push(messages.from.length);
      messages.from.push(guest);
      messages.to.push(peer);
      messages.since.push(atNs - (sent[sent.length - 1] ?? 0));
      messages.took.push(-1);
      sent.push(atNs);
      messages.bytes.push(bytes);
    } else if (kind === 'net/deliver') {
      const queue = flying.get(`${readTraffic(result).peer}/${guest}/${input}`);
      const index = queue?.list[queue.next];
      if (queue === undefined || index === undefined) continue;
      queue.next++;
      messages.took[index] = atNs - (sent[index] ?? 0);
    }
  }
  return { messages, eventCount };
}

function decisionColumns(decisions: Iterable<Decision>): Readonly<Record<string, unknown>> {
  const streams = new Map<string, number>();
  let lastNs = 0;
  const columns = {
    since: [] as number[],
    stream: [] as number[],
    ordinal: [] as number[],
    arity: [] as number[],
    choice: [] as number[],
    door: [] as number[],
  };
  for (const { stream, ordinal, atNs, arity, choice, door } of decisions) {
    if (columns.since.length >= REPORT_ITEMS_MAX) break;
    let index = streams.get(stream);
    if (index === undefined) streams.set(stream, (index = streams.size));
    columns.since.push(atNs - lastNs);
    lastNs = atNs;
    columns.stream.push(index);
    columns.ordinal.push(ordinal);
    columns.arity.push(arity);
    columns.choice.push(choice);
    columns.door.push(DOORS.indexOf(door));
  }
  return { ...columns, streams: [...streams.keys()] };
}
