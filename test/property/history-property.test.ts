import { describe, expect, it } from 'vitest';
import {
  History,
  HISTORY_STEPS_DEFAULT,
  judgeHistory,
  PropertyChecker,
  type LinearizableDef,
} from '../../sim/index.ts';
import { historyOf } from './history-maker.ts';

const REGISTER: LinearizableDef = {
  kind: 'linearizable',
  name: 'reg',
  nodes: [0],
  model: 'register',
  initial: null,
  stepsMax: HISTORY_STEPS_DEFAULT,
};

/** Verdict and detail of a history. */
function judge(text: string, def: Partial<LinearizableDef> = {}): string {
  const { verdict, detail } = judgeHistory({ ...REGISTER, ...def }, historyOf(text));
  return `${verdict}: ${detail}`;
}

const STALE = `
  10 op invoke a 1 write x 1
  20 op ok a 1
  30 op invoke a 2 write x 2
  40 op invoke b 1 read x
  50 op ok a 2
  60 op ok b 1 2
  70 op invoke c 1 read x
  80 op ok c 1 1`;

describe('verdicts of histories', () => {
  it('passes with what was judged', () => {
    expect(judge('10 op invoke a 1 write x 1\n20 op ok a 1')).toBe('pass: 1 operations on 1 parts');
    expect(judge('10 op invoke a 1 write x 1\n20 op invoke a 2 write y 1\n30 op info a 1')).toBe(
      'pass: 2 operations on 2 parts, 2 of unknown outcome',
    );
  });

  it('names the reply that nothing explains, and draws what was around it', () => {
    const { verdict, detail, picture } = judgeHistory(REGISTER, historyOf(STALE));
    expect(verdict).toBe('fail');
    expect(detail).toBe('no order explains "read x → 1" by n/c at 0.000000080s (key x)');
    expect(`\n${(picture ?? []).join('\n')}`).toMatchInlineSnapshot(`
      "
                       n/a          n/b          n/c
      0.000000010s     + write x 1
      0.000000020s     + ok
      0.000000030s     + write x 2
      0.000000040s     |            + read x
      0.000000050s     + ok         |
      0.000000060s                  + 2
      0.000000070s                               + read x
      0.000000080s                               + 1
      an order until then: write x 1 → ok, write x 2 → ok, read x → 2; it holds 2"
    `);
  });

  it('leaves out what is far from the failure, and counts it', () => {
    const rows = Array.from({ length: 30 }, (_, index) => {
      const atNs = 100 + index * 10;
      return `${atNs} op invoke a ${index} write x ${index}\n${atNs + 5} op ok a ${index}`;
    });
    const text = `${rows.join('\n')}\n1000 op invoke b 0 read x\n1010 op ok b 0 3`;
    const { picture } = judgeHistory(REGISTER, historyOf(text));
    expect(picture?.[0]).toBe('(17 further operations are not shown)');
    expect(picture).toHaveLength(2 + 14 * 2 + 1);
    expect(picture?.at(-1)).toMatch(/^an order until then: 14 operations, write x 14 → ok, .* 29$/);
  });

  const ROWS: readonly (readonly [name: string, text: string, expected: string])[] = [
    [
      'a reply before its call',
      '10 op ok a 1 5',
      'a reply before its call: "ok" for operation a 1',
    ],
    [
      'a function that no model has',
      '10 op invoke a 1 increment x',
      'unknown function "increment"; known are read, write, cas, get, put, append, delete, add, ' +
        'remove, contains, members, enqueue, dequeue, txn',
    ],
    [
      'an id that is called twice',
      '10 op invoke a 1 read x\n20 op invoke a 1 read x',
      'operation a 1 is called twice',
    ],
    [
      'an id that is answered twice',
      '10 op invoke a 1 read x\n20 op ok a 1 5\n30 op info a 1',
      'operation a 1 is answered twice',
    ],
    [
      'an argument too few',
      '10 op invoke a 1 write x',
      '"write" takes key, value; it got 1 arguments',
    ],
    [
      'a result that is missing',
      '10 op invoke a 1 read x\n20 op ok a 1',
      'the result of "read" is one word',
    ],
    [
      'a result that is no truth',
      '10 op invoke a 1 cas x 1 2\n20 op ok a 1 yes',
      'the result of "cas" is true or false',
    ],
    ['no function', '10 op invoke a 1', '"op invoke a 1" names no function'],
    ['no id', '10 op ok a', '"op ok a" names no client and operation'],
    [
      'an empty word',
      '10 op invoke a 1 read  x',
      '"op invoke a 1 read  x" has two spaces in a row',
    ],
  ];
  for (const [name, text, expected] of ROWS) {
    it(`says what is wrong with a history: ${name}`, () => {
      const atNs = /(\d+) [^\n]*$/.exec(text)?.[1] ?? '';
      const place = `n at 0.0000000${atNs}s`;
      expect(judge(text)).toBe(`inconclusive: the history cannot be read: ${place}: ${expected}`);
    });
  }

  it('FB-70: is inconclusive when the steps are used up', () => {
    const detail = 'inconclusive: gave up after 3 steps, at key x';
    expect(judge(STALE, { stepsMax: 3 })).toBe(detail);
  });

  it('FB-71: is vacuous without an operation of the model', () => {
    expect(judge(STALE, { model: 'queue' })).toBe(
      'pass: vacuous: no operation of a queue was recorded',
    );
    expect(judge(STALE, { nodes: [] })).toBe(
      'pass: vacuous: no operation of a register was recorded',
    );
  });

  it('a register holds what the property says at first', () => {
    const text = '10 op invoke a 1 read x\n20 op ok a 1 0';
    expect(judge(text, { initial: '0' })).toBe('pass: 1 operations on 1 parts');
    expect(judge(text)).toMatch(/^fail: no order explains "read x → 0"/);
  });

  it('an operation that failed did not happen, one of unknown outcome may have', () => {
    const read = '50 op invoke b 1 read x\n60 op ok b 1 1';
    expect(judge(`10 op invoke a 1 write x 1\n20 op fail a 1\n${read}`)).toMatch(/^fail/);
    expect(judge(`10 op invoke a 1 write x 1\n20 op info a 1\n${read}`)).toMatch(/^pass/);
    expect(judge(`10 op invoke a 1 write x 1\n${read}`)).toMatch(/^pass/);
  });

  it('lines that only look like a history are none', () => {
    expect(historyOf('10 operation\n20 op\n30 op start a 1\n40 stop invoke a 1').all()).toEqual([]);
    expect(historyOf('10 operation\n20 op\n30 op start a 1').fault).toBeNull();
  });

  it('an id may come again in a node’s next life, and its open operation stays open', () => {
    const history = new History(['n']);
    history.line(0, 'op invoke a 1 write x 1', 10);
    history.lifeEnded(0);
    history.line(0, 'op invoke a 1 read x', 20);
    history.line(0, 'op ok a 1 1', 30);
    expect(history.fault).toBeNull();
    expect(judgeHistory(REGISTER, history).verdict).toBe('pass');
  });

  it('a checkpoint in the middle of an operation gives the same verdict', () => {
    const lines = STALE.trim()
      .split('\n')
      .map((row) => /^\s*(\d+) (.*)$/.exec(row) ?? [])
      .map(([, at, line]) => ({ atNs: Number(at), line: line ?? '' }));
    const whole = new PropertyChecker([REGISTER], ['n']);
    const first = new PropertyChecker([REGISTER], ['n']);
    for (const { line, atNs } of lines) whole.line(0, line, atNs);
    for (const { line, atNs } of lines.slice(0, 4)) first.line(0, line, atNs);
    const second = new PropertyChecker([REGISTER], ['n']);
    second.restore(structuredClone(first.capture()));
    for (const { line, atNs } of lines.slice(4)) second.line(0, line, atNs);
    expect(second.results(100, true)).toEqual(whole.results(100, true));
    expect(second.capture()).toEqual(whole.capture());
  });

  it('a marker may carry a line of the history', () => {
    const checker = new PropertyChecker([REGISTER], ['n']);
    const say = (text: string, atNs: number): string => {
      return checker.marker(0, new TextEncoder().encode(text), atNs);
    };
    expect(say('op invoke a 1 read x', 10)).toBe('op invoke a 1 read x');
    say('op ok a 1 7', 20);
    expect(checker.results(30, true)[0]?.verdict).toBe('fail');
  });
});
