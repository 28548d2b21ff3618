import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testBackend } from '../support/machine-fixture.ts';
import { lineOf, MachineFolder, type Ended } from './machine-folder.ts';

const FRAMES = 20_000;
/** As many packets as a link carries at once (sim/network/link.ts). */
const LINK_PACKETS = 16_384;
/** Why a packet is dropped: its link is full (sim/network/drop.ts). */
const LINK_FULL = 6;

/** A machine that does what its node's arguments say. */
const VM = `main = """
case "$DO" in
  crash) echo 1 > /proc/sys/kernel/sysrq; echo c > /proc/sysrq-trigger ;;
  wait) sleep 1; dmesg | grep "NMI: PCI"; echo "went on" ;;
  again)
    if [ -e /data/once ]; then echo "once more, with $(cat /dev/vdb)"; exit 3; fi
    echo changed > /dev/vdb; touch /data/once; sync; busybox reboot -f ;;
  off)
    dd if=/dev/zero of=/data/full bs=64k count=64 conv=fsync
    echo "dd says $?"; echo "finds $(cat /dev/vdb)"; busybox poweroff -f ;;
  flood) /flood 10.0.0.2 1; sleep 3; /flood 10.0.0.2 $FRAMES ;;
esac
"""

[machine]
memory = "96MiB"

[disk]
size = "8MiB"

[files]
"/flood" = { source = "flood", mode = "0755" }
`;

const MACHINE = `[guest.linux.machine]
vm = "kernel.vm.toml"
command_line = "cryptomgr.notests"
`;

const node = (name: string, ...args: readonly string[]): string => {
  return `[[node]]\nname = "${name}"\nguest = "linux"\nargs = ${JSON.stringify(args)}\n`;
};
const interrupt = (name: string): string => {
  return `[[event]]\nname = "${name}"\nat = "1200ms"\ndo = "interrupt"\nnode = "${name}"\n`;
};

/** Kernels that panic: when they are asked to, and at an interrupt that nobody explains. */
const PANICS = [
  'schema_version = 1\nname = "panics"',
  MACHINE,
  node('asked', 'DO=crash'),
  node('struck', 'DO=wait', 'sysctl.kernel.panic_on_unrecovered_nmi=1', 'unknown_nmi_panic'),
  interrupt('struck'),
].join('\n');

/** Kernels that go on: after such an interrupt, after they start over, where a disk is full. */
const GOES_ON = [
  'schema_version = 1\nname = "goes on"',
  `${MACHINE}disks = [{ image = "user.img" }]`,
  node('shaken', 'DO=wait'),
  node('again', 'DO=again'),
  node('off', 'DO=off'),
  '[node.disk]\ncapacity = "3mib"',
  interrupt('shaken'),
].join('\n');

/** A machine that sends as fast as it can to one that does not listen, over a slow link. */
const FLOOD = [
  'schema_version = 1\nname = "flood"',
  MACHINE,
  '[guest.client]\nbuiltin = "echo-client"',
  node('flooding', 'DO=flood', `FRAMES=${FRAMES}`),
  '[[node]]\nname = "flooded"\nguest = "client"\nargs = ["flooding", "7", "1", "1"]',
  '[network]\nlatency = "1s"',
  '[limits]\nvirtual_time = "6s"\n',
].join('\n');

/** What became of the nodes: `trapped`, or the exit code. */
function endsOf({ records }: Ended): Readonly<Record<string, unknown>> {
  const nodes = records.filter(({ type }) => type === 'node');
  return Object.fromEntries(
    nodes.map(({ name, status, code }) => [String(name), status === 'exited' ? code : status]),
  );
}

