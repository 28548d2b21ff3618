import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS, GLOBAL_OPTIONS, longName, type CommandSpec } from '../../cli/options.ts';
import { SimFolder, type SimResult } from '../cli/sim.ts';
import { ToolClient, readState } from '../record/served.ts';
import { Page } from '../support/page.ts';

/** What pages of the documentation show is run here, block by block. */
const WORDS = 'assertEqual, choose, connect, faultServer, listen, parallel, service, sleep, test';

/** The lines of a block behind its commands: `...` stands for lines that are left out. */
function expectLines(stdout: string, shown: string): void {
  const [first = '', ...others] = shown.split('...\n');
  expect(stdout.slice(0, first.length)).toBe(first);
  for (const part of others) expect(stdout).toContain(part);
}

/** Runs the commands of a block, each a line with `$`; what stands behind the last is what it says. */
async function play(block: string, folder: SimFolder): Promise<SimResult> {
  const lines = block.split('\n');
  let result: SimResult | null = null;
  while ((lines[0] ?? '').startsWith('$ ')) {
    const [, , ...args] = (lines.shift() ?? '').split(' ');
    result = await folder.sim([...args, '--format', 'table']);
  }
  if (result === null) throw new Error(`no command in ${block}`);
  expectLines(result.stdout, lines.join('\n'));
  return result;
}

describe('docs/suites.md', () => {
  const page = new Page('docs/suites.md');
  const folder = new SimFolder();
  afterAll(() => expect(page.left()).toEqual([]));

  it('plans the spec that it shows, with the coverage that it shows', async () => {
    folder.write('shop.sim.ts', page.take('const checkout = scenario'));
    expect((await play(page.take('$ sim plan shop.sim.ts --coverage'), folder)).exitCode).toBe(0);
  });

  it('orders the steps of the branches that it shows, as it shows', async () => {
    const top = `const notes = async () => { const server = listen(7000);
      for (;;) { const peer = await server.accept(); await peer.receiveText(); } };
    const x = service('x', { body: notes });
    const y = service('y', { body: notes });
    const tell = async (to: typeof x, word: string) => { const peer = await connect(to, 7000); await peer.send(word); };`;
    const body = page.take('await parallel(');
    const text = `import { ${WORDS} } from 'athanor/spec';\n${top}\ntest('three words', async () => {\n${body}});`;
    folder.write('orders.sim.ts', text);
    const { stdout } = await folder.sim([
      'test',
      'orders.sim.ts',
      '--seed',
      '1',
      '--format',
      'table',
    ]);
    const [orders = '', ...leaves] = page.take('Orders: three words').split('...\n');
    expect(stdout).toContain(orders);
    expect(stdout).toContain(leaves.join(''));
  });

  const echo = page.take('const echo = service');

  it('runs the services and tests that it shows, and suggests from their runs what it shows', async () => {
    folder.write('echo.sim.ts', echo);
    expect((await play(page.take('$ sim test echo.sim.ts --seed 1'), folder)).exitCode).toBe(0);
    await play(page.take('--suggest --from runs.json'), folder);
  });

  it('tells of a leaf that fails as it shows, with commands that can be pasted', async () => {
    folder.write(
      'echo.sim.ts',
      echo.replace(`?? '')`, `?? '').slice(0, 1))`).replace('send((', 'send((('),
    );
    const { stdout } = await folder.sim([
      'test',
      'echo.sim.ts',
      '--seed',
      '1',
      '--format',
      'table',
    ]);
    const shown = page.take('✗ echoes [leaf 1]').replaceAll('npx sim', 'sim');
    // A bundle is called by its content, which any change of the engine changes.
    const unnamed = (text: string): string => text.replace(/-[0-9a-f]{8}\.athanor/g, '');
    expect(unnamed(stdout)).toContain(unnamed(shown));
    const commands = [...stdout.matchAll(/^ {4}sim (.*)$/gm)].map((match) => match[1] ?? '');
    const exits = await Promise.all(
      commands.map(async (each) => (await folder.sim(each.split(' '))).exitCode),
    );
    expect(exits).toEqual([1, 0]);
  });

  it('serves HTTP by the script that it shows', async () => {
    const script = page.take('faultServer({');
    const text = `import { ${WORDS} } from 'athanor/spec';
      service('real', { body: faultServer({ port: 8080, default: { body: 'real' } }) });
      ${script}
      test('as the script says', async () => {
        await sleep(5);
        const ask = async () => {
          try {
            const answer = await fetch('http://api/pay');
            return [answer.status, answer.headers['retry-after'] ?? '', await answer.text()].join(' ');
          } catch { return 'reset'; }
        };
        const all: string[] = [];
        for (let n = 0; n < 5; n++) all.push(await ask());
        assertEqual(all, ['503 1 ', '503 1 ', 'reset', '200  real', '404  ']);
      });`;
    folder.write('api.sim.ts', text);
    const { exitCode, stdout } = await folder.sim(['test', 'api.sim.ts', '--seed', '1']);
    expect(exitCode, stdout).toBe(0);
  });
});

