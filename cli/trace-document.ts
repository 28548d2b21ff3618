import { SimError } from '../sim/index.ts';
import type { ConsoleCollector, TimelineRow } from './timeline.ts';
import { mergeTimeline } from './timeline.ts';
import type { RunRecord } from './record.ts';

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
export function traceJson(record: RunRecord, collector: ConsoleCollector): string | null {
  collector.close();
  if (collector.lost > 0) return null;
  const lines: string[] = [];
  let length = 0;
  for (const { atNs, node, kind, text } of mergeTimeline(collector.rows, record.notes)) {
    const line = JSON.stringify({ at_ns: atNs, node, kind, text });
    length += line.length + 2;
    if (length > TRACE_LENGTH_MAX) return null;
    lines.push(line);
  }
  return `{"schema_version":${TRACE_VERSION},"rows":[\n${lines.join(',\n')}\n]}\n`;
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
