import { describe, expect, it } from 'vitest';
import {
  admitScenario,
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  NS_PER_S,
  parseEthernet,
  parseIpv4,
  parseUdp,
  PLAIN_DISK,
  type ActionDef,
  type Effect,
  type EventDef,
  type GuestPort,
  type MachineDef,
  type MachineDevices,
  type MachineInput,
  type NodeDef,
} from '../../sim/index.ts';
import { COMPUTER_PORT, datagramFrame, SMALL_MACHINE } from '../support/fake-computer.ts';
import { failure } from '../support/failure.ts';
import { smallScenario, SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

const TICK_NS = 3 * NS_PER_MS;
const DISK_BYTES = 64 * 1_024;

const MACHINE: MachineDef = {
  ...SMALL_MACHINE,
  disks: [{ bytes: DISK_BYTES, extents: [{ offset: 4_096, bytes: encodeUtf8('label') }] }],
};

interface MachineState {
  ticks: number;
  nextNs: number;
  requests: number;
}

/** The least machine: every 3 ms it sends a datagram in a frame, and asks its disk for something. */
function machine(port: GuestPort): StateGuest<MachineState> {
  const devices = port.machine as MachineDevices;
  const initial = { ticks: 0, nextNs: port.nowNs, requests: 0 };
  return new StateGuest<MachineState>(initial, port, (state, _, outcome): Effect => {
    if (outcome.reason === 'start') state.nextNs = outcome.atNs;
    for (const input of devices.takeInputs()) {
      port.console(1, encodeUtf8(`${input.atNs} ${textOf(input)}\n`));
    }
    while (state.nextNs < port.horizonNs) {
      // After a pause what was due comes at once.
      port.nowNs = Math.max(port.nowNs, state.nextNs);
      state.nextNs += TICK_NS;
      tick(state, devices);
    }
    port.nowNs = port.horizonNs;
    port.observedNs = port.horizonNs;
    if (state.ticks < 30) return { kind: 'preempted', atNs: port.nowNs };
    return { kind: 'exit', atNs: port.nowNs, code: 3 };
  });
}

function textOf(input: MachineInput): string {
  switch (input.kind) {
    case 'frame':
      return datagramOf(input.bytes);
    case 'block':
      return endOf(input.end);
    default:
      return input.kind;
  }
}

function tick(state: MachineState, devices: MachineDevices): void {
  state.ticks++;
  devices.sendFrame(datagramFrame(1, 0, encodeUtf8(`hello ${state.ticks}`)));
  const id = ++state.requests;
  const common = { id, disk: 0, sector: 16 + state.ticks, byteCount: 512 };
  const data = new Uint8Array(512).fill(state.ticks);
  const none = new Uint8Array(0);
  if (state.ticks % 7 === 0) {
    devices.request({ ...common, operation: 'flush', sector: 0, byteCount: 0, data: none });
  } else if (state.ticks % 5 === 0) {
    devices.request({ ...common, operation: 'read', sector: 8, data: none });
  } else {
    devices.request({ ...common, operation: 'write', data });
  }
}

function datagramOf(frame: Uint8Array): string {
  const ethernet = parseEthernet(frame);
  if (typeof ethernet === 'number') return 'no frame';
  const packet = parseIpv4(ethernet.payload);
  if (typeof packet === 'number') return 'no packet';
  const found = parseUdp(packet.payload, packet);
  return typeof found === 'number' ? 'no datagram' : Buffer.from(found.payload).toString();
}

function endOf({ id, status, data }: { id: number; status: string; data: Uint8Array }): string {
  return `disk ${id} ${status} ${data.length} ${data[0] ?? '-'}`;
}

/** Sends every datagram back. */
function echo(port: GuestPort): StateGuest<{ socket: number }> {
  return new StateGuest({ socket: -1 }, port, (state): Effect => {
    if (state.socket < 0) {
      state.socket = port.sockets.open('udp');
      port.sockets.bind(state.socket, 0, COMPUTER_PORT);
    }
    const bytes = new Uint8Array(100);
    for (;;) {
      const found = port.sockets.receiveFrom(state.socket, bytes, false);
      if (typeof found === 'number') break;
      const { count, address, port: to } = found;
      port.sockets.sendTo(state.socket, bytes.subarray(0, count), address, to);
    }
    const interests = [{ socket: state.socket, readiness: 'read' as const }];
    return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs: null, interests } };
  });
}

function world(options: Partial<SmallOptions> = {}): SmallWorld {
  return new SmallWorld({
    names: ['echo', 'machine'],
    make: (port) => (port.machine === null ? echo(port) : machine(port)),
    machines: { nodes: ['machine'], def: MACHINE },
    link: { latencyNs: NS_PER_MS, jitterNs: NS_PER_MS / 2, loss: 50_000 },
    virtualNsMax: NS_PER_S,
    ...options,
  });
}

function event(name: string, atNs: number, action: ActionDef): EventDef {
  return { name, atNs, withinNs: 0, chance: MILLION, action };
}

const CRASH = [
  event('crash', 40 * NS_PER_MS + 60_000, { kind: 'crash', oneOf: [1] }),
  event('restart', 60 * NS_PER_MS, { kind: 'restart', oneOf: [1] }),
];

