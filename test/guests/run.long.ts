import { beforeAll, describe, expect, it } from 'vitest';
import { ensureToolchains } from '../../guests/index.ts';
import { scenario } from '../../scenarios/index.ts';
import { prepare, simulate, type Outcome, type Prepared } from './simulate.ts';

beforeAll(async () => {
  await ensureToolchains(['go', 'rust']);
});

/** Runs a seed twice and answers the first run, once both are the same. */
function repeated(prepared: Prepared, seed: number): Outcome {
  const first = simulate(prepared, seed);
  expect(simulate(prepared, seed).identity).toBe(first.identity);
  return first;
}

function alone(guest: string, args: readonly string[]): Promise<Prepared> {
  return prepare(
    scenario(guest)
      .until('stopped')
      .node({ name: 'node', guest, args: [...args] }),
    [guest],
  );
}

const SERVERS = ['alpha', 'beta', 'gamma'];

/** Three servers and a client; the servers keep their copies in `directory`, or in memory. */
function register(name: string, pauseMs: number, directory: readonly string[]) {
  const builder = scenario(name)
    .until('property')
    .network({ latency: '5ms', jitter: '2ms' })
    .limits({ virtual_time: '120s' });
  for (const server of SERVERS) {
    builder.node({
      name: server,
      guest: 'gohttp',
      args: ['server', server, ':80', ...directory],
    });
  }
  return builder
    .node({
      name: 'client',
      guest: 'gohttp',
      args: ['client', '20', String(pauseMs), ...SERVERS.map((server) => `${server}:80`)],
    })
    .property({ name: 'client-ends-well', kind: 'exit', nodes: ['client'], code: 0 });
}

describe('a stock Go program with net/http', () => {
  it('survives a partition, its healing, and a crashed server', async () => {
    const prepared = await prepare(
      register('register', 50, ['/data'])
        .event({
          name: 'part',
          do: 'partition',
          at: '300ms',
          within: '200ms',
          groups: [
            ['client', 'alpha'],
            ['beta', 'gamma'],
          ],
        })
        .event({ name: 'heal', do: 'heal', at: '1500ms' })
        .event({ name: 'crash', do: 'crash', at: '1800ms', within: '100ms', one_of: SERVERS })
        .event({ name: 'restart', do: 'restart', at: '2500ms' }),
      ['gohttp'],
    );
    const run = repeated(prepared, 7);
    expect(run.result.verdict).toBe('pass');
    expect(run.consoles.client).toMatch(/^acknowledged \d+ after ([2-9]|\d\d+) tries$/m);
    expect(run.consoles.client).toMatch(/^ok: 20 writes, [1-9]\d* failed requests$/m);
    expect(run.result.nodes.filter((node) => node.lives === 2)).toHaveLength(1);
  });

  it('loses acknowledged writes when its servers keep them in memory and crash', async () => {
    const builder = register('forgetful', 0, []);
    // The client reads about half of the time; a read that meets the empty servers is the finding.
    for (const node of SERVERS) {
      builder.event({ name: `crash-${node}`, do: 'crash', at: '300ms', node });
    }
    builder.event({ name: 'restart', do: 'restart', at: '400ms' });
    const prepared = await prepare(builder, ['gohttp']);
    const runs = [1, 2, 3, 4, 5, 6].map((seed) => simulate(prepared, seed));
    const lost = runs.filter((run) => /^LOST: /m.test(run.consoles.client ?? ''));
    expect(lost.length).toBeGreaterThan(0);
    for (const run of lost) expect(run.result.verdict).toBe('fail');
  });

  it('its runtime does the same twice: goroutines, timers, map order', async () => {
    const prepared = await alone('gohello', ['4', '20']);
    const run = repeated(prepared, 1);
    expect(run.consoles.node).toMatch(/^digest 8485817793a18600$/m);
    expect(run.consoles.node).toMatch(/^tick 3 after 90 ms\ndeadline after 100 ms\nok$/m);
  });
});

