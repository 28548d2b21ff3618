import { describe, expect, it } from 'vitest';
import {
  admitScenario,
  decodeScenario,
  encodeScenario,
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  NS_PER_S,
  type ActionDef,
  type Effect,
  type EventDef,
  type GuestPort,
  type MachineDef,
  type MachineDevices,
  type ScenarioDef,
} from '../../sim/index.ts';
import { SMALL_MACHINE } from '../support/fake-computer.ts';
import { failure } from '../support/failure.ts';
import { smallScenario, SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

const MIB = 2 ** 20;
const AT_NS = 5 * NS_PER_MS + 7;
const MACHINE: MachineDef = { ...SMALL_MACHINE, cpus: 2 };
const PROGRAM_BYTES = 3 * 65_536;

/** Tells what reaches it, for 20 ms. */
function machine(port: GuestPort): StateGuest<object> {
  const devices = port.machine as MachineDevices;
  return new StateGuest({}, port, (): Effect => {
    for (const input of devices.takeInputs())
      port.console(1, encodeUtf8(`${JSON.stringify(input)}\n`));
    port.nowNs = port.horizonNs;
    port.observedNs = port.horizonNs;
    return { kind: 'preempted', atNs: port.nowNs };
  });
}

/** A program that sleeps for 2 ms at a time, and tells what has flipped in its memory. */
function program(port: GuestPort): StateGuest<object> {
  return new StateGuest({}, port, (): Effect => {
    for (const flip of port.takeFlips(PROGRAM_BYTES)) {
      port.console(1, encodeUtf8(`${JSON.stringify(flip)}\n`));
    }
    const deadlineNs = (Math.floor(port.nowNs / (2 * NS_PER_MS)) + 1) * 2 * NS_PER_MS;
    return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs, interests: [] } };
  });
}

function options(events: readonly EventDef[], more: Partial<SmallOptions> = {}): SmallOptions {
  return {
    names: ['program', 'machine'],
    make: (port) => (port.machine === null ? program(port) : machine(port)),
    machines: { nodes: ['machine'], def: MACHINE },
    virtualNsMax: 20 * NS_PER_MS,
    events,
    ...more,
  };
}

function event(name: string, atNs: number, action: ActionDef): EventDef {
  return { name, atNs, withinNs: 0, chance: MILLION, action };
}

const flip = (node: number, bits = 1): ActionDef => ({ kind: 'flip-memory', oneOf: [node], bits });

/** What the node has told, and the notes of the plan about it. */
function told(run: SmallWorld, node: number) {
  const lines = (run.consoles[node] ?? '').split('\n').filter((line) => line !== '');
  const notes = run.world.notes.filter((note) => note.node === node && note.kind === 'plan');
  return {
    inputs: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    notes: notes.map(({ text }) => text),
  };
}

const ALL: readonly EventDef[] = [
  event('a', AT_NS, flip(1, 3)),
  event('b', AT_NS, { kind: 'flip-register', oneOf: [1], bits: 2 }),
  event('c', AT_NS + 1, { kind: 'machine-check', oneOf: [1], corrected: false }),
  event('d', 6 * NS_PER_MS, { kind: 'storm', oneOf: [1], line: 4, count: 9, gapNs: 1_000 }),
  event('e', 7 * NS_PER_MS, flip(0, 2)),
];

