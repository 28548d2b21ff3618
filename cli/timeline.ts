import {
  compilePattern,
  decodeUtf8,
  formatTime,
  matchPattern,
  type Note,
  type Pattern,
} from '../sim/index.ts';
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
/**
 * Without `--full` all consoles together show about this many lines of their starts and ends, each at
 * least two of both and at most twelve; besides, each
 */
const LINES_SHOWN = 40;
/** shows this many after each start of its node, */
const LINES_SHOWN_AFTER_START = 2;
/** and at most this many in which a property's pattern matches. */
const LINES_SHOWN_MATCHING = 50;
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

  /** The lines that have no newline yet, as far as they were written. */
  get unfinished(): readonly ConsolePiece[] {
    const pieces: ConsolePiece[] = [];
    for (const [key, { bytes, atNs }] of this.open) {
      if (bytes.length === 0) continue;
      const [node, descriptor] = key.split('/').map(Number) as [number, 1 | 2];
      pieces.push({ node, descriptor, bytes: Uint8Array.from(bytes), atNs });
    }
    return pieces;
  }

  /** Ends lines that have no newline yet. */
  close(): void {
    for (const { node, descriptor, bytes, atNs } of this.unfinished) {
      this.row(node, descriptor, bytes, atNs);
    }
    this.open.clear();
  }

  private row(node: number, descriptor: 1 | 2, bytes: ArrayLike<number>, atNs: number): void {
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
  disk: '\u26c1',
  marker: '\u25c6',
  wipe: '\u2717',
  upgrade: '\u21bb',
  clock: '\u25f7',
  plan: '\u21af',
};

/** Writes a timeline for people: time, node in its colour, a sign for the kind, the text. */
export function sayTimeline(
  rows: readonly TimelineRow[],
  options: {
    readonly nodes: readonly string[];
    readonly full: boolean;
    /** Lines in which one of these matches are worth showing. */
    readonly patterns: readonly string[];
    readonly output: Output;
  },
): void {
  const { nodes, full, patterns, output } = options;
  const { colors } = output;
  const width = Math.max(5, ...nodes.map((name) => name.length));
  const choice = full ? null : new LineChoice(rows, nodes.length, patterns);
  const sayRow = (row: TimelineRow): void => {
    const name = row.node < 0 ? 'world' : (nodes[row.node] ?? '?');
    const paint = nodePaint(row.node, colors);
    const time = colors.dim(
      formatTime(row.atNs)
        .replace(/\d{3}s$/, 's')
        .padStart(13),
    );
    output.say(`${time}  ${paint(name.padEnd(width))} ${paintText(row, paint, colors)}`);
  };
  let hidden: TimelineRow[] = [];
  const sayGap = (): void => {
    // To say that one line is hidden takes a line, too.
    if (hidden.length === 1) sayRow(hidden[0] as TimelineRow);
    else sayHidden(hidden.length, output);
    hidden = [];
  };
  for (const row of rows) {
    if (choice !== null && !choice.shows(row)) {
      hidden.push(row);
      continue;
    }
    sayGap();
    sayRow(row);
  }
  sayGap();
}

function sayHidden(count: number, output: Output): void {
  if (count === 0) return;
  output.say(output.colors.dim(`${' '.repeat(15)}\u22ee ${count} lines (--full shows them)`));
}

interface NodeLines {
  readonly total: number;
  seen: number;
  /** How many more are shown in any case, since the node has just started. */
  fresh: number;
  matching: number;
}

/** Chooses which lines of the consoles are shown. */
class LineChoice {
  private readonly nodes: readonly NodeLines[];
  private readonly patterns: readonly Pattern[];
  private readonly edge: number;

  constructor(rows: readonly TimelineRow[], nodeCount: number, patterns: readonly string[]) {
    const totals = Array.from({ length: nodeCount }, () => 0);
    for (const { node, kind } of rows) {
      if (isLine(kind) && node >= 0) totals[node] = (totals[node] ?? 0) + 1;
    }
    this.nodes = totals.map((total) => ({ total, seen: 0, fresh: 0, matching: 0 }));
    this.patterns = patterns.map(compilePattern);
    const share = Math.floor(LINES_SHOWN / (2 * Math.max(1, nodeCount)));
    this.edge = Math.min(12, Math.max(2, share));
  }

  /** Whether the next row is shown; rows must come in their order. */
  shows({ node, kind, text }: TimelineRow): boolean {
    const lines = this.nodes[node];
    if (lines === undefined) return true;
    if (kind === 'start' || kind === 'restart') lines.fresh = LINES_SHOWN_AFTER_START;
    if (!isLine(kind)) return true;
    const place = lines.seen++;
    const isFresh = lines.fresh > 0;
    if (isFresh) lines.fresh--;
    const atEdge = place < this.edge || place >= lines.total - this.edge;
    return atEdge || isFresh || lines.total <= 2 * this.edge + 1 || this.matches(lines, text);
  }

  private matches(lines: NodeLines, text: string): boolean {
    if (lines.matching >= LINES_SHOWN_MATCHING) return false;
    const matches = this.patterns.some((pattern) => matchPattern(pattern, text) !== null);
    if (matches) lines.matching++;
    return matches;
  }
}

/** Whether a row is a line of a console. */
export function isLine(kind: TimelineRow['kind']): boolean {
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
