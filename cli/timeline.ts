import { decodeUtf8, formatTime, type Note } from '../sim/index.ts';
import type { ConsolePiece } from './record.ts';
import type { Colors, Output } from './output.ts';

/** A row of a run's timeline: a line of a console, or something that happened to a node. */
export interface TimelineRow {
  readonly atNs: number;
  /** The node, or -1 for the world. */
  readonly node: number;
  readonly kind: 'stdout' | 'stderr' | Note['kind'];
  readonly text: string;
}

/** At most this many rows of consoles are kept; later ones are only counted. */
export const ROWS_MAX = 200_000;
/** Without `--full` a console shows this many lines at its start, and as many at its end, */
const LINES_SHOWN = 12;
/** and this many after each start. */
const LINES_SHOWN_AFTER_START = 2;
/** A line's pieces end here even without a newline. */
const LINE_BYTES_MAX = 8 * 1024;

/** Collects the lines of all consoles of a run. */
export class ConsoleCollector {
  readonly rows: TimelineRow[] = [];
  lost = 0;
  private readonly open = new Map<string, { bytes: number[]; atNs: number }>();

  readonly piece = ({ node, descriptor, bytes, atNs }: ConsolePiece): void => {
    const key = `${node}/${descriptor}`;
    let line = this.open.get(key);
    if (line === undefined) {
      line = { bytes: [], atNs };
      this.open.set(key, line);
    }
    for (const byte of bytes) {
      if (line.bytes.length === 0) line.atNs = atNs;
      if (byte !== 10) line.bytes.push(byte);
      if (byte === 10 || line.bytes.length >= LINE_BYTES_MAX) {
        this.row(node, descriptor, line.bytes, line.atNs);
        line.bytes = [];
      }
    }
  };

  /** Ends lines that have no newline yet. */
  close(): void {
    for (const [key, line] of this.open) {
      if (line.bytes.length === 0) continue;
      const [node, descriptor] = key.split('/').map(Number) as [number, 1 | 2];
      this.row(node, descriptor, line.bytes, line.atNs);
      line.bytes = [];
    }
  }

  private row(node: number, descriptor: 1 | 2, bytes: readonly number[], atNs: number): void {
    if (this.rows.length >= ROWS_MAX) {
      this.lost++;
      return;
    }
    const text = decodeUtf8(Uint8Array.from(bytes));
    this.rows.push({ atNs, node, kind: descriptor === 1 ? 'stdout' : 'stderr', text });
  }
}

/** Console lines and notes in the order of virtual time, ties by node and then as they came. */
export function mergeTimeline(
  lines: readonly TimelineRow[],
  notes: readonly Note[],
): readonly TimelineRow[] {
  const rows: TimelineRow[] = [...notes, ...lines];
  return rows.sort((a, b) => a.atNs - b.atNs || a.node - b.node);
}

const SIGNS: Readonly<Record<TimelineRow['kind'], string>> = {
  stdout: '\u2502',
  stderr: '\u2506',
  start: '\u25b6',
  exit: '\u25a0',
  trap: '\u2717',
  crash: '\u2717',
  restart: '\u21bb',
  pause: '\u23f8',
  network: '\u21af',
  marker: '\u25c6',
};

/** Writes a timeline for people: time, node in its colour, a sign for the kind, the text. */
export function sayTimeline(
  rows: readonly TimelineRow[],
  options: { readonly nodes: readonly string[]; readonly full: boolean; readonly output: Output },
): void {
  const { nodes, full, output } = options;
  const { colors } = output;
  const width = Math.max(5, ...nodes.map((name) => name.length));
  const left = full ? null : countLines(rows, nodes.length);
  let hidden = 0;
  for (const row of rows) {
    if (left !== null && isHidden(row, left)) {
      hidden++;
      continue;
    }
    sayHidden(hidden, output);
    hidden = 0;
    const name = row.node < 0 ? 'world' : (nodes[row.node] ?? '?');
    const paint = nodePaint(row.node, colors);
    const time = colors.dim(
      formatTime(row.atNs)
        .replace(/\d{3}s$/, 's')
        .padStart(13),
    );
    output.say(`${time}  ${paint(name.padEnd(width))} ${paintText(row, paint, colors)}`);
  }
  sayHidden(hidden, output);
}

function sayHidden(count: number, output: Output): void {
  if (count === 0) return;
  const what = count === 1 ? 'line' : 'lines';
  output.say(output.colors.dim(`${' '.repeat(15)}\u22ee ${count} ${what} (--full shows them)`));
}

interface LinesLeft {
  readonly shown: number[];
  readonly total: number[];
  /** How many lines are shown in any case, since the node has just started. */
  readonly fresh: number[];
}

function countLines(rows: readonly TimelineRow[], nodeCount: number): LinesLeft {
  const total = Array.from({ length: nodeCount }, () => 0);
  for (const { node, kind } of rows) {
    if (isLine(kind) && node >= 0) total[node] = (total[node] ?? 0) + 1;
  }
  return { total, shown: total.map(() => 0), fresh: total.map(() => 0) };
}

/** The middle of a console that wrote much is left out. */
function isHidden({ node, kind }: TimelineRow, { shown, total, fresh }: LinesLeft): boolean {
  if (node < 0) return false;
  if (kind === 'start' || kind === 'restart') fresh[node] = LINES_SHOWN_AFTER_START;
  if (!isLine(kind)) return false;
  const place = shown[node] ?? 0;
  const count = total[node] ?? 0;
  shown[node] = place + 1;
  const isFresh = (fresh[node] ?? 0) > 0;
  if (isFresh) {
    fresh[node] = (fresh[node] ?? 0) - 1;
    return false;
  }
  return count > 2 * LINES_SHOWN + 1 && place >= LINES_SHOWN && place < count - LINES_SHOWN;
}

function isLine(kind: TimelineRow['kind']): boolean {
  return kind === 'stdout' || kind === 'stderr';
}

type Paint = (text: string) => string;

function nodePaint(node: number, colors: Colors): Paint {
  if (node < 0) return colors.bold;
  const palette = [colors.cyan, colors.green, colors.magenta, colors.yellow, colors.blue];
  return palette[node % palette.length] as Paint;
}

function paintText(row: TimelineRow, paint: Paint, colors: Colors): string {
  const sign = SIGNS[row.kind];
  switch (row.kind) {
    case 'stdout':
    case 'stderr':
      return `${paint(sign)} ${printable(row.text)}`;
    case 'trap':
    case 'crash':
      return colors.red(`${sign} ${printable(row.text)}`);
    case 'network':
    case 'pause':
    case 'restart':
      return colors.yellow(`${sign} ${printable(row.text)}`);
    default:
      return colors.dim(`${sign} ${printable(row.text)}`);
  }
}

/** A guest's text must not steer the terminal: control characters are shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(CONTROL, (character) => {
    if (character === '\t') return '    ';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}

const CONTROL = /[\p{Cc}\u2028\u2029]/gu;
