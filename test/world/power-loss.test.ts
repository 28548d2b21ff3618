import { describe, expect, it } from 'vitest';
import { scenario } from '../../scenarios/index.ts';
import {
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  ROOT,
  type ActionDef,
  type Effect,
  type EventDef,
  type GuestPort,
} from '../../sim/index.ts';
import { prepare, simulate } from '../guests/simulate.ts';
import { SmallWorld } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

/** Says whether an earlier life's file is there; makes it if not, syncs nothing, and exits. */
function brief(port: GuestPort): StateGuest<null> {
  return new StateGuest(null, port, (): Effect => {
    const found = port.files.lookup(ROOT, 'note') > 0;
    port.console(1, encodeUtf8(found ? 'kept ' : 'new '));
    if (!found) port.files.createFile(ROOT, 'note', 0n);
    return { kind: 'exit', atNs: port.nowNs, code: 0 };
  });
}

function event(name: string, atMs: number, action: ActionDef): EventDef {
  return { name, atNs: atMs * NS_PER_MS, withinNs: 0, chance: MILLION, action };
}

function world(seed: number, first: 'crash' | 'kill'): SmallWorld {
  return new SmallWorld({
    names: ['a'],
    make: brief,
    seed,
    events: [
      event('first', 10, { kind: first, oneOf: [0] }),
      event('again', 20, { kind: 'restart', oneOf: [0] }),
    ],
  });
}

describe('a loss of power after the program has ended', () => {
  it('CR-90: may lose what was not durable', () => {
    const found = new Set<string>();
    for (let seed = 1; seed <= 20; seed++) {
      found.add(world(seed, 'crash').run().consoles[0] as string);
    }
    expect([...found].sort()).toEqual(['new kept ', 'new new ']);
  });

  it('CR-90: is a crash of the node, which restart without a name starts again', () => {
    const run = new SmallWorld({
      names: ['a'],
      make: brief,
      events: [
        event('power', 10, { kind: 'crash', oneOf: [0] }),
        event('power again', 11, { kind: 'crash', oneOf: [0] }),
        event('restart', 20, { kind: 'restart', oneOf: [] }),
      ],
    }).run();
    expect(run.world.notes.map(({ text }) => text)).toEqual([
      'start',
      'exit 0',
      'crash',
      'restart',
      'exit 0',
    ]);
    // A machine without power cannot lose it.
    expect(run.world.idleEvents()).toMatchObject([{ name: 'power again' }]);
  });

  it('a kill of what has ended changes nothing, and the page cache stays', () => {
    const run = world(1, 'kill').run();
    expect(run.consoles[0]).toBe('new kept ');
    expect(run.world.idleEvents()).toMatchObject([{ name: 'first' }]);
  });

  it('CR-90: takes back what a C program was promised by a disk that lies', async () => {
    const recovered = async (lyingFlush: number): Promise<Set<string>> => {
      const prepared = await prepare(
        scenario('ended')
          .node({
            name: 'store',
            guest: 'kv',
            args: ['/kv', '13'],
            disk: { lying_flush: lyingFlush },
          })
          .event({ name: 'power', do: 'crash', at: '100ms', node: 'store' })
          .event({ name: 'again', do: 'restart', at: '200ms', node: 'store' }),
        ['kv'],
      );
      const found = new Set<string>();
      for (let seed = 1; seed <= 12; seed++) {
        const { consoles } = simulate(prepared, seed);
        const lines = (consoles.store ?? '').split('\n');
        expect(lines.filter((line) => line.startsWith('ok: 13 operations'))).toHaveLength(2);
        found.add(lines.filter((line) => line.startsWith('recovered')).at(-1) as string);
      }
      return found;
    };
    expect([...(await recovered(0))]).toEqual(['recovered 13']);
    expect([...(await recovered(1_000_000))]).toContain('recovered 0');
  });
});
