import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBundle, packBundle } from '../../cli/bundle.ts';
import { EPOCH_SECONDS, NS_PER_S, type ReadyRecord } from '../../sim/index.ts';
import { machineCache } from '../support/machine-fixture.ts';
import { MachineFolder, type Ended } from './machine-folder.ts';

/** A machine that counts its boots on its disk, greets n1, and tells its clock and its entropy. */
const VM = `ready = "test -e /run/up"
main = """
test -n "$STATUS" && exit $STATUS
test -n "$PANIC" && echo c > /proc/sysrq-trigger
echo boot >> /data/boots
sync
echo "boots $(wc -l < /data/boots)"
(while true; do nc -l -p 7; done) &
touch /run/up
sleep 1
test $(hostname) = n2 && echo "hello from n2" | nc n1 7
while true; do
  echo "clock $(date +%s) drawn $(athanor random) kernel $(head -c 8 /dev/urandom | od -An -tx1 | tr -d ' ')"
  sleep 1
done
"""

[machine]
memory = "96MiB"

[disk]
size = "16MiB"
`;

function world(ready: string, args: string, rest = ''): string {
  return `schema_version = 1
name = "ready machines"
until = "virtual-time"

[guest.linux.machine]
vm = "ready.vm.toml"
${ready}

[[node]]
names = ["n1", "n2"]
guest = "linux"
args = [${args}]

[network]
latency = "2ms"
jitter = "1ms"

[limits]
virtual_time = "2800ms"
${rest}`;
}

/** What a node said of something, and when. */
function said({ records }: Ended, node: string, pattern: RegExp): readonly (readonly string[])[] {
  return records.flatMap((each) => {
    const found = each['node'] === node ? pattern.exec(String(each['text'])) : null;
    return found === null ? [] : [[...found.slice(1), String(each['at_ns'])]];
  });
}

const CLOCK = /^clock (\d+) drawn (\d+) kernel ([0-9a-f]{16})$/;

