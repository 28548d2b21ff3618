import { describe, expect, it } from 'vitest';
import {
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  NS_PER_S,
  ROOT,
  type ActionDef,
  type Effect,
  type EventDef,
  type GuestDef,
  type GuestPort,
} from '../../sim/index.ts';
import { exponentialWaitNs } from '../../sim/kernel/exponential.ts';
import { SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

const MS = NS_PER_MS;
const NEXT: GuestDef = { kind: 'wasm', image: '1'.repeat(64), label: 'next' };

/** Says hello with what is on its disk, writes there, and then ticks for ever. */
function keeper(port: GuestPort): StateGuest<{ ticks: number }> {
  return new StateGuest({ ticks: 0 }, port, (state): Effect => {
    const { files } = port;
    const root = ROOT;
    if (state.ticks === 0) {
      const found = files.lookup(root, 'kept');
      port.console(
        1,
        encodeUtf8(`${port.name} ${port.nowNs / MS} ${found > 0 ? 'kept' : 'new'}\n`),
      );
      if (found < 0) {
        const inode = files.createFile(root, 'kept', 0n);
        files.synchronise(inode, false);
        files.synchronise(root, false);
      }
    }
    state.ticks++;
    port.entropy(new Uint8Array(4));
    const deadlineNs = port.nowNs + 10 * MS;
    return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs, interests: [] } };
  });
}

function event(
  name: string,
  atMs: number,
  action: ActionDef,
  more: Partial<EventDef> = {},
): EventDef {
  return { name, atNs: atMs * MS, withinNs: 0, chance: MILLION, action, ...more };
}

function world(events: readonly EventDef[], options: Partial<SmallOptions> = {}): SmallWorld {
  return new SmallWorld({
    names: ['a', 'b'],
    make: keeper,
    events,
    until: 'virtual-time',
    virtualNsMax: NS_PER_S,
    ...options,
  });
}

function notes(run: SmallWorld, ...kinds: string[]): string[] {
  return run.world.notes.flatMap(({ atNs, node, kind, text }) => {
    return kinds.includes(kind) ? [`${atNs / MS} ${node} ${text}`] : [];
  });
}

describe('the life of a node', () => {
  it('crash restarts itself after its time, with its disk', () => {
    const run = world([event('x', 100, { kind: 'crash', oneOf: [0] }, { forNs: 50 * MS })]).run();
    expect(run.consoles).toEqual(['a 0 new\na 150 kept\n', 'b 0 new\n']);
  });

  it('wipe loses the disk', () => {
    const run = world([event('x', 100, { kind: 'wipe', oneOf: [0] }, { forNs: 50 * MS })]).run();
    expect(run.consoles[0]).toBe('a 0 new\na 150 new\n');
    expect(notes(run, 'crash', 'wipe')).toEqual(['100 0 crash', '100 0 the disk is lost']);
  });

  it('kill ends the program and keeps what its system holds', () => {
    const run = world([event('x', 100, { kind: 'kill', oneOf: [1] }, { forNs: 5 * MS })]).run();
    expect(run.consoles[1]).toBe('b 0 new\nb 105 kept\n');
    expect(notes(run, 'crash')).toEqual(['100 1 kill']);
  });

  it('upgrade goes on with another build on the same disk', () => {
    const run = world([event('x', 100, { kind: 'upgrade', oneOf: [0], guest: NEXT })]);
    const [before] = [run.world.guestOf(0)];
    run.run();
    expect(run.consoles[0]).toBe('a 0 new\na 100 kept\n');
    expect([before.label, run.world.guestOf(0), run.world.guestOf(1).label]).toEqual([
      'test',
      NEXT,
      'test',
    ]);
  });

  it('slow gives a share of the processor, until it is lifted', () => {
    const action: ActionDef = { kind: 'slow', oneOf: [0], cpu: 250_000 };
    const run = world([event('x', 100, action, { forNs: 200 * MS })], { virtualNsMax: 250 * MS });
    expect(run.world.life(0).cpu).toBe(MILLION);
    run.run();
    expect(run.world.life(0).cpu).toBe(250_000);
    const whole = world([event('x', 100, action, { forNs: 200 * MS })]).run();
    expect(whole.world.life(0).cpu).toBe(MILLION);
  });
});

