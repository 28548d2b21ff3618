import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as words from '../../scenarios/spec/words.ts';
import { SimFolder, type SimResult } from '../cli/sim.ts';

const folder = new SimFolder();

function sim(command: string, text: string, more: readonly string[] = []): Promise<SimResult> {
  folder.write('s.sim.ts', text);
  return folder.sim([command, 's.sim.ts', '--format', 'jsonl', ...more]);
}

const MISTYPED = `import { choose, test } from 'athanor/spec';
throw new Error('the spec ran');
test('t', () => {
  const n: string = choose('n', [1, 2]);
});
test('u', () => { undeclared(); });
`;

describe('the types of specs', () => {
  it('refuses a spec with type errors before anything runs, with the place of the first', async () => {
    const { exitCode, stdout, stderr } = await sim('test', MISTYPED);
    expect([exitCode, stdout]).toEqual([5, '']);
    expect(JSON.parse(stderr)).toMatchObject({
      code: 'scenario/spec-type',
      message: expect.stringMatching(
        /^Type '.*' is not assignable to type 'string'.* \(and 1 more\)$/,
      ) as string,
      place: 's.sim.ts:4:9',
      remedy: expect.stringMatching(/./) as string,
    });
  });

  it('plans such a spec, and runs it when told to', async () => {
    const text = MISTYPED.replace(/throw.*/, '');
    expect((await sim('plan', text)).exitCode).toBe(0);
    const { records } = await sim('test', text, ['--no-types', '--test', 't']);
    expect(records().filter(({ type }) => type === 'leaf')).toHaveLength(2);
  });

  it('checks the files that a spec imports', async () => {
    writeFileSync(join(folder.path, 'own.ts'), 'export const SIZE: number = "a";\n');
    const { stderr } = await sim(
      'test',
      `import { test } from 'athanor/spec';
      import { SIZE } from './own.ts';
      test('t', () => { console.log(SIZE); });`,
    );
    expect(JSON.parse(stderr)).toMatchObject({ code: 'scenario/spec-type', place: 'own.ts:1:14' });
  });

  it('knows what bodies have, and nothing of the host', async () => {
    const uses = (body: string): Promise<SimResult> => {
      return sim(
        'test',
        `import { test } from 'athanor/spec';\ntest('t', async () => { ${body} });`,
      );
    };
    const own = await uses(`
      const id = setTimeout((word: string) => console.log(word), 1, 'a');
      clearTimeout(id);
      const bytes = crypto.getRandomValues(new Uint8Array(4));
      console.log(bytes.length, performance.now(), new Date().getFullYear(), crypto.randomUUID());`);
    expect([own.exitCode, own.stderr]).toEqual([0, '']);
    for (const host of ['process', 'Buffer', 'require', 'document']) {
      expect((await uses(`console.log(${host});`)).stderr).toContain('scenario/spec-type');
    }
  });

  it('gives branches the types of what they end with', async () => {
    const { exitCode, stderr, stdout } = await sim(
      'test',
      `import { assert, assertEqual, choose, connect, faultAssumption, faultMatrix, listen, parallel, scenario, service,
        sleep, test, waitAll, waitFirst, waitN } from 'athanor/spec';
      const echo = service('echo', { ports: { main: 7000, admin: { protocol: 'http' } }, body: async () => {
        const peer = await listen(7000).accept();
        await peer.send((await peer.receive()) ?? '');
      } });
      const down = faultAssumption('down', { target: echo, rules: [{ do: 'isolate', node: 'echo', at: '9s' }] });
      const talk = scenario('talk', { timeout: '10s' }, async () => {
        const peer = await connect(echo, 7000);
        await peer.send('a');
        const text: string | null = await peer.receiveText();
        assertEqual(text, 'a');
      });
      faultMatrix({ scenarios: [talk], faults: [down], overrides: [{ scenario: talk, fault: down, expect: 'passes' }] });
      test('t', { timeout: '5s' }, async () => {
        const word: 'a' | 'b' = choose('word', ['a', 'b']);
        const both: [string, number] = await waitAll(async () => word, () => 1);
        const first: string | number = await waitFirst(() => 1, sleep(5).then(() => 'x'));
        const some: number[] = await waitN(1, () => 1, async () => 2);
        const orders: [number, string] = await parallel(() => 1, async () => 'b', { interleavings: 'all' });
        assert(both[1] + some.length + orders[0] === 3 && first === 1);
      });`,
    );
    expect([exitCode, stderr], stdout).toEqual([0, '']);
  });

  it('offers every word of the realm, and says who runs specs', async () => {
    folder.write(
      's.sim.ts',
      `import * as words from 'athanor/spec';
      words.test('t', () => { throw new Error(Object.keys(words).sort().filter((word) => word !== 'default').join(' ')); });`,
    );
    const { stdout } = await folder.sim(['test', 's.sim.ts', '--format', 'jsonl']);
    const names = Object.keys(words).sort();
    expect(stdout).toContain(`Error: ${names.join(' ')}\\n`);
    for (const word of Object.values(words) as readonly unknown[] as readonly (() => unknown)[]) {
      expect(word).toThrow(expect.objectContaining({ code: 'usage/spec' }));
    }
  });
});