describe("Debian's kernel on a machine of a scenario", { timeout: 600_000 }, () => {
  const folder = new MachineFolder();
  const path = (name: string): string => join(folder.path, name);
  beforeAll(async () => {
    await testBackend();
    const source = resolve('test', 'support', 'machine-flood.c');
    execFileSync('gcc', ['-O2', '-static', '-o', path('flood'), source]);
    writeFileSync(path('kernel.vm.toml'), VM);
    writeFileSync(path('panics.toml'), PANICS);
    writeFileSync(path('goes-on.toml'), GOES_ON);
    writeFileSync(path('flood.toml'), FLOOD);
    await folder.image('kernel.vm.toml');
  }, 300_000);
  afterAll(() => {
    folder.remove();
  });

  const run = (name: string, ...more: readonly string[]): Promise<Ended> => {
    return folder.sim('run', name, '--seed', '1', '--full', ...more);
  };

  it('traps when it panics: asked by sysrq, and at a non-maskable interrupt (CR-86)', async () => {
    const ended = await run('panics.toml', '--thin');
    expect([ended.exitCode, ended.errors]).toEqual([1, '']);
    expect(endsOf(ended)).toEqual({ asked: 'trapped', struck: 'trapped' });
    expect(lineOf(ended, 'asked', /Kernel panic - not syncing: sysrq triggered crash/)).not.toBe(
      null,
    );
    expect(lineOf(ended, 'struck', /Kernel panic - not syncing: NMI/)).not.toBe(null);
    expect(lineOf(ended, 'struck', /^kernel-panic: /)).not.toBe(null);
    expect(ended.records.at(-1)).toMatchObject({ verdict: 'fail', signature: 'no-trap:no-trap' });
  });

  it('CR-118: goes on after an interrupt, starts over, powers off, and leaves its image alone', async () => {
    const image = Buffer.alloc(2 ** 20);
    image.write('the user’s\n');
    writeFileSync(path('user.img'), image);
    utimesSync(path('user.img'), 1_000_000_000, 1_000_000_000);
    const before = statSync(path('user.img'), { bigint: true });
    const ended = await run('goes-on.toml', '--thin');
    expect([ended.exitCode, ended.errors]).toEqual([0, '']);
    expect(endsOf(ended)).toEqual({ shaken: 0, again: 3, off: 0 });
    expect(lineOf(ended, 'shaken', /NMI: PCI system error/)).not.toBe(null);
    expect(lineOf(ended, 'shaken', /^went on$/)).not.toBe(null);
    // What one machine has written, the same one finds, also after it started over.
    expect(lineOf(ended, 'again', /^once more, with changed/)).not.toBe(null);
    expect(lineOf(ended, 'off', /^finds the user’s/)).not.toBe(null);
    expect(lineOf(ended, 'off', /^no space for \d+ bytes at sector \d+ of \/vda$/)).not.toBe(null);
    expect(lineOf(ended, 'off', /^dd says 1$/)).not.toBe(null);
    expect(readFileSync(path('user.img'))).toEqual(image);
    const after = statSync(path('user.img'), { bigint: true });
    expect([after.mtimeNs, after.ctimeNs, after.ino]).toEqual([
      before.mtimeNs,
      before.ctimeNs,
      before.ino,
    ]);
  });

  it('that floods the network fills its link, and no more; the rest is dropped, alike each time', async () => {
    const ended = await run('flood.toml', '--out', 'flood.athanor');
    expect(ended.errors).toBe('');
    expect(lineOf(ended, 'flooding', new RegExp(`^sent ${FRAMES}$`))).not.toBe(null);
    const listed = await folder.sim('inspect', 'flood.athanor', '--events', '--limit', '0');
    const events = listed.records.filter(({ type }) => type === 'event');
    const frames = events.filter(({ kind }) => kind === 'net/frame');
    expect(frames.length).toBeGreaterThan(FRAMES);
    const dropped = events.filter(
      ({ kind, result }) => kind === 'net/drop' && result === LINK_FULL,
    );
    expect(dropped.length).toBeGreaterThan(FRAMES - LINK_PACKETS - 100);
    expect(dropped.length).toBeLessThan(FRAMES - LINK_PACKETS + 100);
    const replayed = await folder.sim('replay', 'flood.athanor', '--check', 'log');
    expect([replayed.exitCode, replayed.errors]).toEqual([0, '']);
  });
});