describe('what sets a fault off', () => {
  const crash: ActionDef = { kind: 'crash', oneOf: [0] };
  const crashedAt = (run: SmallWorld): number[] => {
    return run.world.notes.flatMap(({ kind, atNs }) => (kind === 'crash' ? [atNs] : []));
  };

  it('a number of quanta of a node', () => {
    const trigger = { kind: 'quantum', node: 0, count: 7 } as const;
    const [atNs] = crashedAt(world([event('x', 0, crash, { trigger })]).run());
    const [later] = crashedAt(world([event('x', 500, crash, { trigger })]).run());
    expect([atNs, later]).toEqual([60 * MS + 1, 560 * MS + 1]);
  });

  it('a number of effects of a kind', () => {
    const trigger = { kind: 'effect', node: 1, effect: 'entropy', count: 4 } as const;
    expect(crashedAt(world([event('x', 0, crash, { trigger })]).run())).toEqual([30 * MS + 1]);
  });

  it('a decision of a stream', () => {
    const trigger = { kind: 'decision', stream: 'node/b/entropy', ordinal: 5 } as const;
    expect(crashedAt(world([event('x', 0, crash, { trigger })]).run())).toEqual([50 * MS + 1]);
  });

  it('CR-79: a hazard, again and again within its window, on a stream of its own', () => {
    const trigger = { kind: 'hazard', meanNs: 20 * MS } as const;
    const hazard = event('x', 100, crash, { trigger, forNs: MS, withinNs: 600 * MS });
    const counts = Array.from({ length: 20 }, (_, seed) => {
      const times = crashedAt(world([hazard], { seed }).run());
      expect(times.every((atNs) => atNs >= 100 * MS && atNs <= 700 * MS)).toBe(true);
      return times.length;
    });
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    // 600 ms at one in 20 ms, less the 1 ms that each crash keeps the node from crashing again.
    expect(mean).toBeGreaterThan(24);
    expect(mean).toBeLessThan(34);
  });

  it('CR-79: waits are exponential, exactly and in whole numbers', () => {
    expect(exponentialWaitNs(2 ** 32 - 1, 1_000)).toBe(1);
    // -ln(1/2) and -ln(2^-32).
    expect(exponentialWaitNs(2 ** 31 - 1, 1_000_000_000)).toBe(693_147_180);
    expect(exponentialWaitNs(0, 1_000_000_000)).toBe(22_180_709_779);
    const waits = Array.from({ length: 4_096 }, (_, place) => {
      return exponentialWaitNs(place * 2 ** 20 + 2 ** 19, 1_000_000);
    });
    const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
    expect(Math.abs(mean - 1_000_000)).toBeLessThan(2_000);
  });

  it('CR-60: a trigger that watches draws nothing', () => {
    const trigger = { kind: 'effect', node: 1, effect: 'entropy', count: 4_000 } as const;
    const watched = world([event('x', 0, crash, { trigger })]).run();
    const decisions = watched.world.decisions.decisionCount;
    expect(decisions).toBe(world([]).run().world.decisions.decisionCount);
  });
});

