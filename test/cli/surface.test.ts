import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { completionScript, SHELLS } from '../../cli/completion-scripts.ts';
import { COMMANDS, longName, type CommandSpec } from '../../cli/options.ts';
import { progressLine } from '../../cli/progress.ts';
import { commandReference } from '../../cli/reference.ts';
import { printable } from '../../cli/timeline.ts';
import { helloToml, SimFolder } from './sim.ts';

describe('the command line', () => {
  it('CR-45: global options stand before or after the command', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml());
    const global = ['--seed', '7', '--format', 'jsonl', '--artifact-dir', 'art', '--quiet'];
    const before = await folder.sim([...global, 'run', 'hello.toml', '--out', 'x.athanor']);
    const after = await folder.sim(['run', 'hello.toml', '--out', 'x.athanor', ...global]);
    const between = await folder.sim(['run', ...global, 'hello.toml', '--out', 'x.athanor']);
    expect(before.exitCode).toBe(0);
    expect(before.records().at(-1)).toMatchObject({ seed: 7, bundle: 'x.athanor' });
    expect(after.stdout).toBe(before.stdout);
    expect(between.stdout).toBe(before.stdout);
    const nested = await folder.sim(['--format', 'jsonl', 'guest', 'explain', 'hello.toml']);
    expect(nested.records()[0]).toMatchObject({ type: 'guest' });
  });

  it('CR-46: a table on a terminal, records otherwise; --format wins', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 7 }));
    const run = ['run', 'hello.toml'];
    expect((await folder.sim(run, { terminal: true })).stdout).toContain('Seed: 7 (scenario)');
    expect((await folder.sim(run)).records()[0]).toMatchObject({
      schema_version: 1,
      type: 'start',
    });
    const forced = await folder.sim([...run, '--format', 'jsonl'], { terminal: true });
    expect(forced.records()[0]).toMatchObject({ type: 'start' });
    const one = await folder.sim([...run, '--format', 'json']);
    expect(JSON.parse(one.stdout)).toMatchObject({ schema_version: 1, command: 'run' });
    expect((await folder.sim([...run, '--format', 'markdown'])).exitCode).toBe(64);
  });

  it('NO_COLOR, --quiet and pipes take the colours and the words away', async () => {
    const folder = new SimFolder();
    folder.write('hello.toml', helloToml({ seed: 7 }));
    const escape = String.fromCharCode(27);
    const colored = await folder.sim(['run', 'hello.toml'], {
      terminal: true,
      env: { NO_COLOR: '' },
    });
    expect(colored.stdout).toContain(`${escape}[`);
    const plain = await folder.sim(['run', 'hello.toml'], { terminal: true });
    expect(plain.stdout).not.toContain(escape);
    const quiet = await folder.sim(['run', 'hello.toml', '-q'], { terminal: true });
    expect(quiet.stdout).toBe('');
  });

  it.each([
    [['frob'], "unknown command 'frob'"],
    [['run', '--frob'], "unknown option '--frob'"],
    [['run', '--jbos', '2'], '(Did you mean --jobs?)'],
    [['run', 'a', 'b'], 'too many arguments'],
    [['replay'], "missing required argument 'bundle'"],
    [['run', '--runs', 'many'], 'It is not a whole number'],
    [['run', '--runs', '-1'], 'It is not a whole number'],
    [['run', '--seed', '1.5'], 'It is not a whole number'],
    [['run', '--seed', '9007199254740992'], 'It is not a whole number'],
    [['run', '--until', 'doomsday'], 'Allowed choices are quiescence'],
    [['run', '--backend', 'qemu'], 'Allowed choices are wasm'],
    [['run', '--out', ''], 'It is empty'],
    [['verify', 'a', 'b', 'c'], 'too many arguments'],
    [['completions', 'tcsh'], '"tcsh" is no shell'],
    [['guest', 'frob'], "unknown command 'frob'"],
  ])('CR-48: %j is a usage error, exit 64', async (args, why) => {
    const { exitCode, stdout, stderr } = await new SimFolder().sim(args);
    expect([exitCode, stdout]).toEqual([64, '']);
    expect(stderr).toMatch(/^error usage/);
    expect(stderr).toContain(why);
  });

  it.each<[number, string, string[]]>([
    [0, 'a run that passes', ['run', 'good.toml']],
    [1, 'a failed property', ['run', 'bad.toml']],
    [2, 'a used-up budget', ['run', 'good.toml', '--max-quanta', '1']],
    [3, 'a boundary that never comes', ['save', 'good.toml', '--at', 'console=xyz']],
    [5, 'a scenario that is none', ['run', 'junk.toml']],
    [5, 'a missing scenario', ['run', 'missing.toml']],
    [5, 'a missing bundle', ['replay', 'missing.athanor']],
    [5, 'a bundle that is none', ['replay', 'junk.toml']],
    [5, 'a guest that is refused', ['guest', 'explain', 'junk.toml']],
    [5, 'an unknown guest', ['guest', 'build', 'nobody']],
    [5, 'an id that the store lacks', ['run', '0'.repeat(64)]],
    [64, 'a usage error', ['run', '--frob']],
  ])('CR-48: exit code %i for %s', async (expected, _name, args) => {
    const folder = new SimFolder();
    folder.write('good.toml', helloToml({ seed: 1 }));
    folder.write('bad.toml', helloToml({ seed: 1, exitCode: 1 }));
    folder.write('junk.toml', 'this is no scenario');
    const { exitCode, stderr } = await folder.sim(args);
    expect(exitCode).toBe(expected);
    if (expected > 2 && args[1] !== 'explain') expect(stderr).toMatch(/^error /);
  });

  it('help and version succeed', async () => {
    const folder = new SimFolder();
    for (const args of [[], ['--help'], ['-h'], ['run', '--help'], ['guest', '-h']]) {
      const { exitCode, stdout } = await folder.sim(args);
      expect([exitCode, stdout.startsWith('Usage: sim')]).toEqual([0, true]);
    }
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    for (const flag of ['-V', '--version']) {
      const { exitCode, stdout } = await folder.sim([flag]);
      expect([exitCode, stdout]).toEqual([0, `${version}\n`]);
    }
  });

  it('CR-3: docs/cli.md has the reference that the table of options makes', () => {
    const page = readFileSync('docs/cli.md', 'utf8');
    expect(page.slice(page.indexOf('### Options of every command'))).toBe(commandReference());
  });
});

