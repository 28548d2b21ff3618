import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { smallImage } from '../../bench/machine-image.ts';
import { genericKernel } from '../support/generic-kernel.ts';
import { machineCache, testBackend } from '../support/machine-fixture.ts';
import { lineOf, MachineFolder, type Ended, type SimRecord } from './machine-folder.ts';

const PROGRAM = new URL('../support/machine-faults.c', import.meta.url).pathname;
const COMMAND_LINE = 'console=ttyS0 quiet panic=-1 reboot=t rdinit=/init cryptomgr.notests';

/** Machines of Debian's kernel for clouds, and of the one for any computer. */
const GUESTS = `
[network]
topology = "none"

[guest.cloud.machine]
kernel = "kernel"
initrd = "initrd"
memory_mib = 96
command_line = "${COMMAND_LINE}"

[guest.generic.machine]
kernel = "generic"
initrd = "initrd"
memory_mib = 192
command_line = "${COMMAND_LINE}"
`;

const node = (name: string, guest: string, ...args: readonly string[]): string => {
  return `[[node]]\nname = "${name}"\nguest = "${guest}"\nargs = ${JSON.stringify(args)}\n`;
};

/** In the memory that the program watches. */
const FLIP = 'do = "flip"\ntarget = "memory"\naddress = 0x5000000\nbytes = 0x100000';

const event = (name: string, at: string, keys: string): string => {
  return `[[event]]\nname = "${name}"\nat = "${at}"\n${keys}\n`;
};

/** What programs can tell of. */
const TOLD = [
  'schema_version = 1\nname = "told"\nuntil = "stopped"\nlimits = { virtual_time = "20s" }',
  GUESTS,
  node('memory', 'cloud', 'DO=memory', 'mem=80M'),
  node('storm', 'cloud', 'DO=storm'),
  event('one bit', '900ms', `${FLIP}\nnode = "memory"`),
  event('two bits', '1100ms', `${FLIP}\nnode = "memory"\nbits = 2`),
  event('storm', '1500ms', 'do = "storm"\nnode = "storm"\ncount = 200\ngap = "100us"'),
].join('\n');

/** Machine checks, of a kernel that handles them and of one that does not. */
const CHECKS = [
  'schema_version = 1\nname = "checks"\nuntil = "stopped"\nlimits = { virtual_time = "20s" }',
  GUESTS,
  node('handled', 'generic', 'DO=check'),
  node('unhandled', 'cloud', 'DO=storm'),
  event('corrected', '6s', 'do = "machine-check"\nnode = "handled"\ncorrected = true'),
  event('lost', '7500ms', 'do = "machine-check"\nnode = "handled"\naddress = 0x1234560'),
  event('unhandled', '700ms', 'do = "machine-check"\nnode = "unhandled"'),
].join('\n');

/** Registers of a kernel and a program that compute: what becomes of them is theirs to say. */
const REGISTERS = [
  'schema_version = 1\nname = "registers"\nuntil = "stopped"\nlimits = { virtual_time = "4s" }',
  GUESTS,
  node('busy', 'cloud', 'DO=busy'),
  event(
    'r',
    '700ms',
    'do = "flip"\ntarget = "register"\nnode = "busy"\nwithin = "400ms"\nevery = "50ms"',
  ),
].join('\n');

/** All that a run's result tells of its course. */
function course({ records }: Ended): readonly unknown[] {
  const keys = ['verdict', 'end_ns', 'quanta', 'decision_chain', 'event_chain', 'last_draw'];
  return keys.map((key) => records.at(-1)?.[key]);
}

/** The word of eight bytes with these bits. */
function wordOf(bits: string): string {
  const mask = bits.split(', ').reduce((sum, bit) => sum | (1n << BigInt(bit)), 0n);
  return mask.toString(16).padStart(16, '0');
}

