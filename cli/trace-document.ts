import { SimError } from '../sim/index.ts';
import type { ConsolePiece, RunRecord } from './record.ts';
import { ConsoleCollector, isLine, mergeTimeline, type TimelineRow } from './timeline.ts';

/** The version of `trace.json`; a reader refuses another one (FB-55). */
const TRACE_VERSION = 1;
/** A longer trace is left out of its bundle: whoever wants it repeats the run. */
export const TRACE_LENGTH_MAX = 32 * 1024 * 1024;

/**
 * `trace.json`: what a run wrote and what happened to it, in the order of virtual time, so that it
 * can be shown without running anything (FB-53). A row a line; `node` is its index, -1 the world.
 * It is for people: no part of any identity, and a replay compares the run itself. Null where it
 * would be too long, or where lines were lost already.
 */
export function traceJson(
  { notes }: Pick<RunRecord, 'notes'>,
  collector: ConsoleCollector,
): string | null {
  collector.close();
  return serialize(notes, collector, []);
}

/** The same of a run that goes on: lines without an end stand apart, as `unfinished`. */
export function savedTraceJson(
  notes: RunRecord['notes'],
  collector: ConsoleCollector,
): string | null {
  return serialize(notes, collector, collector.unfinished);
}

function serialize(
  notes: RunRecord['notes'],
  collector: ConsoleCollector,
  unfinished: readonly ConsolePiece[],
): string | null {
  if (collector.lost > 0) return null;
  const lines: string[] = [];
  let length = 0;
  for (const { atNs, node, kind, text } of mergeTimeline(collector.rows, notes)) {
    const line = JSON.stringify({ at_ns: atNs, node, kind, text });
    length += line.length + 2;
    if (length > TRACE_LENGTH_MAX) return null;
    lines.push(line);
  }
  const open = unfinished.map(({ node, descriptor, bytes, atNs }) => {
    const text = Buffer.from(bytes).toString('base64');
    return JSON.stringify({ at_ns: atNs, node, descriptor, base64: text });
  });
  const rest = open.length === 0 ? '' : `,"unfinished":[\n${open.join(',\n')}\n]`;
  return `{"schema_version":${TRACE_VERSION},"rows":[\n${lines.join(',\n')}\n]${rest}}\n`;
}

/** The collector of a run that goes on from a savepoint with this trace. Throws `bundle/trace`. */
export function resumedCollector(text: string): ConsoleCollector {
  const collector = new ConsoleCollector();
  for (const row of readTrace(text)) if (isLine(row.kind)) collector.rows.push(row);
  const { unfinished = [] } = JSON.parse(text) as { readonly unfinished?: unknown };
  if (!Array.isArray(unfinished)) refuse('its lines without an end are no list');
  for (const piece of unfinished as readonly unknown[]) {
    const { at_ns: atNs, node, descriptor, base64 } = (piece ?? {}) as Record<string, unknown>;
    const isSound =
      Number.isSafeInteger(atNs) &&
      Number.isSafeInteger(node) &&
      (descriptor === 1 || descriptor === 2) &&
      typeof base64 === 'string';
    if (!isSound) refuse('a line without an end is none');
    const bytes = Buffer.from(base64 as string, 'base64');
    collector.piece({ node, descriptor, bytes, atNs } as ConsolePiece);
  }
  return collector;
}

/** Reads a bundle's `trace.json`. Throws `bundle/trace`. */
export function readTrace(text: string): readonly TimelineRow[] {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return refuse('it is no JSON', error);
  }
  const { schema_version: version, rows } = (document ?? {}) as Readonly<Record<string, unknown>>;
  if (version !== TRACE_VERSION) refuse(`its schema_version is not ${TRACE_VERSION}`);
  if (!Array.isArray(rows)) refuse('it has no rows');
  return rows.map((row: unknown, index) => {
    const {
      at_ns: atNs,
      node,
      kind,
      text: words,
    } = (row ?? {}) as Readonly<Record<string, unknown>>;
    const isSound =
      Number.isSafeInteger(atNs) &&
      Number.isSafeInteger(node) &&
      typeof kind === 'string' &&
      typeof words === 'string';
    if (!isSound) refuse(`row ${index} is none`);
    return { atNs, node, kind, text: words } as TimelineRow;
  });
}

function refuse(why: string, cause?: unknown): never {
  throw new SimError({
    code: 'bundle/trace',
    message: `the bundle's trace cannot be read: ${why}`,
    place: 'trace.json',
    remedy: 'record the run again',
    cause,
  });
}
