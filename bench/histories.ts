import {
  History,
  HISTORY_STEPS_DEFAULT,
  judgeHistory,
  type LinearizableDef,
} from '../sim/index.ts';
import { interleave, type Benchmark, type Figure } from './harness.ts';

const OPERATIONS = 10_000;
const KEYS = 10;
const CLIENTS = 30;
const ROUNDS = 5;

/** A generator with a state of its own, so that every run measures the same histories. */
function makeDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

interface Pending {
  readonly id: number;
  readonly words: readonly string[];
  result: readonly string[] | null;
}

/**
 * What clients of real registers would write down: each operation takes effect at some moment
 * between its call and its reply. One in 200 ends unknown; with `broken` late reads are wrong.
 */
function makeHistory(broken: boolean): History {
  const history = new History(['n']);
  const dice = makeDice(7);
  const registers = new Map<string, string>();
  const pending = new Map<number, Pending>();
  let next = 0;
  for (let atNs = 0; next < OPERATIONS || pending.size > 0; atNs++) {
    const client = dice(CLIENTS);
    const own = pending.get(client);
    if (own === undefined) {
      if (next >= OPERATIONS) continue;
      const words = drawCall(dice);
      history.line(0, `op invoke c${client} ${next} ${words.join(' ')}`, atNs);
      pending.set(client, { id: next++, words, result: null });
    } else if (own.result === null) {
      own.result = perform(own.words, registers);
    } else {
      const wrong = broken && own.id >= OPERATIONS - 50 && own.words[0] === 'read';
      const result = wrong ? ['never'] : own.result;
      const verb = dice(200) === 0 && !wrong ? 'info' : 'ok';
      history.line(0, ['op', verb, `c${client}`, own.id, ...result].join(' '), atNs);
      pending.delete(client);
    }
  }
  return history;
}

function drawCall(dice: (sides: number) => number): readonly string[] {
  const key = `k${dice(KEYS)}`;
  const kind = dice(10);
  if (kind < 5) return ['read', key];
  if (kind < 9) return ['write', key, String(dice(100))];
  return ['cas', key, String(dice(100)), String(dice(100))];
}

function perform(words: readonly string[], registers: Map<string, string>): readonly string[] {
  const [name, key = '', first = '', second = ''] = words;
  const value = registers.get(key) ?? 'nil';
  if (name === 'read') return [value];
  if (name === 'write') registers.set(key, first);
  else if (value === first) registers.set(key, second);
  return name === 'write' ? [] : [String(value === first)];
}

const PROPERTY: LinearizableDef = {
  kind: 'linearizable',
  name: 'registers',
  nodes: [0],
  model: 'register',
  initial: null,
  stepsMax: HISTORY_STEPS_DEFAULT,
};

/** How long the checks of histories take. */
export const historyBenchmark: Benchmark = {
  name: 'histories',
  measure(): readonly Figure[] {
    const histories = { right: makeHistory(false), wrong: makeHistory(true) };
    const check = (history: History, expected: string): void => {
      const { verdict, detail } = judgeHistory(PROPERTY, history);
      if (verdict !== expected) throw new Error(`the history was judged ${verdict}: ${detail}`);
    };
    const timings = interleave(
      [
        { name: 'linearizable', run: () => check(histories.right, 'pass') },
        { name: 'violated', run: () => check(histories.wrong, 'fail') },
      ],
      ROUNDS,
    );
    const note = `${OPERATIONS} operations, ${KEYS} registers, ${CLIENTS} clients at once`;
    return timings.map(({ name, medianMs }) => ({
      name,
      value: medianMs / 1000,
      unit: 's',
      bar: { kind: 'at-most', value: 1 },
      note,
    }));
  },
};