describe('all faults together', () => {
  const plan = [
    event('clock', 50, { kind: 'clock', oneOf: [0], change: { kind: 'freeze', clock: 'both' } }),
    event('cut', 100, { kind: 'isolate', oneOf: [0] }),
    event('slow', 120, { kind: 'slow', oneOf: [1], cpu: 500_000 }),
    event('crash', 150, { kind: 'crash', oneOf: [1] }),
    event('stuck', 160, { kind: 'stick', from: [0], to: [1] }),
    event('late', 600, { kind: 'crash', oneOf: [0] }),
  ];

  it('CR-59: liveness ends them all, and lets none begin', () => {
    const run = world(plan, { liveness: { atNs: 400 * MS } }).run();
    expect(run.world.life(0).status).not.toBe('crashed');
    expect(run.consoles[1]).toBe('b 0 new\nb 400 kept\n');
    expect(run.world.life(1).cpu).toBe(MILLION);
    const links = run.world.network.capture() as { links: { cut: boolean; stuck?: number }[] };
    expect(links.links.filter(({ cut, stuck }) => cut || stuck !== undefined)).toEqual([]);
    expect(run.world.idleEvents()).toEqual([
      { name: 'late', why: 'it came when all faults had been lifted', never: false },
    ]);
  });

  it('CR-59: of cuts and sticks that overlap, each ends, and the last end lets packets through', () => {
    const forNs = 100 * MS;
    const run = world([
      event('cut', 100, { kind: 'isolate', oneOf: [0] }, { forNs }),
      event('again', 150, { kind: 'isolate', oneOf: [0] }, { forNs }),
      event('stuck', 100, { kind: 'stick', from: [0], to: [1] }, { forNs }),
      event('still', 150, { kind: 'stick', from: [0], to: [1] }, { forNs }),
    ]);
    const held = (): number => {
      const { links } = run.world.network.capture() as {
        links: { cut: boolean; stuck?: number }[];
      };
      return links.filter(({ cut, stuck }) => cut || stuck !== undefined).length;
    };
    const heldAt = new Map<number, number>();
    while (run.step()) heldAt.set(Math.floor(run.world.nowNs / MS), held());
    expect([90, 190, 220, 270].map((ms) => heldAt.get(ms))).toEqual([0, 2, 2, 0]);
  });

  it('CR-101: goes on equally from a checkpoint at every step of them', () => {
    const hazard = { kind: 'hazard', meanNs: 40 * MS } as const;
    const events = [
      event(
        'effect',
        20,
        { kind: 'pause', oneOf: [0], forNs: 5 * MS },
        {
          trigger: { kind: 'effect', node: 1, effect: 'entropy', count: 3 },
        },
      ),
      ...plan,
      event(
        'hazard',
        200,
        { kind: 'kill', oneOf: [0, 1] },
        {
          trigger: hazard,
          withinNs: 300 * MS,
          forNs: 10 * MS,
        },
      ),
    ];
    const options = { liveness: { atNs: 450 * MS }, virtualNsMax: 550 * MS, seed: 4 };
    const whole = world(events, options).run();
    const run = world(events, options);
    do {
      const other = world(events, options);
      other.restore(run.capture());
      expect(other.run().chains()).toBe(whole.chains());
      expect(other.world.idleEvents()).toEqual(whole.world.idleEvents());
    } while (run.step());
  });

  it.each([
    [null, 'pass'],
    [60 * MS, 'pass'],
    [40 * MS, 'fail'],
  ] as const)(
    'CR-95: eventually within %s ns counts from the end of faults',
    (withinNs, verdict) => {
      const run = world([event('x', 450, { kind: 'upgrade', oneOf: [0], guest: NEXT })], {
        liveness: { atNs: 400 * MS },
        properties: [{ kind: 'eventually', name: 'a', nodes: [0], console: 'a 450', withinNs }],
      }).run();
      expect(run.world.results()).toMatchObject([{ verdict, atNs: 450 * MS }]);
      const before = world([], {
        liveness: { atNs: 400 * MS },
        properties: [{ kind: 'eventually', name: 'a', nodes: [0], console: 'a 0', withinNs: null }],
      }).run();
      expect(before.world.results()).toMatchObject([{ verdict: 'inconclusive' }]);
    },
  );

  it('a swarm draws families of faults, each on a stream of its own', () => {
    const families = ['clock', 'crash', 'link', 'partition', 'pause'] as const;
    const seen = new Set<string>();
    for (let seed = 0; seed < 120; seed++) {
      const run = world(plan, { swarm: families, seed }).run();
      const off = run.world.idleEvents().filter(({ why }) => why.includes('swarm'));
      seen.add(off.map(({ name }) => name).join(' '));
    }
    expect(seen.size).toBeGreaterThan(10);
    expect(seen.has('')).toBe(true);
  });
});

describe('events that change nothing', () => {
  it('FB-73: are listed with the reason', () => {
    const run = world([
      event('dead', 10, { kind: 'crash', oneOf: [0] }),
      event('dead again', 20, { kind: 'crash', oneOf: [0] }),
      event('never', 2_000, { kind: 'crash', oneOf: [0] }),
      event('rare', 30, { kind: 'crash', oneOf: [1] }, { chance: 1 }),
      event(
        'waits',
        40,
        { kind: 'crash', oneOf: [1] },
        {
          trigger: { kind: 'quantum', node: 0, count: 1 },
        },
      ),
    ]).run();
    expect(run.world.idleEvents()).toEqual([
      { name: 'dead again', why: 'it found nothing to act on', never: false },
      {
        name: 'never',
        why: 'it comes at 2.000000000s, after the limit of virtual time',
        never: true,
      },
      { name: 'rare', why: 'its chance was not drawn', never: false },
      { name: 'waits', why: 'its trigger never came', never: false },
    ]);
  });
});
