import { describe, expect, it } from 'vitest';
import { scenario } from '../../scenarios/index.ts';
import { prepare, simulate } from './simulate.ts';

describe('our C programs in the simulator', () => {
  it('echo: three clients find the server by name, over lossy links; a run repeats', async () => {
    const prepared = await prepare(
      scenario('echo')
        .until('stopped')
        .network({ latency: '2ms', jitter: '1ms', loss: '1%' })
        .node({ name: 'server', guest: 'echo-server', args: ['7', '3'] })
        .node({
          names: ['one', 'two', 'three'],
          guest: 'echo-client',
          args: ['server', '7', '20', '1000', '5'],
        }),
      ['echo-server', 'echo-client'],
    );
    const run = simulate(prepared, 1);
    expect(run.consoles.server).toBe('listening on 7\nserved 3 connections, 60000 bytes\n');
    for (const client of ['one', 'two', 'three']) {
      expect(run.consoles[client]).toMatch(/^ok: 20 echoes of 1000 bytes, mean \d+ ns, /m);
    }
    expect(simulate(prepared, 1).identity).toBe(run.identity);
    expect(simulate(prepared, 2).identity).not.toBe(run.identity);
  });

  it('kv: whatever was synced before a crash is there after the restart', async () => {
    const prepared = await prepare(
      scenario('kv')
        .node({ name: 'store', guest: 'kv', args: ['/kv', '400'] })
        .event({ name: 'crash', do: 'crash', at: '100us', within: '1500us', node: 'store' })
        .event({ name: 'restart', do: 'restart', at: '2ms', node: 'store' }),
      ['kv'],
    );
    let interruptedCount = 0;
    for (let seed = 0; seed < 12; seed++) {
      const { consoles, result } = simulate(prepared, seed);
      const lines = (consoles.store ?? '').split('\n');
      const restart = lines.findLastIndex((line) => line.startsWith('recovered '));
      const recovered = Number(lines[restart]?.slice('recovered '.length));
      const synced = lines.slice(0, restart).filter((line) => line.startsWith('synced '));
      const acknowledged = Number(synced.at(-1)?.slice('synced '.length) ?? 0);
      expect(recovered).toBeGreaterThanOrEqual(acknowledged);
      expect(lines.at(-2)).toMatch(/^ok: 400 operations, digest [0-9a-f]{8}$/);
      expect(result.nodes[0]).toMatchObject({ status: 'exited', code: 0, lives: 2 });
      if (acknowledged < 400) interruptedCount++;
    }
    expect(interruptedCount).toBeGreaterThan(0);
  });

  it.each([
    ['trap', 'trapped', null, ''],
    ['divide', 'trapped', null, 'dividing\n'],
    ['write-out-of-bounds', 'trapped', null, 'writing at the end of memory\n'],
    ['recurse', 'trapped', null, ''],
    ['recurse-in-registers', 'trapped', null, ''],
    ['abort', 'trapped', null, ''],
    ['exit-mid-write', 'exited', 7, 'half a li'],
  ])('hostile: %s ends the guest, and nothing else', async (mode, status, code, console) => {
    const prepared = await prepare(
      scenario(mode)
        .until('stopped')
        .node({ name: 'hostile', guest: 'hostile', args: [mode] })
        .node({ name: 'witness', guest: 'spin', args: ['sleep', '1', '2'] }),
      ['hostile', 'spin'],
    );
    const { result, consoles } = simulate(prepared, 1);
    expect(result.nodes[0]).toMatchObject({ status, code });
    expect(result.nodes[1]).toMatchObject({ status: 'exited', code: 0 });
    expect(consoles.hostile).toBe(console);
  });

  it('hostile: every bad pointer and descriptor is an error number', async () => {
    for (const [mode, error] of [
      ['bad-pointers', 'Bad address'],
      ['bad-descriptors', 'Bad file descriptor'],
    ] as const) {
      const prepared = await prepare(
        scenario(mode)
          .until('stopped')
          .node({ name: 'hostile', guest: 'hostile', args: [mode] }),
        ['hostile'],
      );
      const { consoles } = simulate(prepared, 1);
      const lines = (consoles.hostile ?? '').trim().split('\n');
      expect(lines.length).toBeGreaterThan(7);
      expect(lines.filter((line) => !line.endsWith(`: ${error}`))).toEqual([]);
    }
  });

  it.each(['loop', 'spin-clock'])(
    'hostile: %s runs into the budget of virtual time',
    async (mode) => {
      const prepared = await prepare(
        scenario(mode)
          .limits({ virtual_time: '20ms' })
          .node({ name: 'hostile', guest: 'hostile', args: [mode] }),
        ['hostile'],
      );
      const { result } = simulate(prepared, 1);
      expect(result).toMatchObject({ verdict: 'inconclusive', reason: 'virtual-time' });
      expect(result.nodes[0]?.status).toBe('running');
    },
  );
});