describe("CR-86: faults inside machines of Debian's kernels", { timeout: 300_000 }, () => {
  const folder = new MachineFolder();
  const path = (name: string): string => join(folder.path, name);
  let whole: readonly unknown[] = [];
  beforeAll(async () => {
    await testBackend();
    const { kernel, initrd } = smallImage(machineCache, PROGRAM);
    copyFileSync(kernel, path('kernel'));
    copyFileSync(initrd, path('initrd'));
    copyFileSync(genericKernel(machineCache), path('generic'));
    writeFileSync(path('told.toml'), TOLD);
    writeFileSync(path('checks.toml'), CHECKS);
    writeFileSync(path('registers.toml'), REGISTERS);
  }, 300_000);
  afterAll(() => {
    folder.remove();
  });

  const events = async (bundle: string): Promise<readonly SimRecord[]> => {
    const listed = await folder.sim('inspect', bundle, '--events', '--limit', '0');
    return listed.records.filter(({ type }) => type === 'event');
  };

  const repeats = async (bundle: string): Promise<void> => {
    const replayed = await folder.sim('replay', bundle, '--check', 'log');
    expect([replayed.exitCode, replayed.errors]).toEqual([0, '']);
  };

  it('CR-13: flips and storms are seen by programs as the log tells them, and replay', async () => {
    const ended = await folder.sim(...['run', 'told.toml', '--seed', '1', '--full', '--out', 'a']);
    expect([ended.exitCode, ended.errors]).toEqual([0, '']);
    const texts = ended.records.flatMap(({ type, node: of, text }) => {
      return type === 'timeline' && of === 'memory' ? [String(text)] : [];
    });
    const flips = texts.flatMap((text) => {
      const found = /^bits? ([\d, ]+) of the word at (0x\w+) flipped$/.exec(text);
      return found === null ? [] : [`${found[2] ?? ''} has 0x${wordOf(found[1] ?? '')}`];
    });
    expect(flips.length).toBe(2);
    expect(texts.filter((text) => text.includes(' has 0x'))).toEqual(flips);
    expect(lineOf(ended, 'storm', /^of the serial port: 200$/)).not.toBe(null);
    const kinds = (await events('a')).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'memory/flip').length).toBe(3);
    expect(kinds.filter((kind) => kind === 'machine/storm').length).toBe(1);
    whole = course(ended);
    await repeats('a');
  });

  it('CR-111: and go on from a savepoint in the middle of a storm as if there were none', async () => {
    const at = 'virtual-time=1510ms';
    const saved = await folder.sim(
      ...['save', 'told.toml', '--seed', '1', '--at', at, '--out', 's'],
    );
    expect([saved.exitCode, saved.errors]).toEqual([0, '']);
    const resumed = await folder.sim(...['resume', 's', '--full', '--out', 'c']);
    expect(course(resumed)).toEqual(whole);
    expect(lineOf(resumed, 'storm', /^of the serial port: 200$/)).not.toBe(null);
  });

  it('machine checks are logged, or a panic; or a new start where nobody handles them', async () => {
    const ended = await folder.sim(
      ...['run', 'checks.toml', '--seed', '1', '--full', '--out', 'f'],
    );
    expect([ended.exitCode, ended.errors]).toEqual([1, '']);
    const said = (of: string, pattern: RegExp): void => {
      expect([of, pattern, lineOf(ended, of, pattern)?.length]).toEqual([of, pattern, 1]);
    };
    said('handled', /^looking: each second$/);
    said('handled', /Hardware Error.* Machine Check: 0 Bank 0: 9400400000000833/);
    said('handled', /Hardware Error.* Machine Check Exception: 6 Bank 0: b600200000000833/);
    said('handled', /Hardware Error.* ADDR 1234560 /);
    said('handled', /Kernel panic - not syncing: Fatal .*machine check/i);
    said('unhandled', /^of the serial port: \d+$/);
    const resets = (await events('f')).filter(({ kind }) => kind === 'machine/reset');
    expect(resets.length).toBe(1);
    await repeats('f');
  });

  it('in registers are the same each time, whatever becomes of the guest', async () => {
    const ended = await folder.sim(...['run', 'registers.toml', '--seed', '3', '--out', 'r']);
    expect(ended.errors).toBe('');
    const flips = (await events('r')).filter(({ kind }) => kind === 'register/flip');
    expect(flips.length).toBeGreaterThan(0);
    await repeats('r');
  });
});
