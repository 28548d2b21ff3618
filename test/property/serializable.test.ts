import { describe, expect, it } from 'vitest';
import {
  checkSerializable,
  HISTORY_STEPS_DEFAULT,
  judgeHistory,
  parseTransaction,
  type MicroOperation,
  type Operation,
} from '../../sim/index.ts';
import { Dice, historyOf } from './history-maker.ts';

/** Transactions one after the other in real time, which serialisability does not care about. */
function historyText(
  rows: readonly (readonly [client: string, call: string, reply: string])[],
): string {
  return rows
    .map(([client, call, reply], index) => {
      const invoke = `${index * 10} op invoke ${client} ${index} txn ${call}`;
      const [verb = '', ...result] = reply.split(' ');
      return `${invoke}\n${index * 10 + 5} ${['op', verb, client, index, ...result].join(' ')}`;
    })
    .join('\n');
}

function judge(rows: Parameters<typeof historyText>[0]): string {
  const history = historyOf(historyText(rows));
  const def = {
    kind: 'serializable',
    name: 's',
    nodes: [0],
    stepsMax: HISTORY_STEPS_DEFAULT,
  } as const;
  const { verdict, detail, picture } = judgeHistory(def, history);
  return [`${verdict}: ${detail}`, ...(picture ?? [])].join('\n');
}

/** Tries every order of the transactions, and every choice among those of unknown outcome. */
function hasSerialOrder(operations: readonly Operation[]): boolean {
  const visit = (left: readonly Operation[], lists: ReadonlyMap<string, string>): boolean => {
    if (left.every((each) => each.status !== 'ok')) return true;
    return left.some((each) => {
      const after = perform(each, lists);
      return (
        after !== null &&
        visit(
          left.filter((other) => other !== each),
          after,
        )
      );
    });
  };
  return visit(
    operations.filter((each) => each.status !== 'fail'),
    new Map(),
  );
}

