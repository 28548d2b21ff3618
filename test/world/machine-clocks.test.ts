import { describe, expect, it } from 'vitest';
import {
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  type ActionDef,
  type ClockChangeDef,
  type Effect,
  type EventDef,
  type GuestPort,
  type MachineDevices,
} from '../../sim/index.ts';
import { SMALL_MACHINE } from '../support/fake-computer.ts';
import { SmallWorld } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

/** Tells what reaches it. */
function machine(port: GuestPort): StateGuest<object> {
  const devices = port.machine as MachineDevices;
  return new StateGuest({}, port, (): Effect => {
    for (const input of devices.takeInputs()) {
      port.console(1, encodeUtf8(`${JSON.stringify(input)}\n`));
    }
    port.nowNs = port.horizonNs;
    port.observedNs = port.horizonNs;
    return { kind: 'preempted', atNs: port.nowNs };
  });
}

function event(name: string, atMs: number, action: ActionDef): EventDef {
  return { name, atNs: atMs * NS_PER_MS, withinNs: 0, chance: MILLION, action };
}

const clock = (change: ClockChangeDef): ActionDef => ({ kind: 'clock', oneOf: [0], change });

/** What a machine is told of its sources of time, in a world of 30 ms. */
function told(events: readonly EventDef[]): readonly unknown[] {
  const run = new SmallWorld({
    names: ['machine'],
    make: machine,
    machines: { nodes: ['machine'], def: SMALL_MACHINE },
    virtualNsMax: 30 * NS_PER_MS,
    events,
  }).run();
  const lines = (run.consoles[0] ?? '').split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as unknown);
}

const clocks = (atMs: number, rate: number, leadNs: number): unknown => {
  return { kind: 'clocks', atNs: atMs * NS_PER_MS, rate, leadNs };
};

describe('CR-91: the sources of time of a machine', () => {
  it('are told of each change, and nothing while they are right', () => {
    expect(told([])).toEqual([]);
    expect(
      told([
        event('a', 4, clock({ kind: 'jump', byNs: -7 })),
        event('b', 5, clock({ kind: 'drift', ppm: 100 })),
        event('c', 15, clock({ kind: 'freeze', clock: 'both' })),
        event('d', 16, clock({ kind: 'synchronize' })),
      ]),
    ).toEqual([
      clocks(4, MILLION, -7),
      clocks(5, MILLION + 100, -7),
      // Ten milliseconds at 100 parts in a million.
      clocks(15, 0, 1_000 - 7),
      clocks(16, MILLION, 0),
    ]);
  });

  it('are told again when it starts: what the calendar shows then has drifted on', () => {
    const events = [
      event('a', 4, clock({ kind: 'drift', ppm: -1_000 })),
      event('b', 6, { kind: 'crash', oneOf: [0] }),
      event('c', 14, { kind: 'restart', oneOf: [0] }),
    ];
    expect(told(events)).toEqual([clocks(4, MILLION - 1_000, 0), clocks(14, 999_000, -10_000)]);
  });
});
