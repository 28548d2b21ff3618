import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  encodeCanonical,
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  PLAIN_DISK,
  runSlices,
  type ActionDef,
  type Effect,
  type EventDef,
  type Guest,
  type GuestPort,
  type LinkDef,
  type PropertyDef,
  type Slice,
} from '../../sim/index.ts';
import type { TriggerDef } from '../../sim/plan/faults.ts';
import { Draws } from '../instrument/random-source.ts';
import {
  COMPUTER_PORT,
  datagramFrame,
  FakeComputer,
  SMALL_MACHINE,
} from '../support/fake-computer.ts';
import { SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

const US = 1_000;

/** Passes every datagram on to a node that depends on it, a byte shorter, as long as it is long. */
function relay(port: GuestPort, nodeCount: number): Guest {
  return new StateGuest({ socket: -1 }, port, (state): Effect => {
    const { sockets } = port;
    if (state.socket < 0) {
      state.socket = sockets.open('udp');
      sockets.bind(state.socket, 0, COMPUTER_PORT);
    }
    const bytes = new Uint8Array(100);
    for (;;) {
      const found = sockets.receiveFrom(state.socket, bytes, false);
      if (typeof found === 'number') break;
      const { count } = found;
      if (count < 6) continue;
      const to = sockets.resolve(`n${(bytes[0] ?? 0) % nodeCount}`)[0] ?? 0;
      sockets.sendTo(state.socket, bytes.subarray(1, count), to, COMPUTER_PORT);
    }
    const interests = [{ socket: state.socket, readiness: 'read' as const }];
    return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs: null, interests } };
  });
}

function event(name: string, atNs: number, action: ActionDef, trigger?: TriggerDef): EventDef {
  const common = { name, atNs, withinNs: 0, chance: MILLION, action };
  return trigger === undefined ? common : { ...common, trigger };
}

/** A world of machines and of sockets that a seed draws, with faults, limits and properties. */
class RandomWorld {
  readonly options: Omit<SmallOptions, 'make'>;
  ahead = 0;

  constructor(seed: number) {
    const draws = new Draws(seed);
    const count = 2 + draws.below(4);
    const names = Array.from({ length: count }, (_, node) => `n${node}`);
    const machines = names.filter((_, node) => node < 2 || draws.chance(60));
    const links = names.map(() => names.map(() => randomLink(draws)));
    const rule = { ...PLAIN_DISK.rule, readError: 50_000, writeLatencyNs: draws.below(300 * US) };
    this.options = {
      names,
      seed,
      machines: { nodes: machines, def: SMALL_MACHINE },
      linkOf: (from, to) => links[from]?.[to] ?? {},
      disk: { ...PLAIN_DISK, rule },
      virtualNsMax: 8 * NS_PER_MS,
      quantaMax: draws.chance(20) ? 10 + draws.below(90) : 1_000_000,
      until: draws.chance(30) ? 'property' : 'virtual-time',
      properties: randomProperties(names),
      events: randomEvents(draws, names),
    };
  }

  make(atOnce: number): SmallWorld {
    const { options } = this;
    const nodeCount = options.names.length;
    const onAhead = (): void => {
      this.ahead++;
    };
    return new SmallWorld({
      ...options,
      atOnce,
      make: (port) => {
        if (port.machine === null) return relay(port, nodeCount);
        return new FakeComputer(port, { nodeCount, paceNs: 100 * US, onAhead });
      },
    });
  }
}

function randomLink(draws: Draws): Partial<LinkDef> {
  const latencyNs = draws.pick([200 * US, 500 * US, NS_PER_MS, 5 * NS_PER_MS]) + draws.below(US);
  const jitterNs = draws.pick([0, US, latencyNs / 2 - (latencyNs % 2) / 2]);
  return { latencyNs, jitterNs, loss: draws.pick([0, 0, 100_000]) };
}