function perform(
  operation: Operation,
  lists: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> | null {
  const result = operation.status === 'ok' ? operation.result : null;
  const micros = parseTransaction(operation.args, result) as readonly MicroOperation[];
  const after = new Map(lists);
  for (const micro of micros) {
    const list = after.get(micro.key) ?? '';
    if (micro.kind === 'append') {
      after.set(micro.key, list === '' ? micro.value : `${list},${micro.value}`);
    } else if (micro.list !== null && micro.list.join() !== list) {
      return null;
    }
  }
  return after;
}

/** A small random history; what reads bring is a drawn beginning of a drawn order, often wrong. */
function randomRows(dice: Dice): Parameters<typeof historyText>[0] {
  const orders = new Map([
    ['x', [] as string[]],
    ['y', [] as string[]],
  ]);
  const plans = Array.from({ length: 2 + dice.roll(4) }, (_, index) => {
    return Array.from({ length: 1 + dice.roll(2) }, (__, part) => {
      const key = dice.pick(['x', 'y']);
      if (dice.roll(2) === 0) return { key, value: null };
      const value = `${index}${part}`;
      const order = orders.get(key) ?? [];
      order.splice(dice.roll(order.length + 1), 0, value);
      return { key, value };
    });
  });
  return plans.map((plan, index) => {
    const call = plan.map(({ key, value }) =>
      value === null ? `read ${key}` : `append ${key} ${value}`,
    );
    const lists = plan.flatMap(({ key, value }) => {
      if (value !== null) return [];
      const order = orders.get(key) ?? [];
      return [order.slice(0, dice.roll(order.length + 1)).join() || 'nil'];
    });
    const verb = dice.pick(['ok', 'ok', 'ok', 'ok', 'info', 'fail']);
    return [
      `c${index}`,
      call.join(' '),
      verb === 'ok' ? ['ok', ...lists].join(' ') : verb,
    ] as const;
  });
}

describe('the check of transactions', () => {
  it('agrees with brute force on small random histories', () => {
    const found = { pass: 0, fail: 0 };
    for (let seed = 0; seed < 3000; seed++) {
      const operations = historyOf(historyText(randomRows(new Dice(seed)))).all();
      const { verdict } = checkSerializable(operations, 10_000);
      expect([seed, verdict]).toEqual([seed, hasSerialOrder(operations) ? 'pass' : 'fail']);
      found[verdict as 'pass' | 'fail']++;
    }
    expect(Math.min(found.pass, found.fail)).toBeGreaterThan(300);
  });

  it('passes a history that has an order, though not that of real time', () => {
    expect(
      judge([
        ['a', 'append x 1', 'ok'],
        ['b', 'read x', 'ok nil'],
        ['c', 'read x append x 2', 'ok 1'],
      ]),
    ).toBe('pass: 3 transactions on 1 lists');
  });

  it('names a lost update (G-single) and prints the cycle', () => {
    expect(
      judge([
        ['a', 'read x append x 1', 'ok nil'],
        ['b', 'read x append x 2', 'ok nil'],
        ['c', 'read x', 'ok 1,2'],
      ]),
    ).toBe(
      [
        'fail: G-single: a cycle of 2 transactions: n/b 1, n/a 0',
        'n/b 1: read x → nil, append x 2',
        '  rw on x: it did not see the append of n/a 0',
        'n/a 0: read x → nil, append x 1',
        '  ww on x: it appended before n/b 1',
      ].join('\n'),
    );
  });

  const ROWS: readonly (readonly [
    name: string,
    rows: Parameters<typeof historyText>[0],
    expected: string,
  ])[] = [
    [
      'write skew (G2)',
      [
        ['a', 'read x append y 1', 'ok nil'],
        ['b', 'read y append x 2', 'ok nil'],
      ],
      'fail: G2: a cycle of 2 transactions: n/a 0, n/b 1',
    ],
    [
      'a dirty write (G0)',
      [
        ['a', 'append x 1 append y 1', 'ok'],
        ['b', 'append x 2 append y 2', 'ok'],
        ['c', 'read x', 'ok 1,2'],
        ['d', 'read y', 'ok 2,1'],
      ],
      'fail: G0: a cycle of 2 transactions: n/a 0, n/b 1',
    ],
    [
      'circular information (G1c)',
      [
        ['a', 'append x 1 read y', 'ok 2'],
        ['b', 'append y 2 read x', 'ok 1'],
      ],
      'fail: G1c: a cycle of 2 transactions: n/b 1, n/a 0',
    ],
    [
      'an aborted read (G1a)',
      [
        ['a', 'append x 1', 'fail'],
        ['b', 'read x', 'ok 1'],
      ],
      'fail: G1a: n/b 1 read 1 in x, appended by n/a 0, which failed',
    ],
    [
      'a value from nowhere',
      [['a', 'read x', 'ok 7']],
      'fail: n/a 0 read 7 in x, which nobody appended',
    ],
    [
      'its own append unseen',
      [['a', 'append x 1 read x', 'ok nil']],
      'fail: internal: n/a 0 read nil of its own in x after appending 1',
    ],
    [
      'two orders',
      [
        ['a', 'append x 1', 'ok'],
        ['b', 'append x 2', 'ok'],
        ['c', 'read x', 'ok 1,2'],
        ['d', 'read x', 'ok 2'],
      ],
      'fail: x was read as 2 and as 1,2: no order has both',
    ],
    [
      'a value twice',
      [
        ['a', 'append x 1', 'ok'],
        ['b', 'append x 1', 'ok'],
      ],
      'inconclusive: value 1 is appended twice to x; it must be unique',
    ],
    [
      'a list too few',
      [['a', 'read x read y', 'ok 1']],
      'inconclusive: the history cannot be read: n at 0.000000005s: ' +
        'the result of "txn" has 1 lists for 2 reads',
    ],
    [
      'a part that is none',
      [['a', 'write x 1', 'ok']],
      'inconclusive: the history cannot be read: n at 0.000000000s: ' +
        '"txn" takes "append key value" and "read key"; it got "write x 1"',
    ],
  ];
  it.each(ROWS)('says what is wrong: %s', (_name, rows, expected) => {
    expect(judge(rows).split('\n')[0]).toBe(expected);
  });

  it('FB-71: without a transaction it is vacuous', () => {
    const history = historyOf('1 op invoke a 1 read x');
    const def = { kind: 'serializable', name: 's', nodes: [0], stepsMax: 1 } as const;
    expect(judgeHistory(def, history).detail).toBe('vacuous: no transaction was recorded');
  });

  it('FB-70: gives up at its bound', () => {
    const rows = Array.from({ length: 9 }, (_, index) => {
      return ['a', `append x ${index}`, 'ok'] as const;
    });
    const history = historyOf(historyText([...rows, ['b', 'read x', 'ok 0,1,2,3,4,5,6,7,8']]));
    expect(checkSerializable(history.all(), 5)).toEqual({
      verdict: 'inconclusive',
      detail: 'gave up at 5 dependencies',
    });
  });
});
