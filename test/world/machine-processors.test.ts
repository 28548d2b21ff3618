import { describe, expect, it } from 'vitest';
import {
  encodeUtf8,
  MILLION,
  NS_PER_MS as MS,
  type ActionDef,
  type Effect,
  type EventDef,
  type GuestPort,
  type MachineDevices,
} from '../../sim/index.ts';
import { SMALL_MACHINE } from '../support/fake-computer.ts';
import { SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

/** A machine that says what is done to its processors, and when it hears of it. */
function machine(port: GuestPort): StateGuest<{ lives: number }> {
  return new StateGuest({ lives: 0 }, port, (state): Effect => {
    state.lives++;
    for (const input of (port.machine as MachineDevices).takeInputs()) {
      const text = input.kind === 'share' ? input.cpu : input.kind === 'stall' ? input.vcpus : '';
      port.console(1, encodeUtf8(`${port.nowNs} ${input.kind} ${String(text)}\n`));
    }
    port.nowNs = port.horizonNs;
    port.observedNs = port.horizonNs;
    return { kind: 'preempted', atNs: port.nowNs };
  });
}

function event(
  name: string,
  atNs: number,
  action: ActionDef,
  more: Partial<EventDef> = {},
): EventDef {
  return { name, atNs, withinNs: 0, chance: MILLION, action, ...more };
}

const slow = (cpu: number): ActionDef => ({ kind: 'slow', oneOf: [0], cpu });
const stall = (vcpu: number): ActionDef => ({ kind: 'stall', oneOf: [0], vcpu });

function world(events: readonly EventDef[], options: Partial<SmallOptions> = {}): SmallWorld {
  return new SmallWorld({
    names: ['vm', 'other'],
    make: machine,
    machines: { nodes: ['vm', 'other'], def: { ...SMALL_MACHINE, cpus: 3 } },
    events: [...events].sort((a, b) => a.atNs - b.atNs),
    until: 'virtual-time',
    virtualNsMax: 100 * MS,
    ...options,
  });
}

const toldBy = (run: SmallWorld): readonly string[] => {
  return (run.consoles[0] ?? '').split('\n').filter((line) => line !== '');
};

/** The transitions of processors in the log: what, when, input and result. */
function transitions(run: SmallWorld): string[] {
  const seen: string[] = [];
  run.world.events.setWatch((kind, node, atNs) => {
    if (node === 0 && (kind === 'guest/slow' || kind === 'guest/stall')) {
      seen.push(`${kind} ${atNs / MS}`);
    }
  });
  run.run();
  return seen;
}

const OVERLAP = [
  event('one', 10 * MS + 1, stall(1), { forNs: 20 * MS }),
  event('more', 20 * MS, stall(1), { forNs: 20 * MS }),
  event('other', 25 * MS, stall(2), { forNs: 5 * MS }),
];

describe('the processors of a machine', () => {
  it('CR-86: hear of their share at its exact time, and of its end', () => {
    const forNs = 30 * MS;
    const run = world([event('x', 10 * MS + 7, slow(250_000), { forNs })]).run();
    expect(toldBy(run)).toEqual(['10000007 share 250000', '40000007 share 1000000']);
    expect(run.consoles[1]).toBe('');
  });

  it('CR-59: begin and end to be slow and to stall by transitions of the log', () => {
    const slowed = world([event('x', 10 * MS, slow(5), { forNs: 30 * MS })]);
    expect(transitions(slowed)).toEqual(['guest/slow 10', 'guest/slow 40']);
    const stalled = world([event('x', 10 * MS, stall(2), { forNs: 30 * MS })]);
    expect(transitions(stalled)).toEqual(['guest/stall 10', 'guest/stall 40']);
  });

  it('CR-82: are stalled as long as any stall holds them', () => {
    const run = world(OVERLAP).run();
    expect(toldBy(run)).toEqual([
      '10000001 stall 1',
      '25000000 stall 1,2',
      '30000000 stall 1',
      '40000000 stall ',
    ]);
    // One that changed nothing is told, and still ends for itself.
    expect(run.world.idleEvents()).toMatchObject([{ name: 'more' }]);
    const notes = run.world.notes.filter(({ kind }) => kind === 'pause').map(({ text }) => text);
    expect(notes).toEqual([
      'processor 1 stalls',
      'processor 2 stalls',
      'processor 2 goes on',
      'processor 1 goes on',
    ]);
  });

  it('CR-82: are slow and stalled at once, each for itself', () => {
    const events = [...OVERLAP.slice(0, 1), event('slow', 15 * MS, slow(9), { forNs: 5 * MS })];
    expect(toldBy(world(events).run())).toEqual([
      '10000001 stall 1',
      '15000000 share 9',
      '20000000 share 1000000',
      '30000001 stall ',
    ]);
  });

  it('keep it all through a loss of power, also what comes while it is off', () => {
    const run = world([
      event('slow', 5 * MS, slow(300_000)),
      event('gone', 6 * MS, stall(1), { forNs: 10 * MS }),
      event('crash', 10 * MS, { kind: 'crash', oneOf: [0] }, { forNs: 20 * MS }),
      event('stall', 12 * MS, stall(0), { forNs: 40 * MS }),
      event('full', 60 * MS, slow(MILLION - 1), { forNs: 20 * MS }),
    ]).run();
    expect(toldBy(run)).toEqual([
      '5000000 share 300000',
      '6000000 stall 1',
      '30000000 share 300000',
      '30000000 stall 0',
      '52000000 stall ',
      '60000000 share 999999',
      '80000000 share 1000000',
    ]);
  });

  it('CR-59: have no fault any more in a liveness phase', () => {
    const events = [
      event('slow', 5 * MS, slow(300_000)),
      event('stall', 6 * MS, stall(0), { forNs: 90 * MS }),
      event('more', 7 * MS, stall(0)),
      event('second', 8 * MS, stall(2)),
    ];
    const run = world(events, { liveness: { atNs: 50 * MS } }).run();
    expect(toldBy(run).slice(-2)).toEqual(['50000000 share 1000000', '50000000 stall ']);
  });

  it('CR-101: go on equally from a checkpoint at every step', () => {
    const events = [
      ...OVERLAP,
      event('slow', 12 * MS, slow(5), { forNs: 30 * MS }),
      event('crash', 22 * MS, { kind: 'crash', oneOf: [0] }, { forNs: 6 * MS }),
    ];
    const whole = world(events).run();
    const stepped = world(events);
    do {
      const twin = world(events);
      twin.restore(stepped.capture());
      expect(twin.run().chains()).toBe(whole.chains());
    } while (stepped.step());
  });

  it('CR-60: stand in no checkpoint where nothing is done to them', () => {
    const run = world([event('x', 10 * MS, stall(2), { forNs: 30 * MS })]);
    const states = new Set<string>();
    do states.add(JSON.stringify(run.world.capture().machines));
    while (run.step());
    expect([...states].filter((state) => state.includes('"stalls":[0,0,1]')).length).toBe(1);
    expect(states.has('[{"inputs":[]},{"inputs":[]}]')).toBe(true);
  });
});