/** A bank that loses power twice, at any time within its work. */
function bank(synchronous: string): Promise<Prepared> {
  return prepare(
    scenario('bank')
      .node({
        name: 'bank',
        guest: 'sqlite',
        args: ['transactions', '/bank.db', '300', synchronous],
      })
      .event({ name: 'crash-1', do: 'crash', at: '1ms', within: '9ms', node: 'bank' })
      .event({ name: 'restart-1', do: 'restart', at: '20ms', node: 'bank' })
      .event({ name: 'crash-2', do: 'crash', at: '21ms', within: '9ms', node: 'bank' })
      .event({ name: 'restart-2', do: 'restart', at: '40ms', node: 'bank' }),
    ['sqlite'],
  );
}

/** How many restarts found less than had been committed; the bank itself must always be whole. */
function lostCommits(run: Outcome): number {
  const lines = (run.consoles.bank ?? '').trim().split('\n');
  let [committed, lost] = [0, 0];
  for (const line of lines) {
    const [what, count] = line.split(': ');
    if (what === 'transfers found' && Number(count) < committed) lost++;
    if (what === 'committed') committed = Number(count);
  }
  expect(lines.at(-1)).toMatch(/^ok: 300 transfers, digest \d+$/);
  expect(run.result.nodes[0]).toMatchObject({ status: 'exited', code: 0, lives: 3 });
  return lost;
}

describe('SQLite', () => {
  it('keeps every committed transaction over the loss of power at any time', async () => {
    const prepared = await bank('EXTRA');
    expect(lostCommits(repeated(prepared, 0))).toBe(0);
    for (let seed = 1; seed < 40; seed++) expect(lostCommits(simulate(prepared, seed))).toBe(0);
  });

  it('may lose the last one at a lower level, as its documentation says', async () => {
    const prepared = await bank('FULL');
    let lost = 0;
    for (let seed = 0; seed < 40; seed++) lost += lostCommits(simulate(prepared, seed));
    expect(lost).toBeGreaterThan(0);
  });
});

describe('other languages', () => {
  it('Rust over TCP', async () => {
    const prepared = await prepare(
      scenario('calculator')
        .until('stopped')
        .network({ latency: '1ms', loss: '2%' })
        .node({ name: 'server', guest: 'rusttcp', args: ['server', '0.0.0.0:9', '1'] })
        .node({ name: 'client', guest: 'rusttcp', args: ['client', 'server:9', '30'] }),
      ['rusttcp'],
    );
    const run = repeated(prepared, 3);
    expect(run.consoles.client).toMatch(/^ok: 30 answers in \d+ us$/m);
    expect(run.consoles.server).toMatch(/"(add|mul)": 15/);
    expect(run.result.verdict).toBe('pass');
  });

  it('AssemblyScript', async () => {
    const run = repeated(await alone('assemblyscript', []), 1);
    expect(run.consoles.node).toContain('primes 9592, last 99991\nprime number 999\n');
    expect(run.consoles.node).toContain('time has not gone back\n');
  });

  it('C as a preview 2 component says what it says as a module', async () => {
    const [module, component] = [
      repeated(await alone('hello', ['/', '0']), 1),
      repeated(await alone('hello-component', ['/', '0']), 1),
    ];
    const facts = (run: Outcome): string[] => {
      const lines = (run.consoles.node ?? '').split('\n');
      return lines.filter((line) => !/^(realtime|monotonic|after)/.test(line)).sort();
    };
    expect(facts(component)).toEqual(facts(module));
  });

  it('JavaScript as a preview 2 command', async () => {
    const run = repeated(await alone('js-command', ['a', 'b']), 1);
    expect(run.consoles.node).toMatch(/^arguments \["node","a","b"\]$/m);
    expect(run.consoles.node).toMatch(/^slept 3 times, 75\d ms$/m);
    expect(run.consoles.node).toMatch(/^date 2026-01-01T00:00:00\.7/m);
    expect(run.consoles.node).toMatch(/^ok$/m);
  });
});
