import { describe, expect, it } from 'vitest';
import {
  OrderExplorer,
  ORDER_EVENTS,
  orderSteps,
  stepResult,
  beginResult,
  TOUCH,
  trafficResult,
  type LoggedEvent,
  type OrderStep,
} from '../../sim/index.ts';

/** What a step of a made-up program reads and writes; it waits while `needs` has not been written. */
interface Action {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly needs?: string;
}
type Program = readonly (readonly Action[])[];

interface ProgramRun {
  readonly steps: readonly OrderStep[];
  /** What each step read of each thing, and what each thing holds: all that an observer can tell. */
  readonly end: string;
}

/** Runs a program: the choices first, then always the first branch that can go on. */
function runProgram(program: Program, choices: readonly number[], exhaustive: boolean): ProgramRun {
  const state = new Map<string, string>();
  const places = program.map(() => 0);
  const seen = program.map((): string[] => []);
  const steps: OrderStep[] = [];
  const left = choices.slice();
  for (;;) {
    const enabled = program.flatMap((actions, branch) => {
      const action = actions[places[branch] as number];
      if (action === undefined) return [];
      return action.needs === undefined || state.has(action.needs) ? [branch] : [];
    });
    if (enabled.length === 0) break;
    const choice = enabled.length === 1 ? 0 : (left.shift() ?? 0);
    const branch = enabled[choice] as number;
    const place = places[branch] as number;
    const action = program[branch]?.[place] as Action;
    places[branch] = place + 1;
    const name = `${branch}.${place}`;
    const needed = action.needs === undefined ? [] : [action.needs];
    const reads = [...action.reads, ...needed];
    for (const thing of reads) seen[branch]?.push(`${name}:${state.get(thing) ?? '-'}`);
    for (const thing of action.writes) state.set(thing, `${state.get(thing) ?? ''}${name} `);
    const touches = { everything: false, reads: new Set(reads), writes: new Set(action.writes) };
    steps.push({ group: 0, branch, enabled, exhaustive, cut: false, touches });
  }
  return { steps, end: JSON.stringify([seen, [...state].sort(), places]) };
}

interface Exploration {
  readonly explorer: OrderExplorer;
  readonly ends: readonly string[];
}

function explore(program: Program, exhaustive: boolean): Exploration {
  const explorer = new OrderExplorer();
  const ends: string[] = [];
  for (let choices = explorer.next(); choices !== null; choices = explorer.next()) {
    explorer.take(runProgram(program, choices, exhaustive).steps);
  }
  for (const { choices } of explorer.orders) ends.push(runProgram(program, choices, false).end);
  return { explorer, ends };
}

/** Numbers of a linear congruential generator: equal on every machine. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
}

function randomProgram(seed: number): Program {
  const draw = numbers(seed);
  const things = ['x', 'y', 'z'];
  const thing = (): string => things[draw(things.length)] as string;
  return Array.from({ length: 2 + draw(2) }, () => {
    return Array.from({ length: 1 + draw(3) }, (): Action => {
      const writes = draw(3) > 0 ? [thing()] : [];
      const reads = draw(2) > 0 ? [thing()] : [];
      return draw(6) === 0 ? { reads, writes, needs: thing() } : { reads, writes };
    });
  });
}

const write = (thing: string): Action => ({ reads: [], writes: [thing] });

describe('orders that can differ', () => {
  it('keeps one order of steps that touch nothing in common', () => {
    const program = ['a', 'b', 'c', 'd'].map((thing) => [write(thing)]);
    const { explorer } = explore(program, false);
    expect([explorer.runs, explorer.orders]).toEqual([
      1,
      [{ choices: [0, 0, 0], text: 'abcd', equivalent: 24 }],
    ]);
    expect(explore(program, true).explorer.orders).toHaveLength(24);
  });

  it('tries all orders of steps that touch one thing', () => {
    const program = ['x', 'x', 'x'].map((thing) => [write(thing)]);
    const { explorer } = explore(program, false);
    expect(explorer.orders.map(({ text }) => text).sort()).toEqual(
      ['abc', 'acb', 'bac', 'bca', 'cab', 'cba'].sort(),
    );
    expect(explorer.runs).toBe(6);
  });

  it('reaches what every order reaches, no order twice, in programs of all shapes', () => {
    let fewer = 0;
    for (let seed = 1; seed <= 400; seed++) {
      const program = randomProgram(seed);
      const all = explore(program, true);
      const some = explore(program, false);
      const label = JSON.stringify(program);
      expect([...new Set(some.ends)].sort(), label).toEqual([...new Set(all.ends)].sort());
      // Each order that was kept is another end, since ends tell all that steps saw and did.
      expect(new Set(some.ends).size, label).toBe(some.ends.length);
      const counted = some.explorer.orders.reduce((sum, each) => sum + (each.equivalent ?? NaN), 0);
      expect(counted, label).toBe(all.explorer.orders.length);
      if (some.explorer.runs < all.explorer.runs) fewer++;
    }
    expect(fewer).toBeGreaterThan(200);
  });

  it('says where there are more orders than it tries', () => {
    const program = Array.from({ length: 8 }, () => [write('x')]);
    expect(() => explore(program, false)).toThrow(/more than 10000 orders that can differ/);
  });
});

describe('steps of a run', () => {
  const event = (kind: string, guest: number, input = 0, result = 0): LoggedEvent => {
    return { index: 0, kind, guest, atNs: 0, input, result };
  };
  const step = (branch: number, enabled: readonly number[], settled = true): LoggedEvent => {
    return event(ORDER_EVENTS.step, 9, branch, stepResult(enabled, settled));
  };
  const begin = event(ORDER_EVENTS.begin, 9, 0, beginResult([1], false));
  const end = event(ORDER_EVENTS.end, 9, 0, stepResult([], true));
  const touched = (events: readonly LoggedEvent[]): readonly unknown[] => {
    return orderSteps(events, 9).map(({ branch, enabled, touches }) => {
      const { everything, reads, writes } = touches;
      return [branch, enabled, everything ? 'everything' : [[...reads], [...writes]]];
    });
  };

  it('touch the nodes that something happened on, and what branches share', () => {
    const events = [
      event('console', 9),
      begin,
      step(0, [0, 1]),
      event('net/send', 9, 0, trafficResult(2, 10)),
      event('net/deliver', 3, 0, trafficResult(2, 10)),
      event(ORDER_EVENTS.touch, 9, 77, TOUCH.read),
      step(1, [1]),
      event('console', 9),
      event('choose', 9),
      end,
      event('guest/exit', 9),
    ];
    expect(touched(events)).toEqual([
      [0, [0, 1], [['file/77'], ['node/2', 'node/3']]],
      [1, [1], [[], ['memory', 'console']]],
    ]);
  });

  it.each([
    ['a clock that is read', event('wasi/clock_time_get', 2)],
    ['an event of the plan', event('plan', -1)],
    ['a packet that is lost', event('net/drop', 2)],
    ['what no rule knows', event('disk/odd', 9)],
    ['a body that sets a timer', event(ORDER_EVENTS.touch, 9, 0, TOUCH.everything)],
  ])('touch everything where time has a part: %s', (_, odd) => {
    expect(touched([begin, step(0, [0, 1]), odd, step(1, [1]), end])).toEqual([
      [0, [0, 1], 'everything'],
      [1, [1], [[], ['memory']]],
    ]);
  });

  it('touch everything where the world did not come to rest, or the run ended', () => {
    expect(touched([begin, step(0, [0, 1]), step(1, [1], false)])).toEqual([
      [0, [0, 1], 'everything'],
      [1, [1], 'everything'],
    ]);
  });
});