function randomProperties(names: readonly string[]): readonly PropertyDef[] {
  const nodes = names.map((_, node) => node);
  return [{ kind: 'never', name: 'no seven', nodes, console: '* 7' }];
}

function randomEvents(draws: Draws, names: readonly string[]): readonly EventDef[] {
  const nodes = names.map((_, node) => node);
  const someTime = (): number => draws.below(6 * NS_PER_MS);
  const actions: readonly ActionDef[] = [
    { kind: 'crash', oneOf: nodes },
    { kind: 'restart', oneOf: [] },
    { kind: 'pause', oneOf: nodes, forNs: 1 + draws.below(3 * NS_PER_MS) },
    { kind: 'isolate', oneOf: nodes },
    { kind: 'heal' },
    { kind: 'interrupt', oneOf: [0, 1] },
    { kind: 'slow', oneOf: [0, 1], cpu: 1 + draws.below(MILLION - 1) },
    { kind: 'stall', oneOf: [0, 1], vcpu: 0 },
    { kind: 'flip-memory', oneOf: [0, 1], bits: 2 },
    { kind: 'flip-register', oneOf: [0, 1], bits: 1 },
    { kind: 'machine-check', oneOf: [0, 1], corrected: true },
    { kind: 'storm', oneOf: [0, 1], line: 4, count: 3, gapNs: NS_PER_MS },
  ];
  const events = actions.flatMap((action): EventDef[] => {
    return draws.chance(50) ? [event(action.kind, someTime(), action)] : [];
  });
  if (draws.chance(30)) {
    const trigger: TriggerDef = { kind: 'effect', node: 0, effect: 'machine/bell', count: 3 };
    events.push(event('on bell', someTime(), { kind: 'crash', oneOf: [1] }, trigger));
  }
  return events.sort((a, b) => a.atNs - b.atNs || (a.name < b.name ? -1 : 1));
}

/** All that anybody can tell of a run, and of each point on its way. */
function course(world: SmallWorld): unknown {
  const points: unknown[] = [];
  while (world.step()) {
    points.push(world.chains());
    if (points.length % 29 !== 0) continue;
    const { world: state, guests } = world.capture();
    const bytes = encodeCanonical([state, guests.map((guest) => guest?.state ?? null)]);
    points.push(createHash('sha256').update(bytes).digest('hex'));
  }
  const { notes, quanta, endReason, nowNs } = world.world;
  return { points, consoles: world.consoles, notes, quanta, endReason, nowNs, steps: world.steps };
}

/** Two machines, 1 ms apart, that do next to nothing. */
function pair(options: Partial<SmallOptions> = {}): SmallWorld {
  return new SmallWorld({
    names: ['a', 'b'],
    machines: { nodes: ['a', 'b'], def: SMALL_MACHINE },
    link: { latencyNs: NS_PER_MS },
    virtualNsMax: 9 * NS_PER_MS,
    make: (port) => idle(port, () => undefined),
    ...options,
  });
}

/** A machine that stands at its horizon at once; `act` is what it does at the start of a slice. */
function idle(port: GuestPort, act: (port: GuestPort) => void): Guest {
  return new StateGuest({}, port, (): Effect => {
    act(port);
    port.nowNs = port.horizonNs;
    port.observedNs = port.horizonNs;
    return { kind: 'preempted', atNs: port.nowNs };
  });
}

/** Says the time, once it is late enough. */
function chatter(port: GuestPort): Guest {
  return idle(port, ({ guest, nowNs }) => {
    if (guest === 0 && nowNs >= 4 * NS_PER_MS) port.console(1, encodeUtf8(`${nowNs}\n`));
  });
}

