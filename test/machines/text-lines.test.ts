import { describe, expect, it } from 'vitest';
import { TEXT_LINE_BYTES_MAX, TextLines } from '../../cli/machines/text-lines.ts';
import { decodeUtf8, encodeUtf8 } from '../../sim/index.ts';

function take(lines: TextLines, text: string): readonly (readonly [string, string])[] {
  return lines.take(encodeUtf8(text)).map(({ kind, bytes }) => [kind, decodeUtf8(bytes)]);
}

describe('the text port of a machine', () => {
  it('tells markers from lines of a log', () => {
    const lines = new TextLines();
    expect(take(lines, '{"kind":"log","name":"a"}\nplain\n{"b":1}\n')).toEqual([
      ['marker', '{"kind":"log","name":"a"}'],
      ['log', 'plain\n'],
      ['marker', '{"b":1}'],
    ]);
  });

  it('keeps the beginning of a line until its end comes, also over a checkpoint', () => {
    const lines = new TextLines();
    expect(take(lines, '{"kind":"rea')).toEqual([]);
    const resumed = new TextLines();
    resumed.restore(lines.capture());
    for (const each of [lines, resumed]) {
      expect(take(each, 'chable"}\n')).toEqual([['marker', '{"kind":"reachable"}']]);
      expect(each.capture()).toEqual(new Uint8Array(0));
    }
  });

  it('takes a line without an end apart', () => {
    const lines = new TextLines();
    const [piece] = lines.take(new Uint8Array(TEXT_LINE_BYTES_MAX + 3).fill(0x7b));
    expect(piece).toMatchObject({ kind: 'log' });
    expect(piece?.bytes).toHaveLength(TEXT_LINE_BYTES_MAX);
    expect(lines.capture()).toHaveLength(3);
  });
});
