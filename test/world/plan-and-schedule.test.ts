import { describe, expect, it } from 'vitest';
import {
  NS_PER_MS,
  scenarioIds,
  type Effect,
  type EventDef,
  type GuestPort,
  type Note,
} from '../../sim/index.ts';
import { smallScenario, SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

const NAMES = ['a', 'b', 'c'];

/** May happen, some time within 50 ms, to one of three nodes. */
const PLAN: readonly EventDef[] = [
  {
    name: 'loss of power',
    atNs: 10 * NS_PER_MS,
    withinNs: 50 * NS_PER_MS,
    chance: 500_000,
    action: { kind: 'crash', oneOf: [0, 1, 2] },
  },
];

/** Waits 100 ms and exits. */
function sleeper(port: GuestPort): StateGuest<{ slept: boolean }> {
  return new StateGuest<{ slept: boolean }>({ slept: false }, port, (state): Effect => {
    if (state.slept) return { kind: 'exit', atNs: port.nowNs, code: 0 };
    state.slept = true;
    const deadlineNs = port.nowNs + 100 * NS_PER_MS;
    return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs, interests: [] } };
  });
}

function optionsOf(seed: number): SmallOptions {
  return { names: NAMES, make: sleeper, seed, events: PLAN };
}

function crashes(seed: number): readonly Note[] {
  const { world } = new SmallWorld(optionsOf(seed)).run();
  return world.notes.filter(({ kind }) => kind === 'crash');
}

describe('plan and schedule', () => {
  it('CR-57: the plan says what may happen, the schedule what did', () => {
    const seeds = Array.from({ length: 40 }, (_, seed) => seed);
    const plans = new Set(seeds.map((seed) => scenarioIds(smallScenario(optionsOf(seed))).plan));
    expect(plans.size).toBe(1);
    const happened = seeds.map(crashes);
    expect(happened.some((notes) => notes.length === 0)).toBe(true);
    const told = new Set(happened.flat().map(({ atNs, node }) => `${node} at ${atNs}`));
    expect(told.size).toBeGreaterThan(10);
    expect(seeds.map(crashes)).toEqual(happened);
  });
});
