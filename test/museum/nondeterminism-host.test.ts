import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadGuest } from '../../guests/index.ts';
import { scenario, type ScenarioBuilder } from '../../scenarios/index.ts';
import { compareRuns, type Decision, type LoggedEvent } from '../../sim/index.ts';
import { WasmEngine } from '../../wasm/index.ts';
import { builtComponent } from '../component/programs.ts';
import type { Outcome } from '../guests/simulate.ts';
import { failure } from '../support/failure.ts';
import {
  assemble,
  decisions,
  events,
  longs,
  run,
  textGuest,
  words,
  world,
  written,
} from './text-guests.ts';

const REALTIME_START_NS = 1_767_225_600_000_000_000n;
const MONOTONIC_START_NS = 1_000_000_000n;

/** Tells errno and time of every clock of preview 1, and of one that there is not. */
const ALL_CLOCKS = textGuest(`
  (func (export "_start") (local $clock i32)
    (loop $again
      (i64.store (i32.const 256) (i64.const 0))
      (call $say (call $clock_time_get (local.get $clock) (i64.const 0) (i32.const 256)))
      (call $say64 (i64.load (i32.const 256)))
      (local.set $clock (i32.add (local.get $clock) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $clock) (i32.const 5)))))`);

/** Reads both clocks, computes, reads them, sleeps 1.5 s, reads them. */
const TWO_CLOCKS = textGuest(`
  (func $both
    (i64.store (i32.const 256) (call $time (i32.const 0)))
    (i64.store (i32.const 264) (call $time (i32.const 1)))
    (call $write (i32.const 256) (i32.const 16)))
  (func (export "_start") (local $k i32)
    (call $both)
    (loop $again
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 10000))))
    (call $both)
    (call $sleep (i64.const 1500000000))
    (call $both))`);

/** Sends one datagram to port 7 of the first node. */
const SENDER = textGuest(
  `(data (i32.const 256) "\\0c\\01\\00\\00\\04\\00\\00\\00" "\\0a\\00\\00\\01" "ping")
  (data (i32.const 288) "\\08\\01\\00\\00\\04\\00\\00\\00")
  (data (i32.const 304) "\\0c\\01\\00\\00\\04\\00\\00\\00")
  (func (export "_start")
    (drop (call $sock_open (i32.const 1) (i32.const 1) (i32.const 280)))
    (call $say (call $sock_send_to (i32.load (i32.const 280)) (i32.const 304) (i32.const 1)
      (i32.const 288) (i32.const 7) (i32.const 0) (i32.const 284))))`,
  ['sock_open', 'sock_send_to'],
);

/** Listens on port 7, sleeps 50 ms, receives a datagram and tells it and the time. */
const LATE_RECEIVER = textGuest(
  `(data (i32.const 288) "\\80\\02\\00\\00\\04\\00\\00\\00")
  (data (i32.const 304) "\\00\\02\\00\\00\\10\\00\\00\\00")
  (data (i32.const 320) "\\00\\03\\00\\00\\80\\00\\00\\00")
  (func (export "_start")
    (drop (call $sock_open (i32.const 1) (i32.const 1) (i32.const 280)))
    (call $say (call $sock_bind (i32.load (i32.const 280)) (i32.const 288) (i32.const 7)))
    (call $sleep (i64.const 50000000))
    (call $say (call $sock_recv_from (i32.load (i32.const 280)) (i32.const 304) (i32.const 1)
      (i32.const 320) (i32.const 0) (i32.const 336) (i32.const 340) (i32.const 344)))
    (call $write (i32.const 512) (i32.load (i32.const 340))))`,
  ['sock_open', 'sock_bind', 'sock_recv_from'],
);

const NAMES = ['b', 'a', 'd', 'c'];

