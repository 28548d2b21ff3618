import { describe, expect, it } from 'vitest';
import { scenario } from '../../scenarios/index.ts';
import {
  encodeUtf8,
  MILLION,
  NS_PER_MS as MS,
  QUIET_RULE,
  ROOT,
  type ActionDef,
  type Effect,
  type EventDef,
  type GuestPort,
} from '../../sim/index.ts';
import { prepare, simulate } from '../guests/simulate.ts';
import { ALWAYS, SickDisk } from '../storage/disk-support.ts';
import { SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

/** Syncs a file every 10 ms, ten times, and says when. */
function syncer(port: GuestPort): StateGuest<{ left: number }> {
  return new StateGuest({ left: 10 }, port, (state): Effect => {
    const { files } = port;
    port.console(1, encodeUtf8(`${port.nowNs / MS} `));
    const found = files.lookup(ROOT, 'log');
    const file = found > 0 ? found : files.createFile(ROOT, 'log', 0n);
    files.write(file, 0, encodeUtf8(String(state.left)), 0n);
    files.synchronise(file, false);
    if (--state.left === 0) return { kind: 'exit', atNs: port.nowNs, code: 0 };
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

const STUCK: ActionDef = {
  kind: 'disk',
  nodes: [0],
  rule: { ...QUIET_RULE, stall: MILLION, stallNs: null },
};
const HEAL: ActionDef = { kind: 'disk-heal', nodes: [0], repair: false };

function world(events: readonly EventDef[], options: Partial<SmallOptions> = {}): SmallWorld {
  return new SmallWorld({ names: ['a'], make: syncer, events, ...options });
}

const RELEASED: readonly (readonly [string, readonly EventDef[], Partial<SmallOptions>])[] = [
  ['a heal', [event('stuck', 25, STUCK), event('heal', 300, HEAL)], {}],
  ["the rule's end", [event('stuck', 25, STUCK, { forNs: 275 * MS })], {}],
  ['the liveness phase', [event('stuck', 25, STUCK)], { liveness: { atNs: 300 * MS } }],
];

describe('a disk operation that never comes to an end', () => {
  it('CR-90: holds its guest, which counts as quiet', () => {
    const run = world([event('stuck', 25, STUCK)]).run();
    expect(run.consoles[0]).toBe('0 10 20 30 ');
    expect([run.world.endReason, run.world.nowNs]).toEqual(['quiescence', 30 * MS]);
    expect(run.world.notes.at(-1)?.text).toBe('stall /log');
  });

  it.each(RELEASED)('CR-59, CR-90: is over with %s', (_, events, options) => {
    const run = world(events, options).run();
    // The 30th ms' operation is over at 300 ms; its guest looks again at once.
    expect(run.consoles[0]).toBe('0 10 20 30 300 310 320 330 340 350 ');
    expect(run.world.life(0).status).toBe('exited');
  });

  it('wakes for no clock and no pause, and another rule that ends releases nothing', () => {
    const slow: ActionDef = { ...STUCK, rule: { ...QUIET_RULE, readLatencyNs: 1 } };
    const run = world([
      event('stuck', 25, STUCK),
      event('slow', 26, slow, { forNs: 10 * MS }),
      event('jump', 50, { kind: 'clock', oneOf: [0], change: { kind: 'jump', byNs: MS } }),
      event('pause', 60, { kind: 'pause', oneOf: [0], forNs: 400 * MS }),
      event('heal', 300, HEAL),
    ]).run();
    expect(run.consoles[0]).toBe('0 10 20 30 460 470 480 490 500 510 ');
  });

  it('a kill ends the wait, and the next life has one of its own', () => {
    const run = world([
      event('stuck', 25, STUCK),
      event('kill', 50, { kind: 'kill', oneOf: [0] }, { forNs: 10 * MS }),
      event('heal', 100, HEAL),
    ]).run();
    expect(run.consoles[0]).toBe('0 10 20 30 60 100 110 120 130 140 150 160 170 180 ');
  });

  it('CR-101: goes on equally from a checkpoint at every step', () => {
    const events = [event('stuck', 25, STUCK), event('heal', 300, HEAL)];
    const whole = world(events).run();
    const run = world(events);
    do {
      const other = world(events);
      other.restore(run.capture());
      expect(other.run().chains()).toBe(whole.chains());
      expect(other.world.fileDigest(0)).toBe(whole.world.fileDigest(0));
    } while (run.step());
  });

  it('CR-90: a loss of power may undo the sync that did not end', () => {
    const sick = new SickDisk({ rules: { stuck: { stall: ALWAYS, stallNs: null } } });
    const { files, disk } = sick;
    const file = files.createFile(ROOT, 'log', 0n);
    files.write(file, 0, encodeUtf8('old'), 0n);
    files.synchronise(file, false);
    files.synchronise(ROOT, false);
    disk.rules.start('stuck');
    files.write(file, 0, encodeUtf8('new'), 0n);
    files.synchronise(file, false);
    expect(files.isStuck).toBe(true);
    sick.crash(() => 0, 10 ** 15);
    expect(Buffer.from(sick.content(file)).toString()).toBe('old');
  });

  it('CR-90: holds a C program from TOML, until the rule ends', async () => {
    const run = async (more: { readonly for?: string }): Promise<string> => {
      const prepared = await prepare(
        scenario('stuck')
          .node({ name: 'store', guest: 'kv', args: ['/kv', '13'] })
          .event({ name: 's', do: 'disk', at: '0s', stall: '100%', stall_for: 'forever', ...more }),
        ['kv'],
      );
      return simulate(prepared, 1).consoles.store ?? '';
    };
    expect(await run({})).not.toContain('ok:');
    expect(await run({ for: '5s' })).toContain('ok: 13 operations');
  });
});

describe('a kill of a node whose clock is ahead', () => {
  it('ends it at the time of the kill, not at the end of its pause', () => {
    const run = world([
      event('pause', 5, { kind: 'pause', oneOf: [0], forNs: 500 * MS }),
      event('kill', 50, { kind: 'kill', oneOf: [0] }),
    ]);
    run.run();
    expect(run.world.life(0)).toMatchObject({ status: 'crashed', localNs: 50 * MS });
  });
});
