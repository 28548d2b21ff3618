import { describe, expect, it } from 'vitest';
import {
  MILLION,
  MONOTONIC_START_NS,
  NS_PER_MS,
  NS_PER_S,
  type ClockChangeDef,
  type Effect,
  type EventDef,
  type GuestPort,
} from '../../sim/index.ts';
import { NodeClock } from '../../sim/world/node-clock.ts';
import { EPOCH_NS } from '../../sim/world/node-port.ts';
import { SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

const S = NS_PER_S;

function clockAfter(changes: readonly (readonly [atNs: number, ClockChangeDef])[]): NodeClock {
  const clock = new NodeClock();
  for (const [atNs, change] of changes) clock.change(change, atNs);
  return clock;
}

describe('the clocks of a node', () => {
  const cases: readonly [
    string,
    readonly (readonly [number, ClockChangeDef])[],
    number,
    readonly [monotonic: number, realtime: number],
  ][] = [
    ['right', [], 10 * S, [10 * S, 10 * S]],
    ['forward', [[4 * S, { kind: 'jump', byNs: 3 * S }]], 10 * S, [10 * S, 13 * S]],
    ['back', [[4 * S, { kind: 'jump', byNs: -7 * S }]], 10 * S, [10 * S, 3 * S]],
    ['fast', [[4 * S, { kind: 'drift', ppm: 100 }]], 10 * S, [10 * S + 600_000, 10 * S + 600_000]],
    // A third of a ppm-second rounds down, also below zero: the clock never gains by rounding.
    ['slow', [[0, { kind: 'drift', ppm: -1 }]], 333_333, [333_332, 333_332]],
    ['stopped wall', [[4 * S, { kind: 'freeze', clock: 'realtime' }]], 10 * S, [10 * S, 4 * S]],
    ['stopped', [[4 * S, { kind: 'freeze', clock: 'both' }]], 10 * S, [4 * S, 4 * S]],
    [
      'half of a smear',
      [[4 * S, { kind: 'slew', byNs: -1 * S, overNs: 12 * S }]],
      10 * S,
      [10 * S, 10 * S - S / 2],
    ],
    [
      'a whole smear',
      [[4 * S, { kind: 'slew', byNs: -1 * S, overNs: 4 * S }]],
      10 * S,
      [10 * S, 9 * S],
    ],
    [
      'set within a smear, which goes on',
      [
        [0, { kind: 'slew', byNs: 1 * S, overNs: 10 * S }],
        [5 * S, { kind: 'jump', byNs: 1 }],
      ],
      10 * S,
      [10 * S, 11 * S + 1],
    ],
    [
      'right again after standing still',
      [
        [2 * S, { kind: 'freeze', clock: 'both' }],
        [5 * S, { kind: 'synchronize' }],
      ],
      10 * S,
      [7 * S, 10 * S],
    ],
  ];
  it.each(cases)('CR-91: %s', (_, changes, atNs, shown) => {
    const clock = clockAfter(changes);
    expect([clock.monotonicNs(atNs), clock.realtimeNs(atNs)]).toEqual(shown);
  });

  it('CR-91: the monotonic clock never goes back, whatever is done', () => {
    const changes: ClockChangeDef[] = [
      { kind: 'drift', ppm: 500_000 },
      { kind: 'jump', byNs: -3 * S },
      { kind: 'drift', ppm: -500_000 },
      { kind: 'freeze', clock: 'both' },
      { kind: 'synchronize' },
      { kind: 'slew', byNs: -S, overNs: S },
    ];
    const clock = new NodeClock();
    let lastNs = 0;
    for (let step = 0; step < 600; step++) {
      const change = changes[Math.floor(step / 100)] as ClockChangeDef;
      if (step % 50 === 0) clock.change(change, step * 777_777);
      const shownNs = clock.monotonicNs(step * 777_777);
      expect(shownNs).toBeGreaterThanOrEqual(lastNs);
      lastNs = shownNs;
    }
  });

  it('finds the very nanosecond at which a clock shows a time', () => {
    const clock = clockAfter([[S, { kind: 'drift', ppm: -250_000 }]]);
    const atNs = clock.whenMonotonic(4 * S, 2 * S);
    expect(clock.monotonicNs(atNs)).toBeGreaterThanOrEqual(4 * S);
    expect(clock.monotonicNs(atNs - 1)).toBeLessThan(4 * S);
    expect(atNs).toBe(5 * S);
    clock.change({ kind: 'freeze', clock: 'both' }, 5 * S);
    expect(clock.whenMonotonic(6 * S, 5 * S)).toBe(Infinity);
  });
});

interface Sleeper {
  readonly deadline: string;
  readonly begun: boolean;
  readonly startedNs: number;
}

/** Sleeps until a time of one of its clocks, and looks again whenever it is woken. */
function sleeper(port: GuestPort, clock: 'monotonic' | 'realtime', shownNs: number) {
  const program = (): Effect => {
    const deadlineNs =
      clock === 'monotonic'
        ? port.deadlineFromMonotonic(BigInt(shownNs + MONOTONIC_START_NS))
        : port.deadlineFromRealtime(EPOCH_NS + BigInt(shownNs));
    if (deadlineNs <= port.nowNs) {
      port.console(1, Buffer.from(`woke ${port.nowNs}\n`));
      return { kind: 'exit', atNs: port.nowNs, code: 0 };
    }
    const never = deadlineNs === Number.MAX_SAFE_INTEGER;
    return {
      kind: 'wait',
      atNs: port.nowNs,
      wait: { deadlineNs: never ? null : deadlineNs, interests: [] },
    };
  };
  return new StateGuest<Partial<Sleeper>>({}, port, program);
}

function clockEvent(atNs: number, change: ClockChangeDef, more: Partial<EventDef> = {}): EventDef {
  const action = { kind: 'clock', oneOf: [0], change } as const;
  return { name: `clock ${atNs}`, atNs, withinNs: 0, chance: MILLION, action, ...more };
}

function sleep(
  clock: 'monotonic' | 'realtime',
  events: readonly EventDef[],
  options: Partial<SmallOptions> = {},
): SmallWorld {
  const make = (port: GuestPort): StateGuest<Partial<Sleeper>> => sleeper(port, clock, 10 * S);
  return new SmallWorld({ names: ['a'], make, events, ...options });
}

describe('timers of a node whose clocks change', () => {
  const cases: readonly ['monotonic' | 'realtime', string, readonly EventDef[], string][] = [
    [
      'realtime',
      'forward past it',
      [clockEvent(4 * S, { kind: 'jump', byNs: 8 * S })],
      '4000000000',
    ],
    ['realtime', 'forward', [clockEvent(4 * S, { kind: 'jump', byNs: 2 * S })], '8000000000'],
    ['realtime', 'back', [clockEvent(4 * S, { kind: 'jump', byNs: -2 * S })], '12000000000'],
    ['monotonic', 'forward', [clockEvent(4 * S, { kind: 'jump', byNs: 8 * S })], '10000000000'],
    ['monotonic', 'back', [clockEvent(4 * S, { kind: 'jump', byNs: -8 * S })], '10000000000'],
    ['monotonic', 'slower', [clockEvent(4 * S, { kind: 'drift', ppm: -500_000 })], '16000000000'],
    [
      'monotonic',
      'a stop for 3 s',
      [clockEvent(4 * S, { kind: 'freeze', clock: 'both' }, { forNs: 3 * S })],
      '13000000000',
    ],
    [
      'realtime',
      'a stop for 3 s, and right again',
      [clockEvent(4 * S, { kind: 'freeze', clock: 'both' }, { forNs: 3 * S })],
      '10000000000',
    ],
  ];
  it.each(cases)('CR-91: a %s timer and a clock that goes %s', (clock, _, events, at) => {
    expect(sleep(clock, events).run().consoles[0]).toBe(`woke ${at}\n`);
  });

  it('CR-91: a clock that stands still stops no other node, and no time', () => {
    const run = sleep('monotonic', [clockEvent(S, { kind: 'freeze', clock: 'both' })]).run();
    expect(run.consoles[0]).toBe('');
    expect(run.world.endReason).toBe('quiescence');
  });

  it('a node may begin with clocks of its own', () => {
    const clock = { offsetNs: -3 * S, driftPpm: 0 };
    expect(sleep('realtime', [], { clock }).run().consoles[0]).toBe('woke 13000000000\n');
  });

  it('CR-101: goes on equally from a checkpoint while clocks are wrong', () => {
    const events = [
      clockEvent(2 * S, { kind: 'drift', ppm: 12_345 }),
      clockEvent(4 * S, { kind: 'slew', byNs: 2 * S + 1, overNs: 5 * S }),
      clockEvent(6 * S, { kind: 'jump', byNs: -NS_PER_MS - 7 }),
    ];
    const whole = sleep('realtime', events).run();
    const run = sleep('realtime', events);
    do {
      const other = sleep('realtime', events);
      other.restore(run.capture());
      expect(other.run().chains()).toBe(whole.chains());
    } while (run.step());
    expect(whole.consoles[0]).toContain('woke');
  });
});
