import { describe, expect, it } from 'vitest';
import {
  MILLION,
  NS_PER_MS as MS,
  QUIET_RULE,
  type ActionDef,
  type Effect,
  type EventDef,
} from '../../sim/index.ts';
import { SmallWorld } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

const FAULTS: readonly ActionDef[] = [
  { kind: 'crash', oneOf: [0] },
  { kind: 'kill', oneOf: [0] },
  { kind: 'wipe', oneOf: [0] },
  { kind: 'slow', oneOf: [0], cpu: 500_000 },
  { kind: 'clock', oneOf: [0], change: { kind: 'freeze', clock: 'both' } },
  { kind: 'isolate', oneOf: [0] },
  { kind: 'cut', from: [0], to: [1] },
  { kind: 'partition', groups: [[0], [1]] },
  { kind: 'stick', from: [0], to: [1] },
  { kind: 'degrade', nodes: [0, 1], loss: MILLION, extraLatencyNs: 0 },
  { kind: 'disk', nodes: [0], rule: { ...QUIET_RULE, stall: MILLION, stallNs: null } },
];

/** When the log has a transition of the plan, in its order, in ms. */
function transitions(events: readonly EventDef[]): number[] {
  const run = new SmallWorld({
    names: ['a', 'b'],
    events,
    until: 'virtual-time',
    virtualNsMax: 400 * MS,
    make: (port) => {
      return new StateGuest(null, port, (): Effect => {
        const deadlineNs = port.nowNs + 10 * MS;
        return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs, interests: [] } };
      });
    },
  });
  const seen: number[] = [];
  run.world.events.setWatch((kind, _node, atNs) => {
    if (kind === 'plan') seen.push(atNs / MS);
  });
  run.run();
  return seen;
}

function event(name: string, atMs: number, forMs: number, action: ActionDef): EventDef {
  const forNs = forMs * MS;
  return { name, atNs: atMs * MS, withinNs: 0, chance: MILLION, action, forNs };
}

describe('the end of a fault', () => {
  it.each(FAULTS.map((action) => [action.kind, action] as const))(
    'CR-59: of kind %s is a transition of its own in the log',
    (_, action) => {
      expect(transitions([event('x', 100, 50, action)])).toEqual([100, 150]);
    },
  );

  it('CR-59: keeps its place in the order of the log, also among others', () => {
    const events = FAULTS.map((action, index) => event(action.kind, 100 + index, 150, action));
    const begins = FAULTS.map((_, index) => 100 + index);
    const expected = [...begins, ...begins.map((ms) => ms + 150)];
    const seen = transitions(events);
    // What finds its node down already changes nothing, and so has no end.
    expect(seen.filter((ms) => ms < 200)).toEqual(begins);
    expect(seen.filter((ms) => ms >= 200).every((ms) => expected.includes(ms))).toBe(true);
    expect(seen).toEqual([...seen].sort((one, other) => one - other));
    expect(transitions(events)).toEqual(seen);
  });
});