describe('docs/record-worlds.md', () => {
  const page = new Page('docs/record-worlds.md');
  const folder = new SimFolder();
  // Compiled by test/record/compiled.long.ts.
  page.take('ATHANOR_HANDLER(issue_refund)');
  afterAll(() => expect(page.left()).toEqual([]));

  it('checks and serves the world that it shows, with the state that it shows', async () => {
    const world = page.take('name: shop');
    folder.write('shop.yaml', world);
    folder.write('shop.ts', page.take('export function issue_refund'));
    const [check = '', serve = ''] = page.take('sim world check').trim().split('\n');
    expect((await folder.sim(check.split(' ').slice(1))).exitCode).toBe(0);
    const args = serve
      .split(' ')
      .slice(3)
      .map((each) => {
        return /\.(yaml|json)$/.test(each) ? `${folder.path}/${each}` : each;
      });
    const client = await ToolClient.spawn(args);
    try {
      const answer = await client.call('issue_refund', { order: 1, amount_cents: 1 });
      expect(answer.isError).toBe(true);
      const state = readState(`${folder.path}/state.json`);
      expect(state).toMatchObject(JSON.parse(page.take('"schema_version":1')) as object);
    } finally {
      await client.close();
    }
    folder.write('shop.yaml', world.replace('total_cents: int', 'total_cents: integer'));
    const { stderr } = await folder.sim(['world', 'check', 'shop.yaml']);
    expect(stderr).toBe(page.take('"integer" is no type'));
    folder.write('shop.yaml', world);
  });

  it('runs the node and the model that it shows', async () => {
    folder.write('agent.mjs', page.take('export function* main'));
    const scenario = `schema_version = 1\nname = "page"\nuntil = "quiescence"\n${page.take('record = "shop.yaml"')}
[guest.agent]
model = "agent.mjs"
[[node]]
name = "agent"
guest = "agent"
`;
    folder.write('s.toml', scenario);
    const { exitCode, stdout } = await folder.sim([
      'run',
      's.toml',
      '--seed',
      '1',
      '--format',
      'table',
    ]);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/agent │ 200\n.*agent ■ exit 0/)]);
  });
});

/** The target that the plan of docs/drive.md has, as a model. */
const CHECKOUT = `export function* main({ args }) {
  let reply = { status: 0 };
  for (let attempt = 0; attempt < Number(args[1]) && reply.status !== 200; attempt++) {
    const refund = { order: 3, amount_cents: 1 };
    reply = yield { do: 'call', target: 'shop.issue_refund', args: refund, timeout_ms: 100, call: 1 };
  }
  const status = reply.status === 200 ? 'completed' : 'failed';
  yield { do: 'event', name: 'flow_status', details: { flow: 'refund-3', status } };
  return 0;
}
`;

describe('docs/drive.md', () => {
  const page = new Page('docs/drive.md');
  // Compiled by test/record/compiled.long.ts.
  page.take('sim_mark("log", "breaker_open"');
  afterAll(() => expect(page.left()).toEqual([]));

  it('drives a target under the plan that it shows, and ends as it shows', async () => {
    const folder = new SimFolder();
    const worlds = new Page('docs/record-worlds.md');
    folder.write('shop.yaml', worlds.take('name: shop'));
    folder.write('shop.ts', worlds.take('export function issue_refund'));
    folder.write('checkout.mjs', CHECKOUT);
    folder.write('plan.json', page.take('"target": "checkout.wasm"').replace('.wasm', '.mjs'));
    const { exitCode, stdout } = await folder.sim(['drive', 'plan.json', '--format', 'table']);
    expect([exitCode, stdout.split('\n')[0]]).toEqual([0, page.take('passed — ').trim()]);
    const repeat = /^repeat sim (.*)$/m.exec(stdout)?.[1] ?? '';
    expect((await folder.sim(repeat.split(' '))).exitCode).toBe(0);
  });
});

describe('commands within the text', () => {
  it.each(['suites', 'record-worlds', 'drive', 'vitest', 'report'])(
    'docs/%s.md names those that there are',
    (name) => {
      const unknown = new Page(`docs/${name}.md`).commands().filter((command) => {
        const words = command.split(' ').slice(1);
        const found = (Object.entries(COMMANDS) as [string, CommandSpec][]).find(([each]) => {
          return `${words.join(' ')} `.startsWith(`${each} `);
        });
        if (found === undefined) return true;
        const known = [...Object.keys(found[1].options), ...Object.keys(GLOBAL_OPTIONS)].map(
          longName,
        );
        return words.some((word) => word.startsWith('--') && !known.includes(word.slice(2)));
      });
      expect(unknown).toEqual([]);
    },
  );
});