describe('completions', () => {
  it.each(SHELLS)('CR-44: %s knows every command and option', async (shell) => {
    const { exitCode, stdout } = await new SimFolder().sim(['completions', shell]);
    expect([exitCode, stdout]).toEqual([0, completionScript(shell)]);
    for (const [name, spec] of Object.entries(COMMANDS) as [string, CommandSpec][]) {
      expect(stdout).toContain(name.split(' ').at(-1));
      for (const key of Object.keys(spec.options)) expect(stdout).toContain(longName(key));
    }
  });

  it('CR-44: bash completes commands, options, choices and scenarios', () => {
    const complete = (line: string): string[] => {
      const words = line.split(' ');
      const script = `${completionScript('bash')}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
cd /; _sim; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const output = execFileSync('bash', ['-c', script], { encoding: 'utf8' });
      return output.split('\n').filter((word) => word !== '');
    };
    expect(complete('sim ver')).toEqual(['verify']);
    expect(complete('sim run --max-')).toEqual(['--max-virtual-time', '--max-quanta']);
    expect(complete('sim run --until pro')).toEqual(['property']);
    expect(complete('sim run crash')).toEqual(['crash-restart']);
    expect(complete('sim guest ex')).toEqual(['explain']);
    expect(complete('sim --format json')).toEqual(['jsonl', 'json']);
  });
});

describe('small things', () => {
  it('progress says how far, how fast, and how long still', () => {
    expect(progressLine({ done: 50, total: 200, elapsedMs: 2_000, note: '3 not passed' })).toBe(
      '[######------------------] 50/200  25.0/s  6s left  3 not passed',
    );
    expect(progressLine({ done: 0, total: 10, elapsedMs: 0, note: '' })).toBe(
      '[------------------------] 0/10  0.0/s  time left unknown',
    );
  });

  it('a guest’s text does not steer the terminal', () => {
    expect(printable('a\u001b[2Jb\tc\u0000\u009b\u2028')).toBe('a\\x1b[2Jb    c\\x00\\x9b\\x2028');
  });

  it('sim doctor finds a sound computer sound', async () => {
    const { exitCode, stdout } = await new SimFolder().sim(['doctor', '--format', 'table']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('ok  a tiny run, twice     equal byte for byte');
  });

  it('CR-49: the backend is the flag’s, else the environment’s, else the packaged one', async () => {
    const folder = new SimFolder();
    const name = async (args: readonly string[], value: string): Promise<unknown> => {
      const env = { ATHANOR_BACKEND: value, PATH: '/nowhere' };
      const result = await folder.sim(['doctor', ...args, '--format', 'jsonl'], { env });
      if (result.exitCode !== 0) return [result.exitCode, /backend\/\w+/.exec(result.stderr)?.[0]];
      return result.records().find(({ type }) => type === 'engine')?.['backend'];
    };
    expect(await name([], '')).toBe('wasm');
    expect(await name([], 'wasm')).toBe('wasm');
    expect(await name([], 'qemu')).toEqual([4, 'backend/unknown']);
    expect(await name(['--backend', 'wasm'], 'qemu')).toBe('wasm');
  });

  it('sim doctor says what is wrong, exit 4', async () => {
    const folder = new SimFolder();
    folder.write('file', '');
    const args = ['doctor', '--artifact-dir', join('file', 'x'), '--format', 'table'];
    const { exitCode, stdout, stderr } = await folder.sim(args);
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/^bad {2}artefact folder/m);
    expect(stderr).toContain(
      'error backend/doctor: this computer cannot run simulations: artefact',
    );
  });
});

describe('sim guest', () => {
  it('explains a module: imports, features, and what is refused', async () => {
    const folder = new SimFolder();
    folder.write('hello.wasm', readFileSync('guests/built/hello.wasm'));
    const { exitCode, stdout } = await folder.sim([
      'guest',
      'explain',
      'hello.wasm',
      '--format',
      'table',
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('function wasi_snapshot_preview1.random_get (i32, i32) -> (i32)');
    expect(stdout).toMatch(/\naccepted\n$/);
    folder.write('cut.wasm', readFileSync('guests/built/hello.wasm').subarray(0, 900));
    const cut = await folder.sim(['guest', 'explain', 'cut.wasm', '--format', 'table']);
    expect(cut.exitCode).toBe(5);
    expect(cut.stdout).toMatch(/\nrefused {2}guest\/[a-z-]+: .*\n {2}at: /);
  });

  it('writes the instrumented module', async () => {
    const folder = new SimFolder();
    folder.write('hello.wasm', readFileSync('guests/built/hello.wasm'));
    expect((await folder.sim(['guest', 'instrument', 'hello.wasm'])).exitCode).toBe(0);
    const made = folder.read('hello.instrumented.wasm');
    expect(WebAssembly.validate(made)).toBe(true);
    expect(made.length).toBeGreaterThan(folder.read('hello.wasm').length);
  });

  it('builds a guest by name', async () => {
    const folder = new SimFolder();
    const { exitCode } = await folder.sim(['guest', 'build', 'hello', '--out', 'h.wasm']);
    expect(exitCode).toBe(0);
    expect(folder.read('h.wasm').equals(readFileSync('guests/built/hello.wasm'))).toBe(true);
  });
});