/** Writes the entries of the root, and then the status of the files a, b, c and d. */
const LIST = textGuest(
  `(data (i32.const 256) "abcd")
  (func (export "_start") (local $k i32)
    (drop (call $fd_readdir (i32.const 3) (i32.const 1024) (i32.const 4096) (i64.const 0)
      (i32.const 264)))
    (call $write (i32.const 264) (i32.const 4))
    (call $write (i32.const 1024) (i32.load (i32.const 264)))
    (loop $again
      (drop (call $path_filestat_get (i32.const 3) (i32.const 0)
        (i32.add (i32.const 256) (local.get $k)) (i32.const 1) (i32.const 512)))
      (call $write (i32.const 512) (i32.const 64))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 4)))))`,
  ['fd_readdir', 'path_filestat_get'],
);

/** Draws eight words, 1 ms apart. */
const DRAWER = textGuest(`
  (func (export "_start") (local $k i32)
    (loop $again
      (call $say (call $draw))
      (call $sleep (i64.const 1000000))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 8)))))`);

/** Reads a file, a clock and entropy, and computes; the four ways in for a host. */
const CURIOUS = (constant: number): Uint8Array =>
  textGuest(
    `(data (i32.const 256) "f")
    (data (i32.const 264) "\\00\\02\\00\\00\\10\\00\\00\\00")
    (func (export "_start")
      (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 256) (i32.const 1)
        (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 280)))
      (drop (call $fd_read (i32.load (i32.const 280)) (i32.const 264) (i32.const 1)
        (i32.const 284)))
      (drop (call $time (i32.const 0)))
      (drop (call $draw))
      (call $say (i32.const ${constant})))`,
    ['path_open', 'fd_read'],
  );

/** A folder on the host with a file of each name, made in this order with this access time. */
function hostFolder(names: readonly string[], atime: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'athanor-museum-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  for (const name of names) {
    writeFileSync(join(folder, name), `file ${name}`);
    utimesSync(join(folder, name), atime, atime);
  }
  return folder;
}

function stops(name: string): ScenarioBuilder {
  return scenario(name).until('stopped');
}

const of = (outcome: Outcome, kind: string): LoggedEvent[] => {
  return events(outcome).filter((event) => event.kind === kind);
};

