import { describe, expect, it } from 'vitest';
import { Output } from '../../cli/output.ts';
import {
  ConsoleCollector,
  mergeTimeline,
  sayTimeline,
  type TimelineRow,
} from '../../cli/timeline.ts';
import type { Note } from '../../sim/index.ts';

/** What people see of rows. */
function shown(
  rows: readonly TimelineRow[],
  options: { nodes: readonly string[]; full?: boolean; patterns?: readonly string[] },
): string[] {
  const lines: string[] = [];
  const sink = {
    isTerminal: true,
    columns: 100,
    write: (text: string) => void lines.push(text.trimEnd()),
    writeBytes: () => undefined,
  };
  const host = { stdout: sink, stderr: sink, env: { NO_COLOR: '1' } };
  const output = new Output(host, { format: 'table', quiet: false, verbose: false });
  const { nodes, full = false, patterns = [] } = options;
  sayTimeline(rows, { nodes, full, patterns, output });
  return lines;
}

function lines(node: number, count: number, text = 'line'): TimelineRow[] {
  return Array.from({ length: count }, (_, index) => ({
    atNs: index * 1_000_000,
    node,
    kind: 'stdout',
    text: `${text} ${index}`,
  }));
}

describe('the timeline', () => {
  it('gives pieces of consoles back as lines, each at the time of its first byte', () => {
    const collector = new ConsoleCollector();
    const piece = (node: number, text: string, atNs: number): void => {
      collector.piece({ node, descriptor: 1, bytes: Buffer.from(text), atNs });
    };
    piece(0, 'he', 10);
    piece(1, 'other\n', 15);
    piece(0, 'llo\nwor', 20);
    piece(0, 'ld', 30);
    collector.close();
    expect(collector.rows.map(({ atNs, node, text }) => [atNs, node, text])).toEqual([
      [15, 1, 'other'],
      [10, 0, 'hello'],
      [20, 0, 'world'],
    ]);
  });

  it('merges lines and notes in the order of virtual time', () => {
    const note = (atNs: number, node: number, kind: Note['kind'], text: string): Note => {
      return { atNs, node, kind, text };
    };
    const rows = mergeTimeline(
      [
        { atNs: 2_000, node: 1, kind: 'stdout', text: 'b' },
        { atNs: 1_000, node: 0, kind: 'stderr', text: 'a' },
      ],
      [
        note(0, 0, 'start', 'start'),
        note(2_000, -1, 'network', 'heal'),
        note(3_000, 1, 'crash', 'crash'),
      ],
    );
    expect(shown(rows, { nodes: ['n1', 'long-name'] })).toEqual([
      '    0.000000s  n1        ▶ start',
      '    0.000001s  n1        ┆ a',
      '    0.000002s  world     ↯ heal',
      '    0.000002s  long-name │ b',
      '    0.000003s  long-name ✗ crash',
    ]);
  });

  it('leaves the middle of long consoles out, but not what properties are about', () => {
    const rows = lines(0, 100);
    rows[50] = { ...(rows[50] as TimelineRow), text: 'became leader term=3' };
    const text = shown(rows, { nodes: ['n1'], patterns: ['became leader term=*'] });
    expect(text).toHaveLength(12 + 1 + 1 + 1 + 12);
    expect(text.slice(11, 16)).toEqual([
      '    0.011000s  n1    │ line 11',
      '               ⋮ 38 lines (--full shows them)',
      '    0.050000s  n1    │ became leader term=3',
      '               ⋮ 37 lines (--full shows them)',
      '    0.088000s  n1    │ line 88',
    ]);
    expect(shown(rows, { nodes: ['n1'], full: true })).toHaveLength(100);
  });

  it('shows what a node says right after each start', () => {
    const rows = lines(0, 100);
    rows.splice(50, 0, { atNs: 49_500_000, node: 0, kind: 'restart', text: 'restart' });
    const text = shown(rows, { nodes: ['n1'] });
    expect(text.slice(12, 17)).toEqual([
      '               ⋮ 38 lines (--full shows them)',
      '    0.049500s  n1    ↻ restart',
      '    0.050000s  n1    │ line 50',
      '    0.051000s  n1    │ line 51',
      '               ⋮ 36 lines (--full shows them)',
    ]);
  });

  it('never spends a line on saying that one is left out', () => {
    const rows = lines(0, 26);
    rows[12] = { ...(rows[12] as TimelineRow), text: 'leader' };
    const text = shown(rows, { nodes: ['n1'], patterns: ['leader'] });
    expect(text).toHaveLength(26);
    expect(text[13]).toBe('    0.013000s  n1    │ line 13');
  });
});