describe('CR-55: machines that begin where they are ready', { timeout: 600_000 }, () => {
  const folder = new MachineFolder();
  const made = new Set<string>();
  const write = (name: string, text: string): void => writeFileSync(join(folder.path, name), text);
  const bytes = (name: string): Buffer => readFileSync(join(folder.path, name));
  const entry = (key: string): string => join(machineCache, 'ready', key);
  const readyOf = (name: string): readonly ReadyRecord[] => {
    return openBundle(bytes(name)).manifest.machines?.ready ?? [];
  };
  const run = async (name: string, seed: number, out: string): Promise<Ended> => {
    const ended = await folder.sim('run', name, '--seed', String(seed), '--full', '--out', out);
    if (existsSync(join(folder.path, out))) for (const { key } of readyOf(out)) made.add(key);
    return ended;
  };
  let first: Ended;

  beforeAll(async () => {
    write('ready.vm.toml', VM);
    await folder.image('ready.vm.toml');
    write('world.toml', world('ready = "bell"', ''));
    first = await run('world.toml', 1, 'a');
  }, 900_000);

  afterAll(() => {
    folder.remove();
    for (const key of made) rmSync(entry(key), { recursive: true, force: true });
  });

  it('get ready once, each by itself, and go on from there: network, disk, clocks', () => {
    expect([first.exitCode, first.errors]).toEqual([0, '']);
    const records = readyOf('a');
    expect(records.map(({ node }) => node)).toEqual(['n1', 'n2']);
    expect(new Set(records.map(({ digest }) => digest)).size).toBe(2);
    expect(records.every(({ key }) => existsSync(entry(key)))).toBe(true);
    expect(said(first, 'n1', /^boots/)).toEqual([]);
    expect(said(first, 'n1', /^(hello from n2)$/)).toHaveLength(1);
    for (const [seconds = '', , , atNs = ''] of said(first, 'n2', CLOCK)) {
      const world = EPOCH_SECONDS + Number(atNs) / NS_PER_S;
      expect(Math.abs(Number(seconds) - world)).toBeLessThan(1);
    }
  });

  it('repeat to the byte, draw other entropy by another seed, and verify is content', async () => {
    await run('world.toml', 1, 'b');
    expect(bytes('b').equals(bytes('a'))).toBe(true);
    const other = await run('world.toml', 2, 'c');
    expect(readyOf('c')).toEqual(readyOf('a'));
    for (const node of ['n1', 'n2']) {
      const [one = [], two = []] = [first, other].map((each) => said(each, node, CLOCK)[0] ?? []);
      expect(one).toHaveLength(4);
      expect(two[1], 'the doorbell').not.toBe(one[1]);
      expect(two[2], 'the kernel').not.toBe(one[2]);
    }
    const verified = await folder.sim('verify', 'world.toml', '--seed', '1', '--runs', '2');
    expect(verified.records.at(-1), verified.errors).toMatchObject({ deterministic: true });
  });

  it('are made anew where the cache has lost or damaged them, and are the same', async () => {
    const [n1 = '', n2 = ''] = readyOf('a').map(({ key }) => key);
    rmSync(entry(n1), { recursive: true });
    const ram = openSync(join(entry(n2), 'ram'), 'r+');
    writeSync(ram, 'damage', 8 * 2 ** 20);
    closeSync(ram);
    const replayed = await folder.sim('replay', 'a', '--check', 'log');
    expect([replayed.exitCode, replayed.errors]).toEqual([0, '']);
    expect(existsSync(entry(n1))).toBe(true);
    truncateSync(join(entry(n1), 'state'), 1_000);
    await run('world.toml', 1, 'd');
    expect(bytes('d').equals(bytes('a'))).toBe(true);
  });

  it('repeat no run whose machine was ready in another state', async () => {
    const { manifest, plan, trace, ...parts } = openBundle(bytes('a'));
    const { machines } = manifest;
    if (machines === undefined) throw new Error('the bundle has machines');
    const ready = readyOf('a').map((each) => ({ ...each, digest: '0'.repeat(64) }));
    const altered = packBundle({
      ...parts,
      plan,
      trace,
      environment: '{}',
      checkpoint: null,
      manifest: { ...manifest, savepoint: null, machines: { ...machines, ready } },
    });
    writeFileSync(join(folder.path, 'altered'), altered);
    const replayed = await folder.sim('replay', 'altered');
    expect(replayed.exitCode).toBe(4);
    expect(replayed.errors).toContain('backend/ready');
    expect(replayed.errors).toContain('n1 got ready in another state');
  });

  it('begin after a savepoint that was taken before, and fork afterwards', async () => {
    const save = ['save', 'world.toml', '--seed', '1', '--at', 'virtual-time=1s', '--out', 's'];
    const saved = await folder.sim(...save);
    expect(saved.exitCode, saved.errors).toBe(0);
    const resumed = await folder.sim('resume', 's', '--out', 'resumed');
    expect(resumed.exitCode, resumed.errors).toBe(0);
    expect(resumed.records.at(-1)?.['event_chain']).toBe(first.records.at(-1)?.['event_chain']);
    const later = ['--at', 'virtual-time=2200ms', '--seed', '8', '--full'];
    const forked = await folder.sim('fork', 'a', ...later);
    expect(forked.exitCode, forked.errors).toBe(0);
    const [one, two] = [first, forked].map((each) => said(each, 'n1', /^(hello from n2)$/));
    expect(one).toHaveLength(1);
    expect(two).toHaveLength(1);
    expect(two).not.toEqual(one);
  });

  it('boot after a loss of power, on the disk that they had', async () => {
    const crash =
      '[[event]]\nname = "e"\nat = "2300ms"\ndo = "crash"\nnode = "n1"\nfor = "100ms"\n';
    const text = world('ready = "bell"', '', crash).replace('2800ms', '4500ms');
    write('power.toml', text);
    const lost = await run('power.toml', 1, 'power');
    expect(lost.exitCode, lost.errors).toBe(0);
    expect(readyOf('power')).toEqual(readyOf('a'));
    expect(said(lost, 'n1', /^boots (\d+)$/).map(([count]) => count)).toEqual(['2']);
  });

  it('are refused where one never gets ready: it takes too long, powers off, or panics', async () => {
    const console = 'ready = { console = "nobody says this" }\nready_within = "300ms"';
    const cases: readonly (readonly [string, string, string])[] = [
      [console, '', 'wrote no line with "nobody says this" within 300ms of virtual time'],
      ['ready = "bell"', '"STATUS=7"', 'powered off before, with status 7'],
      ['ready = "bell"', '"PANIC=1"', 'panicked before'],
    ];
    for (const [ready, args, reason] of cases) {
      write('never.toml', world(ready, args));
      const ended = await folder.sim('run', 'never.toml', '--seed', '1', '--out', 'never');
      const { code, message, place } = JSON.parse(ended.errors) as Readonly<Record<string, string>>;
      expect([ended.exitCode, code, place]).toEqual([5, 'guest/not-ready', 'node n1']);
      expect(message).toContain(reason);
      expect(existsSync(join(folder.path, 'never'))).toBe(false);
    }
  });

  it('get ready by a line, by instructions, and by a network that has become quiet', async () => {
    const found: number[] = [];
    for (const when of ['console = "boots"', 'instructions = 900000000', 'network_idle_ms = 150']) {
      const text = world(`ready = { ${when} }`, '').replace('names = ["n1", "n2"]', 'name = "n1"');
      write('kinds.toml', text);
      const ended = await run('kinds.toml', 1, 'kinds');
      expect(ended.exitCode, ended.errors).toBe(0);
      const [start = []] = said(ended, 'n1', /^(start)$/);
      expect(Number(start[1])).toBeGreaterThan(0);
      expect(said(ended, 'n1', CLOCK).length).toBeGreaterThan(0);
      found.push(said(ended, 'n1', /^boots 1$/).length);
    }
    // The line that makes it ready is the run's first, and comes after so many instructions.
    expect(found.slice(0, 2)).toEqual([1, 1]);
  });
});
