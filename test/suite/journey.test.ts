import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { packageRoot } from '../../scenarios/index.ts';

/** A user's first hour, by the command as it is installed, in folders that have nothing else. */
const folders: string[] = [];
const MAIN = join(packageRoot(), 'dist', 'cli', 'main.js');

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'my first suite-'));
  folders.push(path);
  return path;
}

afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true });
});

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs what somebody pastes into a shell. */
function paste(line: string, cwd: string): Promise<Ended> {
  const { PATH, HOME } = process.env;
  const options = { cwd, env: { PATH, HOME, NO_COLOR: '1' }, timeout: 100_000 };
  return new Promise((resolve) => {
    execFile('sh', ['-c', line], options, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const sim = (args: string, cwd: string): Promise<Ended> => paste(`node '${MAIN}' ${args}`, cwd);

/** The commands that a failing leaf prints. */
function printed({ stdout }: Ended): readonly string[] {
  return [...stdout.matchAll(/^ {4}(node .*)$/gm)].map((match) => match[1] ?? '');
}

const SPEC = `import { assertEqual, choose, connect, listen, service, test } from 'athanor/spec';

const bank = service('bank', {
  body: async () => {
    const server = listen(7000);
    for (let paid = 0; ; ) {
      const peer = await server.accept();
      if ((await peer.receiveText()) === 'pay') paid++;
      await peer.send(String(paid));
    }
  },
});

test("it's paid once", async () => {
  const tries: number = choose('tries', [1, 2]);
  let said: string | null = null;
  for (let n = 0; n < tries; n++) {
    const peer = await connect(bank, 7000);
    await peer.send('pay');
    said = await peer.receiveText();
  }
  assertEqual(said, '1');
});
`;

it('FB-59: every command that is printed on the way can be pasted, wherever one stands', async () => {
  const home = folder();
  writeFileSync(join(home, 'my shop.sim.ts'), SPEC);
  const planned = await sim(`plan 'my shop.sim.ts' --coverage --format table`, home);
  expect([planned.exitCode, planned.stdout]).toEqual([0, expect.stringContaining('Total: 2 plan')]);
  expect(planned.stdout).toContain('no service depends on another: there is nothing to cover');

  const tested = await sim(`test 'my shop.sim.ts' --seed 3 --format table`, home);
  expect([tested.exitCode, tested.stderr]).toEqual([1, '']);
  expect(tested.stdout).toContain(
    '    AssertionError: expected 1, got 2\n        at body (my shop.sim.ts:22:',
  );
  const commands = printed(tested);
  expect(commands.map((line) => line.slice(line.indexOf('main.js')))).toEqual([
    `main.js test 'my shop.sim.ts' --test 'it'\\''s paid once' --leaf 1 --seed 3`,
    expect.stringMatching(/^main\.js replay \.athanor\/runs\/it-s-paid-once-seed3-\w+\.athanor$/),
  ]);
  const ends = await Promise.all(commands.map((line) => paste(line, home)));
  expect(ends.map(({ exitCode }) => exitCode)).toEqual([1, 0]);

  // A colleague has the bundle and nothing else.
  const away = folder();
  const [bundle = ''] = readdirSync(join(home, '.athanor', 'runs'));
  copyFileSync(join(home, '.athanor', 'runs', bundle), join(away, 'from a friend.athanor'));
  const other = await sim(`replay 'from a friend.athanor' --leaf 1 --format table`, away);
  expect(other.exitCode, other.stderr).toBe(1);
  const again = await Promise.all(printed(other).map((line) => paste(line, away)));
  expect(again.map(({ exitCode }) => exitCode)).toEqual([1, 0]);

  const report = await sim(`report 'from a friend.athanor' --out r.html`, away);
  expect([report.exitCode, report.stderr]).toEqual([0, '']);
  const page = readFileSync(join(away, 'r.html'), 'utf8');
  expect(page).toContain("replay 'from a friend.athanor'");
}, 240_000);