describe('CR-86: faults inside a node', () => {
  it('reach a machine at their time, with what was left open decided by the seed', () => {
    const run = new SmallWorld(options(ALL)).run();
    const { inputs, notes } = told(run, 1);
    const [memory, register, check, storm] = inputs;
    expect(memory).toMatchObject({ kind: 'flip-memory', atNs: AT_NS });
    expect((memory?.['bits'] as number[]).length).toBe(3);
    expect((memory?.['address'] as number) % 8).toBe(0);
    expect(register).toMatchObject({ kind: 'flip-register', atNs: AT_NS });
    expect(check).toMatchObject({ kind: 'machine-check', atNs: AT_NS + 1, corrected: false });
    expect(storm).toEqual({
      ...{ kind: 'storm', atNs: 6 * NS_PER_MS, line: 4, count: 9, gapNs: 1_000 },
    });
    const [bits, hex] = [
      (memory?.['bits'] as number[]).join(', '),
      (memory?.['address'] as number).toString(16),
    ];
    expect(notes[0]).toBe(`bits ${bits} of the word at 0x${hex} flipped`);
    expect(notes[1]).toMatch(/^bits \d+, \d+ of r\w+ of processor [01] flipped$/);
    expect(notes[2]).toMatch(/^processor [01] finds an uncorrected error at 0x[0-9a-f]+$/);
    expect(notes[3]).toBe('9 interrupts on line 4, 1us apart');
    const seen = new Set<string>();
    for (let seed = 1; seed <= 12; seed++) {
      const other = told(new SmallWorld(options(ALL, { seed })).run(), 1);
      seen.add(JSON.stringify(other.inputs.slice(0, 3)));
    }
    expect(seen.size).toBe(12);
  });

  it('draw memory that the machine has, and each part of it', () => {
    const addresses: number[] = [];
    const def = { ...MACHINE, memoryMib: 4_096, type: 'q35' as const };
    for (let seed = 1; seed <= 60; seed++) {
      const machines = { nodes: ['machine'], def };
      const run = new SmallWorld(options([event('a', AT_NS, flip(1))], { seed, machines })).run();
      addresses.push(told(run, 1).inputs[0]?.['address'] as number);
    }
    for (const address of addresses) {
      expect(address < 0x8000_0000 || address >= 2 ** 32).toBe(true);
      expect(address).toBeLessThan(2 ** 32 + 2 ** 31);
    }
    expect(addresses.some((address) => address >= 2 ** 32)).toBe(true);
    expect(addresses.some((address) => address < 0x8000_0000)).toBe(true);
  });

  it('keep to the range, register, processor and address that the plan names', () => {
    const range = { address: 0x10_0000, bytes: 8 };
    const events: readonly EventDef[] = [
      event('a', AT_NS, { kind: 'flip-memory', oneOf: [1], bits: 64, range }),
      event('b', AT_NS, { kind: 'flip-register', oneOf: [1], bits: 1, register: 'r12', cpu: 1 }),
      event('c', AT_NS, {
        ...{ kind: 'machine-check', oneOf: [1], corrected: true, address: 5, cpu: 1 },
      }),
    ];
    const run = new SmallWorld(options(events)).run();
    const bits = Array.from({ length: 64 }, (_, bit) => bit);
    expect(told(run, 1).inputs).toMatchObject([
      { address: 0x10_0000, bits },
      { cpu: 1, register: 'r12' },
      { cpu: 1, corrected: true, address: 5 },
    ]);
    expect(told(run, 1).notes[2]).toBe('processor 1 finds a corrected error at 0x5');
  });

  it('reach a program when it goes on, in the memory that it has then', () => {
    const run = new SmallWorld(options([event('a', AT_NS, flip(0))])).run();
    const { inputs, notes } = told(run, 0);
    expect(inputs.length).toBe(1);
    expect(inputs[0]?.['address']).toBeLessThan(PROGRAM_BYTES);
    expect(notes[0]).toMatch(/^bit \d+ of the word at 0x[0-9a-f]+ flipped$/);
    const at = run.world.notes.find(({ kind }) => kind === 'plan')?.atNs;
    expect(at).toBe(6 * NS_PER_MS);
    const range = { address: PROGRAM_BYTES, bytes: 8 };
    const beyond = event('a', AT_NS, { kind: 'flip-memory', oneOf: [0], bits: 1, range });
    const none = new SmallWorld(options([beyond])).run();
    expect(told(none, 0)).toEqual({
      inputs: [],
      notes: [`no flip: the memory ends at 0x${PROGRAM_BYTES.toString(16)}`],
    });
  });

  it('CR-101: and both go on equally from a checkpoint at every step', () => {
    const straight = new SmallWorld(options(ALL)).run();
    const stepped = new SmallWorld(options(ALL));
    let waiting = 0;
    while (stepped.step()) {
      const checkpoint = stepped.capture();
      if (checkpoint.world.flips !== undefined) waiting++;
      const twin = new SmallWorld(options(ALL));
      twin.restore(checkpoint);
      twin.run();
      expect(twin.chains()).toBe(straight.chains());
    }
    expect(waiting).toBeGreaterThan(0);
  });

  it('change nothing where nobody runs, and nothing else: decisions of others stay (CR-60)', () => {
    const off = event('off', 2 * NS_PER_MS, { kind: 'crash', oneOf: [1] });
    const run = new SmallWorld(options([off, ...ALL])).run();
    expect(told(run, 1).inputs).toEqual([]);
    expect(run.world.idleEvents().map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
    const crashed = event('off', 7 * NS_PER_MS + 1, { kind: 'crash', oneOf: [0] });
    const again = event('on', 8 * NS_PER_MS, { kind: 'restart', oneOf: [0] });
    const anew = new SmallWorld(options([...ALL, crashed, again])).run();
    expect(told(anew, 0).inputs).toEqual([]);
  });

  it('end with all faults: a storm is over before, none begins after (CR-95)', () => {
    const liveness = { atNs: 6 * NS_PER_MS + 4_500 };
    const late = event('late', 8 * NS_PER_MS, flip(1));
    const run = new SmallWorld(options([...ALL.slice(0, 4), late], { liveness })).run();
    const { inputs } = told(run, 1);
    expect(inputs.at(-1)).toMatchObject({ kind: 'storm', count: 5 });
    const swarm = ['hardware' as const];
    const counts = [1, 2, 3, 4, 5, 6].map((seed) => {
      return told(new SmallWorld(options(ALL, { swarm, seed })).run(), 1).inputs.length;
    });
    expect(new Set(counts)).toEqual(new Set([0, 4]));
  });
});

describe('CR-108: a fault inside a node that cannot be is refused by name', () => {
  const scenarioWith = (action: ActionDef): ScenarioDef => {
    return smallScenario(options([event('e', NS_PER_S, action)]));
  };
  const range = (address: number, bytes: number) => ({ address, bytes });
  const memory = '0x0 to 0x9ffff, 0x100000 to 0x3ffffff';

  it.each<[string, ActionDef, string]>([
    [
      'a register of a program',
      { kind: 'flip-register', oneOf: [0, 1], bits: 1 },
      'a flip in a register cannot be done to "program": only machines have processors of their own',
    ],
    [
      'a machine check of a program',
      { kind: 'machine-check', oneOf: [0], corrected: true },
      '"machine-check" cannot be done to "program": only machines have processors of their own',
    ],
    [
      'a storm of a program',
      { kind: 'storm', oneOf: [0], line: 4, count: 1, gapNs: 1 },
      '"storm" cannot be done to "program": only machines have processors of their own',
    ],
    [
      'memory that a program can never have',
      { kind: 'flip-memory', oneOf: [0], bits: 1, range: range(MIB - 8, 16) },
      'its memory is at 0x0 to 0xfffff, and not at 0xffff8 to 0x100007',
    ],
    [
      'memory beyond the end of a machine’s',
      { kind: 'flip-memory', oneOf: [1], bits: 1, range: range(64 * MIB - 8, 16) },
      `its memory is at ${memory}, and not at 0x3fffff8 to 0x4000007`,
    ],
    [
      'memory under the firmware',
      { kind: 'flip-memory', oneOf: [1], bits: 1, range: range(0x9_fff8, 16) },
      `its memory is at ${memory}`,
    ],
    [
      'half a word',
      { kind: 'flip-memory', oneOf: [1], bits: 1, range: range(4, 8) },
      'are multiples of 8: whole words',
    ],
    [
      'more bits than a word has',
      { kind: 'flip-memory', oneOf: [1], bits: 65 },
      '"bits" is within 1 to 64',
    ],
    ['no bit', { kind: 'flip-register', oneOf: [1], bits: 0 }, '"bits" is within 1 to 64'],
    [
      'a processor that the machine does not have',
      { kind: 'flip-register', oneOf: [1], bits: 1, cpu: 2 },
      'its processors are 0 to 1, and not 2',
    ],
    [
      'an error at an address without memory',
      { kind: 'machine-check', oneOf: [1], corrected: true, address: 0xb_0000 },
      `its memory is at ${memory}`,
    ],
    [
      'a line between the controllers',
      { kind: 'storm', oneOf: [1], line: 2, count: 1, gapNs: 1 },
      'not 2, which has no device',
    ],
    [
      'a storm without an end',
      { kind: 'storm', oneOf: [1], line: 4, count: 1_000_001, gapNs: 1 },
      '"count" is within 1 to 1000000',
    ],
    [
      'a storm beyond the end of time',
      { kind: 'storm', oneOf: [1], line: 4, count: 1_000, gapNs: 2 ** 44 },
      '"gap" is at least 1 ns, and the storm ends in time',
    ],
  ])('%s', (_, action, expected) => {
    const error = failure(() => {
      admitScenario(scenarioWith(action));
    });
    expect(error.code).toBe('scenario/machine');
    expect(error.message).toContain(expected);
  });

  it('and so is an end of what is over at once; what is accepted comes back equal (CR-53)', () => {
    const lasting = { ...event('e', 0, flip(1)), forNs: 5 };
    const error = failure(() => {
      admitScenario(smallScenario(options([lasting])));
    });
    expect(error.message).toContain('"flip-memory" is nothing that ends');
    const events = [
      ...ALL,
      event('f', NS_PER_S, { kind: 'flip-memory', oneOf: [1], bits: 1, range: range(0, 16) }),
      event('g', NS_PER_S, { kind: 'flip-register', oneOf: [1], bits: 1, register: 'rsp', cpu: 0 }),
      event('h', NS_PER_S, {
        ...{ kind: 'machine-check', oneOf: [1], corrected: true, address: 8, cpu: 1 },
      }),
      // At one moment with a crash: one comes after the other, and neither undoes the other.
      event('i', NS_PER_S, { kind: 'crash', oneOf: [1] }),
    ];
    const def = smallScenario(options(events));
    expect(decodeScenario(encodeScenario(def))).toEqual(def);
  });
});
