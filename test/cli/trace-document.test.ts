import { describe, expect, it } from 'vitest';
import { ConsoleCollector } from '../../cli/timeline.ts';
import { resumedCollector, savedTraceJson, traceJson } from '../../cli/trace-document.ts';

const NOTES = [{ atNs: 5, node: 0, kind: 'start', text: 'start' }] as const;

function write(collector: ConsoleCollector, pieces: readonly (readonly [number, string])[]): void {
  for (const [atNs, text] of pieces) {
    collector.piece({ node: 0, descriptor: 1, bytes: Buffer.from(text), atNs });
  }
}

describe('the trace of a run that goes on from a savepoint', () => {
  const pieces = [
    [10, 'one\ntw'],
    [20, 'o\nthr'],
    [30, 'ee'],
  ] as const;

  it.each([0, 1, 2, 3])('is the whole run’s, saved after %i pieces of lines', (count) => {
    const whole = new ConsoleCollector();
    write(whole, pieces);
    const before = new ConsoleCollector();
    write(before, pieces.slice(0, count));
    const after = resumedCollector(savedTraceJson(NOTES, before) ?? '');
    write(after, pieces.slice(count));
    const expected = traceJson({ notes: NOTES }, whole);
    expect(expected).toContain('"three"');
    expect(traceJson({ notes: NOTES }, after)).toBe(expected);
  });

  it.each(['7', '[7]', '[{"at_ns":1,"node":0,"descriptor":3,"base64":""}]'])(
    'is refused where its unfinished lines are %s',
    (unfinished) => {
      const text = `{"schema_version":1,"rows":[],"unfinished":${unfinished}}`;
      expect(() => resumedCollector(text)).toThrow(
        expect.objectContaining({ code: 'bundle/trace' }),
      );
    },
  );
});