/** Two requests after a flush. */
const CRASH_LATE = event('late', 50 * NS_PER_MS, { kind: 'crash', oneOf: [1] });

describe('a machine in a world', () => {
  it('talks to sockets over the links, and to its disk, each at its time', () => {
    const quiet = world({ link: { latencyNs: NS_PER_MS, jitterNs: 0, loss: 0 } }).run();
    const lines = (quiet.consoles[1] ?? '').split('\n');
    expect(lines.slice(0, 5)).toEqual([
      '50000 disk 1 ok 0 -',
      '2000000 hello 1',
      '3050000 disk 2 ok 0 -',
      '5000000 hello 2',
      '6050000 disk 3 ok 0 -',
    ]);
    expect(lines).toContain('12100000 disk 5 ok 512 108');
    expect(lines).toContain('18500000 disk 7 ok 0 -');
    expect(quiet.world.life(1)).toMatchObject({ status: 'exited', exitCode: 3 });
  });

  it('CR-101: goes on equally from a checkpoint at every step', () => {
    const straight = world({ events: CRASH }).run();
    const stepped = world({ events: CRASH });
    for (let steps = 0; stepped.step(); steps++) {
      if (steps % 5 !== 0) continue;
      const twin = world({ events: CRASH });
      twin.restore(stepped.capture());
      twin.run();
      expect(twin.chains(), `step ${steps}`).toBe(straight.chains());
      expect(twin.world.fileDigest(1)).toBe(straight.world.fileDigest(1));
    }
    expect(stepped.chains()).toBe(straight.chains());
  });

  it('loses by a loss of power what was not flushed, as the disk says, and starts anew', () => {
    const disk = { ...PLAIN_DISK, crash: 'reordered' as const };
    const survivors = new Set<string>();
    for (let seed = 1; seed <= 8; seed++) {
      const run = world({ events: [CRASH_LATE], disk, seed }).run();
      expect(run.world.life(1)).toMatchObject({ status: 'crashed', lives: 1 });
      const { files } = run.world.ports[1] as { files: GuestPort['files'] };
      const inode = files.lookup(1, 'vda');
      const bytes = new Uint8Array(DISK_BYTES);
      files.read(inode, 0, bytes);
      survivors.add(Buffer.from(bytes).toString('latin1'));
      expect(Buffer.from(bytes.subarray(4_096, 4_101)).toString()).toBe('label');
    }
    expect(survivors.size).toBeGreaterThan(1);
    const again = world({ events: CRASH, disk }).run();
    expect(again.world.life(1)).toMatchObject({ status: 'exited', lives: 2 });
  });

  it('fails requests as its disk’s rules say, and those beyond its end always', () => {
    const rule = { ...PLAIN_DISK.rule, writeError: MILLION, readLatencyNs: NS_PER_MS };
    const run = world({ disk: { ...PLAIN_DISK, rule } }).run();
    expect(run.consoles[1]).toContain(' disk 1 io-error 0 -\n');
    expect(run.consoles[1]).toContain('13100000 disk 5 ok 512 108\n');
    const small = { ...MACHINE, disks: [{ bytes: 8_192, extents: [] }] };
    const short = world({ machines: { nodes: ['machine'], def: small } }).run();
    expect(short.consoles[1]).toContain('disk 1 io-error');
  });

  it('runs out of space where its disk has less than it says, and rewrites what it has (CR-90)', () => {
    // A page holds the label, the next one the requests 1 to 7.
    const rule = { ...PLAIN_DISK.rule, capacityBytes: 2 * 4_096 };
    const run = world({ disk: { ...PLAIN_DISK, rule } }).run();
    const ends = (run.consoles[1] ?? '').split('\n').filter((line) => line.includes(' disk '));
    const failed = ends
      .filter((line) => line.includes('io-error'))
      .map((line) => line.split(' ')[2]);
    expect(failed[0]).toBe('8');
    // Of the later ones only reads and flushes succeed.
    expect(failed).not.toContain('10');
    expect(failed).not.toContain('14');
    expect(failed).toContain('9');
    const notes = run.world.notes.filter(({ kind }) => kind === 'disk').map(({ text }) => text);
    expect(notes[0]).toBe('no space for 512 bytes at sector 24 of /vda');
    expect(notes.length).toBe(failed.length);
    const roomy = { ...rule, capacityBytes: 16 * 4_096 };
    expect(world({ disk: { ...PLAIN_DISK, rule: roomy } }).run().consoles[1]).not.toContain(
      'io-error',
    );
  });

  it('gets room again when the rule that took it ends, and its checkpoints go on equally', () => {
    const small = { ...PLAIN_DISK.rule, capacityBytes: 0 };
    const events = [
      event('full', 10 * NS_PER_MS, { kind: 'disk', nodes: [1], rule: small }),
      event('room', 40 * NS_PER_MS, { kind: 'disk-heal', nodes: [1], repair: false }),
    ];
    const run = world({ events }).run();
    const failed = (run.consoles[1] ?? '').split('\n').filter((line) => line.includes('io-error'));
    expect(failed.length).toBeGreaterThan(2);
    for (const line of failed) {
      expect(Number(line.split(' ')[0])).toBeLessThan(41 * NS_PER_MS);
    }
    const stepped = world({ events });
    for (let steps = 0; stepped.step(); steps++) {
      if (steps % 9 !== 0) continue;
      const twin = world({ events });
      twin.restore(stepped.capture());
      expect(twin.run().chains(), `step ${steps}`).toBe(run.chains());
    }
  });

  it('is interrupted at an exact time, also within a checkpoint; one without power is not', () => {
    const atNs = 41 * NS_PER_MS + 7;
    const events = [
      ...CRASH,
      event('early', 11 * NS_PER_MS + 3, { kind: 'interrupt', oneOf: [1] }),
      event('off', atNs, { kind: 'interrupt', oneOf: [1] }),
    ];
    const run = world({ events }).run();
    expect(run.consoles[1]).toContain('\n11000003 interrupt\n');
    expect(run.consoles[1]).not.toContain(`${atNs} interrupt`);
    expect(run.world.idleEvents()).toMatchObject([{ name: 'off' }]);
    const stepped = world({ events });
    while (stepped.step()) {
      const twin = world({ events });
      twin.restore(stepped.capture());
      if (twin.world.nowNs < 12 * NS_PER_MS && twin.world.nowNs > 10 * NS_PER_MS) {
        expect(twin.run().chains()).toBe(run.chains());
      }
    }
  });

  it('is paused and cut off like any other node', () => {
    const events = [
      event('cut', 10 * NS_PER_MS, { kind: 'isolate', oneOf: [1] }),
      event('pause', 30 * NS_PER_MS, { kind: 'pause', oneOf: [1], forNs: 20 * NS_PER_MS }),
    ];
    const run = world({ events }).run();
    const times = (run.consoles[1] ?? '').split('\n').map((line) => Number(line.split(' ')[0]));
    expect(times.filter((atNs) => atNs > 31 * NS_PER_MS && atNs < 49 * NS_PER_MS)).toEqual([]);
    expect(run.consoles[1]).not.toContain('hello 6\n');
  });
});