describe('a source of nondeterminism outside a guest', () => {
  it('temporalio/sdk-typescript#2269: there is no clock but those of virtual time', () => {
    const prepared = world(stops('clocks').node({ name: 'one', guest: 'guest' }), {
      guest: ALL_CLOCKS,
    });
    const outcome = run(prepared, 1);
    const view = written(outcome, 'one');
    const told = Array.from({ length: 5 }, (_, at) => {
      return [view.getUint32(12 * at, true), view.getBigUint64(12 * at + 4, true)] as const;
    });
    const [real, monotonic] = of(outcome, 'wasi/clock_time_get').map(({ atNs }) => BigInt(atNs));
    expect(told).toEqual([
      [0, REALTIME_START_NS + (real as bigint)],
      [0, MONOTONIC_START_NS + (monotonic as bigint)],
      [28, 0n],
      [28, 0n],
      [28, 0n],
    ]);
    const source = `(module
      (import "wasi_snapshot_preview1" "temporal_now" (func (result i64)))
      (memory (export "memory") 1) (func (export "_start")))`;
    const node = stops('other').node({ name: 'one', guest: 'guest' });
    const error = failure(() => run(world(node, { guest: assemble(source) }), 1));
    expect(error.code).toBe('guest/import');
    expect(error.message).toContain('wasi_snapshot_preview1.temporal_now');
  });

  it('temporalio/sdk-typescript#2269: the clocks of WASI 0.2 are those of preview 1', async () => {
    const images = { module: await loadGuest('hello'), component: await builtComponent('hello') };
    const builder = stops('hello').node({ name: 'module', guest: 'module' });
    builder.node({ name: 'component', guest: 'component' });
    const outcome = run(world(builder, images), 1);
    const kinds = [
      ['wasi/clock_time_get', 'wasi/clock_time_get', 'wasi/clock_time_get'],
      ['wasi:clocks/wall-clock#now', ...Array<string>(2).fill('wasi:clocks/monotonic-clock#now')],
    ];
    for (const [guest, node] of ['module', 'component'].entries()) {
      const read = events(outcome).filter((event) => {
        return event.guest === guest && /clock_time_get$|-clock#now$/.test(event.kind);
      });
      expect(read.map(({ kind }) => kind)).toEqual(kinds[guest]);
      const lines = ['realtime', 'monotonic', 'after 1.5 s'].map((label, at) => {
        const startNs = at === 0 ? REALTIME_START_NS : MONOTONIC_START_NS;
        const ns = startNs + BigInt(read[at]?.atNs ?? -1);
        return `${label} ${ns / 1_000_000_000n}.${String(ns % 1_000_000_000n).padStart(9, '0')}`;
      });
      const told = (outcome.consoles[node] ?? '').split('\n');
      expect(told.filter((line) => /^(realtime|monotonic|after) /.test(line))).toEqual(lines);
    }
  });

  it('obeli-sk/obelisk@66a4e788: two readings of the clocks advance alike', () => {
    const builder = stops('clocks').node({ name: 'right', guest: 'guest' });
    builder.node({ name: 'wrong', guest: 'guest', clock: { offset: '3s', drift: 100 } });
    const outcome = run(world(builder, { guest: TWO_CLOCKS }), 1);
    const told = ['right', 'wrong'].map((node) => {
      const [real = [], monotonic = []] = [0, 1].map((clock) => {
        return longs(outcome, node).filter((_, at) => at % 2 === clock);
      });
      const steps = (times: readonly bigint[]): bigint[] =>
        times.slice(1).map((time, at) => time - (times[at] as bigint));
      expect(steps(real).length).toBe(2);
      expect(steps(real)).toEqual(steps(monotonic));
      return { steps: steps(real), start: real[0] as bigint };
    });
    const [right, wrong] = told as [(typeof told)[0], (typeof told)[0]];
    expect(wrong.start - right.start).toBe(3_000_000_000n);
    expect(wrong.steps[0]).toBeGreaterThan(right.steps[0] as bigint);
  });

  it('golemcloud/golem#3749: a completion is logged when the guest consumes it', () => {
    const builder = stops('late').network({ latency: '1ms' });
    builder.node({ name: 'receiver', guest: 'receiver' }).node({ name: 'sender', guest: 'sender' });
    const outcome = run(world(builder, { receiver: LATE_RECEIVER, sender: SENDER }), 1);
    expect(words(outcome, 'sender')).toEqual([0]);
    expect(words(outcome, 'receiver').slice(0, 2)).toEqual([0, 0]);
    const [delivered] = of(outcome, 'net/deliver');
    const [sent] = of(outcome, 'wasi/sock_send_to');
    expect(delivered?.atNs).toBe((sent?.atNs ?? 0) + 1_000_000);
    const [received] = of(outcome, 'wasi/sock_recv_from');
    expect(sent?.atNs).toBeLessThan(1_000_000);
    expect(received).toMatchObject({ guest: 0, result: 4 });
    expect(received?.atNs).toBeGreaterThan(50_000_000);
  });

  it('WebAssembly/WASI#190: directory order, inode numbers and times are not the host’s', () => {
    const outcomes = [
      hostFolder(['a', 'b', 'c', 'd'], 1_000),
      hostFolder(['d', 'b', 'a', 'c'], 1_700_000_000),
    ].map((folder) => {
      readFileSync(join(folder, 'c'));
      const file = NAMES.map((name) => ({ path: `/${name}`, source: name }));
      const builder = stops('list').node({ name: 'one', guest: 'guest', file });
      return run(world(builder, { guest: LIST }, folder), 1);
    });
    const [first, second] = outcomes as [Outcome, Outcome];
    expect(second.identity).toBe(first.identity);
    const view = written(first, 'one');
    const end = 4 + view.getUint32(0, true);
    const names: string[] = [];
    const inodes: number[] = [];
    for (let at = 4; at < end;) {
      const length = view.getUint32(at + 16, true);
      const name = Buffer.from(view.buffer, view.byteOffset + at + 24, length).toString();
      names.push(name);
      inodes.push(Number(view.getBigUint64(at + 8, true)));
      at += 24 + length;
    }
    expect(names).toEqual(['.', '..', 'a', 'b', 'c', 'd']);
    expect(inodes).toEqual([1, 1, 2, 3, 4, 5]);
    for (let file = 0; file < 4; file++) {
      const at = end + 64 * file;
      expect(view.getBigUint64(at + 8, true)).toBe(BigInt(file + 2));
      for (const time of [40, 48, 56]) {
        expect(view.getBigUint64(at + time, true)).toBe(REALTIME_START_NS);
      }
    }
  });

  it('CR-60, shadow/shadow#2074, #38: a node that is added or renamed reseeds no other', async () => {
    const images = {
      server: await loadGuest('echo-server'),
      client: await loadGuest('echo-client'),
      drawer: DRAWER,
    };
    const engine = new WasmEngine({});
    /** The decisions of every stream that does not name the odd node. */
    const others = (odd: string | null, first: boolean): Decision[] => {
      const builder = stops('echo').network({ latency: '2ms', jitter: '1ms', loss: '1%' });
      const args = ['server', '7', '20', '1000', '5'];
      if (odd !== null && first) builder.node({ name: odd, guest: 'drawer' });
      builder
        .node({ name: 'server', guest: 'server', args: ['7', '2'] })
        .node({ names: ['one', 'two'], guest: 'client', args })
        .node({ name: 'dice', guest: 'drawer' });
      if (odd !== null && !first) builder.node({ name: odd, guest: 'drawer' });
      const all = decisions(run(world(builder, images), 1, engine));
      if (odd !== null) expect(all.some(({ stream }) => stream.includes(odd))).toBe(true);
      return all.filter(({ stream }) => odd === null || !stream.includes(odd));
    };
    const answers = (list: readonly Decision[]): string[] =>
      list
        .map(({ stream, ordinal, arity, choice }) => `${stream} ${ordinal} ${arity} ${choice}`)
        .sort();
    const alone = answers(others(null, false));
    expect(alone.filter((each) => each.startsWith('node/dice/entropy ')).length).toBe(8);
    expect(alone.length).toBeGreaterThan(100);
    expect(answers(others('zephyr', false))).toEqual(alone);
    expect(answers(others('abacus', false))).toEqual(alone);
    expect(answers(others('abacus', true))).toEqual(alone);
  });

  it.each([
    ['entropy', { seed: 2 }, /^entropy: /],
    ['clock', { offset: '1ns' }, /^clock: a clock was read and differs/],
    ['host I/O', { text: 'another' }, /^host I\/O: the same call gave another result/],
    ['memory', { constant: 8 }, /^memory: what the guest computed differs/],
  ])('CR-15: a leak that is put into one of two runs is named: %s', (_, leak, expected) => {
    const one = (part: Partial<typeof leak>): Outcome => {
      const {
        seed = 1,
        offset = '0s',
        text = 'a text',
        constant = 7,
      } = part as {
        seed?: number;
        offset?: string;
        text?: string;
        constant?: number;
      };
      const file = [{ path: '/f', text }];
      const builder = stops('leak').node({ name: 'one', guest: 'guest', clock: { offset }, file });
      return run(world(builder, { guest: CURIOUS(constant) }), seed);
    };
    expect(compareRuns(one({}).result, one({}).result)).toBe(null);
    const difference = compareRuns(one({}).result, one(leak).result);
    expect(difference?.source).toMatch(expected);
    expect(difference?.logGuest).toBe(0);
  });

  it('CR-15, CR-28: what a component reads is in its log: a leak there is named', async () => {
    const images = { store: await builtComponent('kv') };
    const one = (text: string): Outcome => {
      const file = [{ path: '/kv/kv.log', text }];
      const builder = stops('leak').node({ name: 'one', guest: 'store', args: ['/kv', '3'], file });
      return run(world(builder, images), 1);
    };
    const text = 'no record has a checksum such as this one'.repeat(8);
    expect(compareRuns(one(text).result, one(text).result)).toBe(null);
    const difference = compareRuns(one(text).result, one(text.toUpperCase()).result);
    expect(difference?.source).toMatch(/^host I\/O: the same call gave another result/);
  });
});
