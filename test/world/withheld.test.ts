import { describe, expect, it } from 'vitest';
import {
  MILLION,
  NS_PER_MS as MS,
  type Effect,
  type EventDef,
  type PlanFiring,
} from '../../sim/index.ts';
import { SmallWorld } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

/** Crashes one of two nodes, again and again. */
const CRASHES: EventDef = {
  name: 'crash',
  atNs: 10 * MS,
  withinNs: 300 * MS,
  chance: MILLION,
  trigger: { kind: 'hazard', meanNs: 50 * MS },
  action: { kind: 'crash', oneOf: [0, 1] },
  forNs: MS,
};

function world(withheld: readonly PlanFiring[]): SmallWorld {
  return new SmallWorld({
    names: ['a', 'b'],
    events: [CRASHES],
    until: 'virtual-time',
    virtualNsMax: 400 * MS,
    withheld,
    make: (port) => {
      return new StateGuest(null, port, (): Effect => {
        const deadlineNs = port.nowNs + 5 * MS;
        return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs, interests: [] } };
      });
    },
  });
}

function crashesOf({ world: { notes } }: SmallWorld): string[] {
  return notes.flatMap(({ kind, node, atNs }) => (kind === 'crash' ? [`${atNs} ${node}`] : []));
}

describe('a firing that is withheld', () => {
  const all = crashesOf(world([]).run());

  it('does nothing, and the other firings of its event come when and where they came', () => {
    expect(all.length).toBeGreaterThan(3);
    const left = crashesOf(world([{ event: 'crash', firing: 1 }]).run());
    expect(left).toEqual(all.filter((_, index) => index !== 1));
  });

  it('is known by its number also where the run went on from a checkpoint', () => {
    const before = world([]);
    while (crashesOf(before).length < 2) before.step();
    const after = world([{ event: 'crash', firing: 2 }]);
    after.restore(before.capture());
    expect(crashesOf(after.run())).toEqual(all.filter((_, index) => index !== 2));
  });

  it('of another name or number changes nothing', () => {
    const other = world([
      { event: 'crash', firing: all.length },
      { event: 'other', firing: 0 },
    ]);
    expect(other.run().chains()).toBe(world([]).run().chains());
  });
});