describe('CR-108: what cannot be done to a machine is refused by name', () => {
  const refusal = (actionOrNode: ActionDef | Partial<NodeDef>): string => {
    const action = 'kind' in actionOrNode ? (actionOrNode as ActionDef) : null;
    const events = action === null ? [] : [event('e', 0, action)];
    const def = smallScenario({
      names: ['echo', 'machine'],
      make: echo,
      machines: { nodes: ['machine'], def: MACHINE },
      events,
    });
    const node = action === null ? (actionOrNode as Partial<NodeDef>) : {};
    const nodes = def.world.nodes.map((each, at) => (at === 1 ? { ...each, ...node } : each));
    const error = failure(() => {
      admitScenario({ ...def, world: { ...def.world, nodes } });
    });
    return `${error.code}: ${error.message}`;
  };

  it.each<[string, ActionDef, string]>([
    ['kill', { kind: 'kill', oneOf: [1] }, '"kill" cannot be done to the machine "machine"'],
    [
      'stall',
      { kind: 'stall', oneOf: [0, 1], vcpu: 0 },
      '"stall" cannot be done to "echo": only machines have several processors',
    ],
    [
      'stall of a processor that is not there',
      { kind: 'stall', oneOf: [1], vcpu: 1 },
      'the machine "machine" has only processor 0, not 1',
    ],
    [
      'interrupt',
      { kind: 'interrupt', oneOf: [0] },
      '"interrupt" cannot be done to "echo": only machines have interrupts',
    ],
    [
      'clock',
      { kind: 'clock', oneOf: [1], change: { kind: 'freeze', clock: 'realtime' } },
      'the clocks of the machine "machine" follow one counter',
    ],
  ])('%s', (_, action, expected) => {
    expect(refusal(action)).toContain(expected);
    expect(refusal(action)).toContain('scenario/machine');
  });

  it('and so is what it cannot be given, or be made of', () => {
    const guest = (machine: Partial<MachineDef>): Partial<NodeDef> => ({
      guest: {
        kind: 'vm',
        image: '0'.repeat(64),
        label: 'test',
        machine: { ...MACHINE, ...machine },
      },
    });
    expect(refusal({ env: [['A', 'b']] })).toContain('a machine has no environment');
    expect(refusal({ args: ['two words'] })).toContain('words of its command line');
    expect(refusal(guest({ cpus: 5 }))).toContain('5 is not within 1 to 4');
    expect(refusal(guest({ memoryMib: 8_192 }))).toContain('not within 48 to 4096');
    expect(refusal(guest({ commandLine: 'a\nb' }))).toContain('printable ASCII');
    expect(refusal(guest({ disks: [{ bytes: 5, extents: [] }] }))).toContain('multiple of 4096');
    const extents = [{ offset: 8_000, bytes: new Uint8Array(500) }];
    expect(refusal(guest({ disks: [{ bytes: 8_192, extents }] }))).toContain('within it');
  });
});