/** A machine that sends one datagram at 1 ms, and says when one came. */
function caller(port: GuestPort): Guest {
  return new StateGuest({ sent: false }, port, (state): Effect => {
    for (const { atNs } of port.machine?.takeInputs() ?? []) {
      port.console(1, encodeUtf8(`${atNs} heard\n`));
    }
    if (!state.sent && port.horizonNs > NS_PER_MS) {
      state.sent = true;
      port.nowNs = Math.max(port.nowNs, NS_PER_MS);
      port.machine?.sendFrame(datagramFrame(0, 1, encodeUtf8('round')));
    }
    port.nowNs = Math.max(port.nowNs, port.horizonNs);
    port.observedNs = port.nowNs;
    return { kind: 'preempted', atNs: port.nowNs };
  });
}

/** Passes every datagram on to the next node. */
function forward(port: GuestPort): Guest {
  return new StateGuest({ socket: -1 }, port, (state): Effect => {
    const { sockets } = port;
    if (state.socket < 0) {
      state.socket = sockets.open('udp');
      sockets.bind(state.socket, 0, COMPUTER_PORT);
    }
    const bytes = new Uint8Array(100);
    while (typeof sockets.receiveFrom(state.socket, bytes, false) !== 'number') {
      const to = sockets.resolve(`n${(port.guest + 1) % 3}`)[0] ?? 0;
      sockets.sendTo(state.socket, bytes.subarray(0, 5), to, COMPUTER_PORT);
    }
    const interests = [{ socket: state.socket, readiness: 'read' as const }];
    return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs: null, interests } };
  });
}

describe('CR-120: machines side by side', () => {
  it('random worlds are equal step for step however many machines run at once', () => {
    let ahead = 0;
    let pairs = 0;
    const ends = new Set<unknown>();
    for (let seed = 1; seed <= 30; seed++) {
      const random = new RandomWorld(seed);
      const serial = random.make(1);
      const expected = course(serial);
      expect(random.ahead, 'one at a time').toBe(0);
      for (const atOnce of [2, 16]) {
        const parallel = random.make(atOnce);
        expect(course(parallel), `seed ${seed}, ${atOnce} at once`).toEqual(expected);
      }
      ahead += random.ahead;
      pairs += serial.widths.filter((width) => width > 1).length;
      ends.add(serial.world.endReason);
    }
    expect(pairs).toBeGreaterThan(500);
    expect(ahead).toBeGreaterThan(1_000);
    expect([...ends].toSorted()).toEqual(['property', 'quanta', 'quiescence', 'virtual-time']);
  });

  it('from a checkpoint at any step as well', () => {
    for (let seed = 1; seed <= 3; seed++) {
      const random = new RandomWorld(seed);
      const straight = random.make(1).run();
      const stepped = random.make(2);
      for (let steps = 0; stepped.step(); steps++) {
        if (steps % 11 !== 0) continue;
        const twin = random.make(1 + (steps % 3));
        twin.restore(stepped.capture());
        expect(twin.run().chains(), `seed ${seed}, step ${steps}`).toBe(straight.chains());
      }
    }
  });

  it('run from the same time to the nearest horizon of them all, and meet there', () => {
    const world = pair({ linkOf: (from) => ({ latencyNs: from === 0 ? NS_PER_MS : 700 * US }) });
    const spans: unknown[] = [];
    for (let steps = 0; steps < 12; steps++) {
      const before = [0, 1].map((node) => world.world.life(node).localNs);
      world.step();
      if (world.steps.at(-1) !== 'resume') continue;
      const after = [0, 1].map((node) => world.world.life(node).localNs);
      spans.push([world.widths.at(-1), before, after]);
    }
    expect(spans.slice(0, 6)).toEqual([
      // A start is a turn of its own.
      [1, [0, 0], [700 * US, 0]],
      [1, [700 * US, 0], [700 * US, 700 * US]],
      [2, [700 * US, 700 * US], [1_400 * US, 1_400 * US]],
      [2, [1_400 * US, 1_400 * US], [2_100 * US, 2_100 * US]],
      [2, [2_100 * US, 2_100 * US], [2_800 * US, 2_800 * US]],
      [2, [2_800 * US, 2_800 * US], [3_500 * US, 3_500 * US]],
    ]);
  });

  it('take turns while an event of the plan waits for what they do', () => {
    const trigger: TriggerDef = { kind: 'effect', node: 0, effect: 'console', count: 1 };
    const atNs = 5 * NS_PER_MS;
    const events = [event('armed', atNs, { kind: 'pause', oneOf: [1], forNs: US }, trigger)];
    const world = pair({ events });
    while (world.step()) {
      const { nowNs } = world.world;
      if (nowNs < atNs) continue;
      expect(world.widths.at(-1)).toBe(1);
    }
    expect(world.widths).toContain(2);
  });

  it('end for a property when all of them have stopped, and a budget of quanta is exact', () => {
    const line = { kind: 'never', name: 'line', nodes: [0], console: '*' } as const;
    const ends = [1, 2].map((atOnce) => {
      const world = pair({ properties: [line], until: 'property', atOnce, make: chatter }).run();
      const { endReason, quanta } = world.world;
      return [endReason, quanta, world.consoles, world.widths.at(-1)];
    });
    expect(ends[0]).toEqual(['property', 10, ['4000000\n', ''], 2]);
    expect(ends[1]).toEqual(ends[0]);
    for (let quantaMax = 1; quantaMax < 12; quantaMax++) {
      expect(pair({ quantaMax }).run().world.quanta).toBe(quantaMax);
    }
  });

  it('are heard in time where a way back by other nodes is shorter than the direct one', () => {
    const slow = 10 * NS_PER_MS;
    const fast = 100 * US;
    const ways: Readonly<Record<string, number>> = { '0>1': fast, '1>2': fast, '2>0': fast };
    const world = new SmallWorld({
      names: ['n0', 'n1', 'n2'],
      machines: { nodes: ['n0'], def: SMALL_MACHINE },
      linkOf: (from, to) => ({ latencyNs: ways[`${from}>${to}`] ?? slow }),
      virtualNsMax: 20 * NS_PER_MS,
      make: (port) => (port.guest === 0 ? caller(port) : forward(port)),
    });
    expect(world.run().consoles[0]).toBe('1300000 heard\n');
  });
});

