import { describe, expect, it } from 'vitest';
import {
  encodeCanonical,
  decodeCanonical,
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  PLAIN_DISK,
  readReadyNode,
  readyNode,
  type ActionDef,
  type Effect,
  type EventDef,
  type GuestPort,
  type MachineDevices,
  type ReadyNode,
} from '../../sim/index.ts';
import { SMALL_MACHINE } from '../support/fake-computer.ts';
import { SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

/** A write takes 3.05 ms. */
const WRITE_NS = 3 * NS_PER_MS + 50_000;
const RULE = { ...PLAIN_DISK.rule, writeLatencyNs: 3 * NS_PER_MS };
const DISK = { ...PLAIN_DISK, crash: 'reordered' as const, rule: RULE };

/** Writes a sector each millisecond, flushes after the fifth, and says what ends when. */
function writer(port: GuestPort): StateGuest<{ count: number; nextNs: number }> {
  const devices = port.machine as MachineDevices;
  return new StateGuest({ count: 0, nextNs: 0 }, port, (state, _, { reason, atNs }): Effect => {
    if (reason === 'start') {
      state.nextNs = atNs;
      port.console(1, encodeUtf8(`start ${atNs}\n`));
    }
    for (const input of devices.takeInputs()) {
      const id = input.kind === 'block' ? input.end.id : -1;
      port.console(1, encodeUtf8(`${input.atNs} end ${id}\n`));
    }
    while (state.nextNs < port.horizonNs) {
      port.nowNs = state.nextNs;
      state.nextNs += NS_PER_MS;
      const id = ++state.count;
      const what = { id, disk: 0, sector: id, byteCount: 512 };
      if (id === 6) {
        const none = new Uint8Array(0);
        devices.request({ ...what, operation: 'flush', sector: 0, byteCount: 0, data: none });
      } else {
        devices.request({ ...what, operation: 'write', data: new Uint8Array(512).fill(id) });
      }
    }
    port.nowNs = port.horizonNs;
    port.observedNs = port.horizonNs;
    return { kind: 'preempted', atNs: port.nowNs };
  });
}

function idle(port: GuestPort): StateGuest<object> {
  const wait = { deadlineNs: null, interests: [] };
  return new StateGuest({}, port, (): Effect => ({ kind: 'wait', atNs: port.nowNs, wait }));
}

function world(options: Partial<SmallOptions> = {}): SmallWorld {
  return new SmallWorld({
    names: ['other', 'machine'],
    make: (port) => (port.machine === null ? idle(port) : writer(port)),
    machines: { nodes: ['machine'], def: SMALL_MACHINE },
    until: 'virtual-time',
    virtualNsMax: 40 * NS_PER_MS,
    disk: DISK,
    ...options,
  });
}

/** Where the machine is while its last writes are under way. */
function readyPoint(): ReadyNode {
  const bake = world();
  while (bake.world.life(1).localNs < 9 * NS_PER_MS + 20_000) bake.step();
  const written = encodeCanonical(readyNode(bake.world.capture(), 1));
  return readReadyNode(decodeCanonical(written), 'ready');
}

function event(name: string, atNs: number, action: ActionDef): EventDef {
  return { name, atNs, withinNs: 0, chance: MILLION, action };
}

function consoleOf(run: SmallWorld): readonly string[] {
  return (run.consoles[1] ?? '').trimEnd().split('\n');
}

describe('CR-55: a machine that begins where it is ready', () => {
  const point = readyPoint();
  const ready = new Map([[1, point]]);

  it('starts then, with its disks as they were and what was under way to them', () => {
    expect(point.ends.map(({ end }) => end.id)).toEqual([7, 8, 9, 10]);
    const before = world({ ready });
    const run = world({ ready }).run();
    const lines = consoleOf(run);
    expect(lines[0]).toBe(`start ${point.atNs}`);
    expect(lines.slice(1, 5)).toEqual(
      [6, 7, 8, 9].map((ms) => `${ms * NS_PER_MS + WRITE_NS} end ${ms + 1}`),
    );
    const bytes = new Uint8Array(512);
    const { files } = before.world.ports[1] as GuestPort;
    files.read(files.lookup(1, 'vda'), 9 * 512, bytes);
    expect(bytes[0]).toBe(9);
    expect(run.world.life(1)).toMatchObject({ lives: 1 });
  });

  it('is without power until then: what a plan does to it changes nothing', () => {
    const events = [
      event('crash', NS_PER_MS, { kind: 'crash', oneOf: [1] }),
      event('restart', 2 * NS_PER_MS, { kind: 'restart', oneOf: [1] }),
      event('wipe', 3 * NS_PER_MS, { kind: 'wipe', oneOf: [1] }),
    ];
    const run = world({ ready, events }).run();
    expect(run.world.idleEvents().map(({ name }) => name)).toEqual(['crash', 'restart', 'wipe']);
    expect(run.consoles[1]).toBe(world({ ready }).run().consoles[1]);
  });

  it('keeps a rule of its disk that began before', () => {
    const rule = { ...PLAIN_DISK.rule, writeLatencyNs: 5 * NS_PER_MS };
    const events = [event('slow', NS_PER_MS, { kind: 'disk', nodes: [1], rule })];
    const lines = consoleOf(world({ ready, events }).run());
    expect(lines).toContain(`${point.atNs + 5 * NS_PER_MS + WRITE_NS} end 1`);
  });

  it('boots after a loss of power, on what its disk kept, and nothing else is left', () => {
    const events = [
      event('crash', 10 * NS_PER_MS + 70_000, { kind: 'crash', oneOf: [1] }),
      event('restart', 20 * NS_PER_MS, { kind: 'restart', oneOf: [1] }),
    ];
    const run = world({ ready, events }).run();
    const lines = consoleOf(run);
    expect(lines).toContain(`start ${20 * NS_PER_MS}`);
    expect(lines.filter((line) => line.endsWith(' end 10'))).toEqual([
      `${29 * NS_PER_MS + WRITE_NS} end 10`,
    ]);
  });

  it('CR-101: goes on equally from a checkpoint at every step', () => {
    const events = [
      event('crash', 15 * NS_PER_MS, { kind: 'crash', oneOf: [1] }),
      event('restart', 20 * NS_PER_MS, { kind: 'restart', oneOf: [1] }),
    ];
    const straight = world({ ready, events }).run();
    const stepped = world({ ready, events });
    do {
      const twin = world({ ready, events });
      twin.restore(stepped.capture());
      expect(twin.run().chains()).toBe(straight.chains());
    } while (stepped.step());
  });
});
