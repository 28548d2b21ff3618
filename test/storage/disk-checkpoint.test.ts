import { describe, expect, it } from 'vitest';
import {
  digest32,
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  PLAIN_DISK,
  QUIET_RULE,
  ROOT,
  type DiskCrash,
  type DiskDef,
  type DiskRuleDef,
  type Effect,
  type EventDef,
  type GuestPort,
} from '../../sim/index.ts';
import { SmallWorld } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';
import { SickDisk } from './disk-support.ts';
import { put } from './support.ts';

const PAGE = 4096;
const NAMES = ['a', 'b', 'c'];

interface Worker {
  left: number;
}

/** The file of that name, made and made durable where it is missing. */
function opened({ files }: GuestPort, name: string): number {
  const found = files.lookup(ROOT, name);
  if (found > 0) return found;
  const inode = files.createFile(ROOT, name, 0n);
  files.synchronise(ROOT, false);
  return inode;
}

/** Writes, reads, renames, cuts and syncs as its entropy says, and prints what it sees. */
function worker(port: GuestPort): StateGuest<Worker> {
  return new StateGuest<Worker>({ left: 20 }, port, (state): Effect => {
    const { files } = port;
    const draw = new Uint8Array(3);
    port.entropy(draw);
    const [what, page, fill] = [draw[0] as number, (draw[1] as number) % 4, draw[2] as number];
    const file = opened(port, what % 2 === 0 ? 'log' : 'data');
    const into = new Uint8Array(2 * PAGE);
    const answers = [files.read(file, page * PAGE, into)];
    const seen = digest32(into);
    const bytes = into.fill(fill).subarray(0, PAGE + 100);
    answers.push(files.write(file, page * PAGE + (fill % 2) * 300, bytes, 1n));
    if (what % 5 === 0) answers.push(files.truncate(file, page * PAGE, 1n));
    if (what % 7 === 0) answers.push(files.rename(ROOT, 'log', ROOT, 'data', 1n));
    if (what % 3 === 0) answers.push(files.synchronise(file, what % 2 === 0));
    port.console(1, encodeUtf8(`${answers.join(' ')} ${seen}\n`));
    const atNs = port.nowNs + files.takeDelayNs();
    if (--state.left === 0) return { kind: 'exit', atNs, code: 0 };
    const deadlineNs = atNs + 3 * NS_PER_MS;
    return { kind: 'wait', atNs, wait: { deadlineNs, interests: [] } };
  });
}

/** Everything a disk can do to its node, each now and then. */
const SICK: DiskRuleDef = {
  ...QUIET_RULE,
  readError: 20_000,
  writeError: 20_000,
  syncError: 50_000,
  lyingFlush: 200_000,
  lostWrite: 60_000,
  tornWrite: 60_000,
  misdirectedWrite: 60_000,
  misdirectedRead: 300_000,
  bitRot: 100_000,
  latentError: 200_000,
  syncLatencyNs: 2 * NS_PER_MS,
  bytesPerSecond: 100_000_000,
  jitterNs: 100_000,
  stall: 20_000,
  stallNs: NS_PER_MS,
};

function event(name: string, atMs: number, action: EventDef['action']): EventDef {
  return { name, atNs: atMs * NS_PER_MS, withinNs: 5 * NS_PER_MS, chance: MILLION, action };
}

const PLAN: readonly EventDef[] = [
  event('worse', 10, {
    kind: 'disk',
    nodes: [0, 1],
    rule: { ...QUIET_RULE, path: '/d*', readError: 200_000, lyingFlush: MILLION },
  }),
  event('crash', 20, { kind: 'crash', oneOf: [0, 1, 2] }),
  event('back', 30, { kind: 'restart', oneOf: [] }),
  event('full', 40, {
    kind: 'disk',
    nodes: [2],
    rule: { ...QUIET_RULE, capacityBytes: 3 * PAGE },
  }),
  event('again', 45, { kind: 'crash', oneOf: [0, 1, 2] }),
  event('returns', 55, { kind: 'restart', oneOf: [] }),
  event('mend', 65, { kind: 'disk-heal', nodes: [0, 2], repair: true }),
  event('last', 70, { kind: 'crash', oneOf: [0, 1, 2] }),
  event('end', 80, { kind: 'restart', oneOf: [] }),
];

function world(seed: number, disk: DiskDef): SmallWorld {
  const atlas = { nodes: [0, 1, 2], faultyMax: 2, chunkBytes: PAGE };
  return new SmallWorld({ names: NAMES, make: worker, seed, events: PLAN, disk, atlas });
}

describe('a checkpoint amid the faults of disks', () => {
  const policies: readonly DiskCrash[] = ['file', 'ordered', 'reordered'];
  it.each(policies)('CR-101: goes on equally at every step, with the policy "%s"', (crash) => {
    const tear = crash === 'file' ? 0 : 500_000;
    const struck = new Set<string>();
    const pageCache = crash !== 'ordered';
    const disk = { ...PLAIN_DISK, crash, tear, pageCache, rule: SICK };
    const whole = world(1, disk).run();
    const run = world(1, disk);
    let boundaries = 0;
    do {
      const other = world(1, disk);
      const checkpoint = run.capture();
      const consoles = run.consoles.slice();
      other.restore(checkpoint);
      other.run();
      expect(other.chains()).toBe(whole.chains());
      const printed = consoles.map((text, node) => text + (other.consoles[node] as string));
      expect(printed).toEqual(whole.consoles);
      boundaries++;
    } while (run.step());
    expect(boundaries).toBeGreaterThan(60);
    for (const { kind, text } of whole.world.notes) {
      if (kind === 'disk') struck.add(text.split(' ')[0] as string);
    }
    const expected = ['bit-rot', 'latent-error', 'lost-write', 'lying-flush', 'misdirected-read'];
    expect([...struck]).toEqual(expect.arrayContaining([...expected, 'torn-write']));
  });

  it('CR-101: knows the path of an open file whose directory is gone', () => {
    const rule = { readError: MILLION, path: '/data/*' };
    const whole = new SickDisk({ rule });
    const { files } = whole;
    const data = files.makeDirectory(ROOT, 'data', 1n);
    const log = put(files, data, 'a.log', 'x');
    files.retain(log);
    files.unlink(data, 'a.log', 2n);
    files.removeDirectory(ROOT, 'data', 2n);
    const other = new SickDisk({ rule });
    other.files.restore(files.capture());
    const answers = [files, other.files].map((each) => each.read(log, 0, new Uint8Array(1)));
    expect(answers).toEqual([-29, -29]);
    expect(other.struck).toEqual(whole.struck);
  });
});