describe('runSlices', () => {
  const slices = [0, 1, 2, 3].map((node): Slice => {
    return { node, outcome: { reason: 'continue', atNs: 0 } };
  });

  function run(atOnce: number, failing: readonly number[] = []): string[] {
    const said: string[] = [];
    const guestOf = (node: number): Guest => {
      const guest = {
        setOff: () => said.push(`off ${node}`),
        resume: (): Effect => {
          if (failing.includes(node)) throw new Error(`node ${node}`);
          said.push(`turn ${node}`);
          return { kind: 'preempted', atNs: node };
        },
      };
      return guest as unknown as Guest;
    };
    try {
      runSlices(slices, { atOnce, guestOf, apply: ({ atNs }) => said.push(`heard ${atNs}`) });
    } catch (error) {
      said.push((error as Error).message);
    }
    return said;
  }

  it('CR-120: lets so many run ahead of their turns, and hears all in order', () => {
    const turns = [0, 1, 2, 3].flatMap((node) => [`turn ${node}`, `heard ${node}`]);
    expect(run(1)).toEqual(turns);
    expect(run(2)).toEqual([
      ...['off 1', 'turn 0', 'heard 0', 'off 2', 'turn 1', 'heard 1'],
      ...['off 3', 'turn 2', 'heard 2', 'turn 3', 'heard 3'],
    ]);
    expect(run(9)).toEqual(['off 1', 'off 2', 'off 3', ...turns]);
  });

  it('CR-120: tells the error of the first in order, whoever failed earlier', () => {
    for (const atOnce of [1, 2, 4]) {
      const said = run(atOnce, [1, 3]);
      expect(said.at(-1)).toBe('node 1');
      expect(said.filter((word) => word.startsWith('heard'))).toEqual(['heard 0']);
    }
  });
});
