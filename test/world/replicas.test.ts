import { describe, expect, it } from 'vitest';
import {
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  NS_PER_S,
  PLAIN_DISK,
  QUIET_RULE,
  ROOT,
  type DiskAtlasDef,
  type Effect,
  type GuestPort,
} from '../../sim/index.ts';
import { SmallWorld } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

const PAGE = 4_096;
const RECORDS = 16;
const NAMES = ['n1', 'n2', 'n3'];
const ATLAS: DiskAtlasDef = { nodes: [0, 1, 2], faultyMax: 1, chunkBytes: PAGE };
const HEALED_MS = 2_000;

/**
 * One replica of a store of records, each a page that is its own checksum. It writes and syncs all
 * of them, and reads them again and again: `good K` for each record that is whole.
 */
function replica(port: GuestPort): StateGuest<{ rounds: number }> {
  return new StateGuest({ rounds: 0 }, port, (state): Effect => {
    const { files } = port;
    const known = files.lookup(ROOT, 'records');
    const inode = known > 0 ? known : files.createFile(ROOT, 'records', 0n);
    for (let record = 0; record < RECORDS; record++) {
      const place = record * PAGE;
      if (state.rounds % 2 === 0) files.write(inode, place, new Uint8Array(PAGE).fill(record), 0n);
      else if (isWhole(port, inode, record)) say(port, record);
    }
    if (state.rounds % 2 === 0) {
      files.synchronise(inode, false);
      files.synchronise(ROOT, false);
    }
    state.rounds++;
    const deadlineNs = port.nowNs + 100 * NS_PER_MS;
    return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs, interests: [] } };
  });
}

function isWhole(port: GuestPort, inode: number, record: number): boolean {
  const bytes = new Uint8Array(PAGE);
  const count = port.files.read(inode, record * PAGE, bytes);
  return count === PAGE && bytes.every((byte) => byte === record);
}

function say(port: GuestPort, record: number): void {
  const round = Math.floor(port.nowNs / (200 * NS_PER_MS));
  port.console(1, encodeUtf8(`${round} good ${record}\n`));
}

/** Three replicas on disks that lose, tear and misdirect writes, rot, and become unreadable. */
function store(seed: number, atlas: DiskAtlasDef | null): SmallWorld {
  const rule = {
    ...QUIET_RULE,
    lostWrite: MILLION / 4,
    tornWrite: MILLION / 4,
    misdirectedWrite: MILLION / 8,
    bitRot: MILLION / 5,
    latentError: MILLION / 20,
  };
  return new SmallWorld({
    names: NAMES,
    make: replica,
    seed,
    until: 'virtual-time',
    virtualNsMax: 4 * NS_PER_S,
    disk: { ...PLAIN_DISK, pageCache: false, rule },
    liveness: { atNs: HEALED_MS * NS_PER_MS },
    ...(atlas === null ? {} : { atlas }),
  });
}

/** For each round of reading, the fewest and the most replicas that have a record whole. */
function copies(run: SmallWorld): readonly { atMs: number; least: number; most: number }[] {
  const rounds = Array.from({ length: 20 }, () => new Array<number>(RECORDS).fill(0));
  for (const console of run.consoles) {
    for (const line of console.split('\n').slice(0, -1)) {
      const [round, , record] = line.split(' ').map(Number);
      const counts = rounds[round as number] as number[];
      counts[record as number] = (counts[record as number] as number) + 1;
    }
  }
  return rounds.map((counts, round) => {
    return { atMs: round * 200, least: Math.min(...counts), most: Math.max(...counts) };
  });
}

describe('a store of three replicas in one world', () => {
  it('CR-90: the atlas leaves a quorum of every record whole, whatever strikes', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const rounds = copies(store(seed, ATLAS).run());
      for (const { atMs, least } of rounds) {
        expect(least, `seed ${seed} at ${atMs} ms`).toBeGreaterThanOrEqual(2);
      }
      const sick = rounds.filter(({ atMs }) => atMs < HEALED_MS);
      expect(Math.min(...sick.map(({ least }) => least))).toBe(2);
    }
  });

  it('CR-90: without it the same faults lose records', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const sick = copies(store(seed, null).run()).filter(({ atMs }) => atMs < HEALED_MS);
      expect(Math.min(...sick.map(({ least }) => least)), `seed ${seed}`).toBe(0);
    }
  });

  it('CR-90: the liveness phase lifts the faults: what is written then is whole everywhere', () => {
    for (const atlas of [ATLAS, null]) {
      const late = copies(store(1, atlas).run()).filter(({ atMs }) => atMs > HEALED_MS + 200);
      expect(late.length).toBeGreaterThan(5);
      expect(late.map(({ least }) => least)).toEqual(late.map(() => 3));
    }
  });

  it('CR-90: goes on from a savepoint exactly, the drawn replicas included', () => {
    const whole = store(3, ATLAS).run();
    const part = store(3, ATLAS);
    while (part.world.nowNs < NS_PER_S) part.step();
    const resumed = store(3, ATLAS);
    resumed.restore(part.capture());
    resumed.run();
    expect(resumed.chains()).toBe(whole.chains());
  });
});
