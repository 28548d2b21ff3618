import { beforeAll, describe, expect, it } from 'vitest';
import { encodeCanonical, decodeCanonical, type Effect, type Outcome } from '../../sim/index.ts';
import type { GuestImage } from '../../sim/index.ts';
import type { PreparedProgram } from '../../wasm/runtime/prepared.ts';
import { LonePort } from '../support/lone-guest.ts';
import { builtComponent, prepareComponent, preparePlain, spawn } from './programs.ts';

interface Run {
  readonly output: string;
  readonly end: Effect;
  readonly stops: number;
  readonly instructions: number;
  readonly files: string;
  readonly eventChain: string;
}

/** What a bundle would keep of an image: everything goes through bytes. */
function throughBytes(image: GuestImage): GuestImage {
  const state: unknown = decodeCanonical(encodeCanonical(image.state));
  const pages = new Map([...image.pages].map(([page, bytes]) => [page, bytes.slice()]));
  return { ...image, pages, state };
}

/** Runs a component to its end; at each stop it may be moved into a fresh guest. */
function run(
  prepared: PreparedProgram,
  args: readonly string[],
  options: { readonly moves?: boolean; readonly sliceNs?: number } = {},
): Run {
  const port = new LonePort(args, [['GREETING', 'hello']]);
  let guest = spawn(prepared, port);
  let outcome: Outcome = { reason: 'start', atNs: 0 };
  for (let stops = 0; stops < 1_000_000; stops++) {
    port.nowNs = outcome.atNs;
    port.horizonNs = outcome.atNs + (options.sliceNs ?? Infinity);
    const end = guest.resume(outcome);
    if (end.kind === 'exit' || end.kind === 'trap') {
      const { instructions } = guest;
      guest.dispose();
      const output = port.written.join('');
      const eventChain = port.events.log.chain();
      return { output, end, stops, instructions, files: port.files.digest(), eventChain };
    }
    outcome = { reason: 'continue', atNs: end.atNs };
    if (end.kind === 'wait') {
      outcome = { reason: 'deadline', atNs: Math.max(end.atNs, end.wait.deadlineNs ?? Infinity) };
    }
    if (options.moves !== true) continue;
    const image = throughBytes(guest.capture());
    const digest = guest.digest();
    guest.dispose();
    guest = spawn(prepared, port);
    guest.restore(image);
    expect(guest.digest()).toBe(digest);
  }
  throw new Error('the guest does not end');
}

let hello: PreparedProgram;
let files: PreparedProgram;

beforeAll(async () => {
  hello = prepareComponent(await builtComponent('hello'));
  files = prepareComponent(await builtComponent('files'));
});

describe('a C program as a component', () => {
  it('has arguments, environment, clocks, sleep, entropy, console and exit code', () => {
    const { output, end } = run(hello, ['hello', '/', '0']);
    expect(output).toMatchInlineSnapshot(`
      "argument 1: /
      to standard error
      argument 2: 0
      variable: GREETING=hello
      realtime 1767225600.000013656
      monotonic 1.000016766
      after 1.5 s 2.500021012
      entropy 7295e93c22c252c2
      file: 1 lines
      "
    `);
    expect(end).toMatchObject({ kind: 'exit', code: 0 });
    expect(run(hello, ['hello', '/', '3']).end).toMatchObject({ kind: 'exit', code: 1 });
  });

  it('does every file system call', () => {
    const { output, end } = run(files, ['files', 'exercise', '/']);
    expect(output).toMatchInlineSnapshot(`
      "create a: 0
      create a again: File exists
      write: 10
      seek: 4
      read: 3
      bytes 456
      pwrite past the end: 3
      size: 23
      pread a hole: 3
      hole 0 0 0
      shrink: 0
      grow: 0
      allocate: File exists
      advise: 0
      seek before the start: Invalid argument
      sync: 0
      data sync: 0
      close: 0
      close again: Bad file descriptor
      append: 4
      read a write-only file: Bad file descriptor
      mkdir: 0
      mkdir again: File exists
      link: 0
      stat: 0
      links 2, size 12, directory 0
      symlink: 0
      readlink: 4
      target ../a
      lstat: 0
      symlink 1
      stat through: 0
      regular 1
      loop: 0
      open the loop: Symbolic link loop
      rename: 0
      open the old name: No such file or directory
      rename onto a directory: Is a directory
      rmdir that is not empty: Directory not empty
      unlink a directory: Is a directory
      rmdir a file: Not a directory
      open without O_CREAT: No such file or directory
      a file as directory: Not a directory
      outside: Operation not permitted
      utimens: 0
      stat: 0
      accessed 1000.000000005, modified 2000.000000007
      entry . directory
      entry .. directory
      entry hard file
      entry soft link
      entry entry-with-a-long-name-00 file
      entry entry-with-a-long-name-07 file
      entry entry-with-a-long-name-14 file
      entry entry-with-a-long-name-21 file
      entry entry-with-a-long-name-28 file
      entry entry-with-a-long-name-35 file
      entry entry-with-a-long-name-02 file
      entry entry-with-a-long-name-09 file
      entry entry-with-a-long-name-16 file
      entry entry-with-a-long-name-23 file
      entry entry-with-a-long-name-30 file
      entry entry-with-a-long-name-37 file
      entry entry-with-a-long-name-04 file
      entry entry-with-a-long-name-11 file
      entry entry-with-a-long-name-18 file
      entry entry-with-a-long-name-25 file
      entry entry-with-a-long-name-32 file
      entry entry-with-a-long-name-39 file
      entry entry-with-a-long-name-06 file
      entry entry-with-a-long-name-13 file
      entry entry-with-a-long-name-20 file
      entry entry-with-a-long-name-27 file
      entry entry-with-a-long-name-34 file
      entry entry-with-a-long-name-01 file
      entry entry-with-a-long-name-08 file
      entry entry-with-a-long-name-15 file
      entry entry-with-a-long-name-22 file
      entry entry-with-a-long-name-29 file
      entry entry-with-a-long-name-36 file
      entry entry-with-a-long-name-03 file
      entry entry-with-a-long-name-10 file
      entry entry-with-a-long-name-17 file
      entry entry-with-a-long-name-24 file
      entry entry-with-a-long-name-31 file
      entry entry-with-a-long-name-38 file
      entry entry-with-a-long-name-05 file
      entry entry-with-a-long-name-12 file
      entry entry-with-a-long-name-19 file
      entry entry-with-a-long-name-26 file
      entry entry-with-a-long-name-33 file
      unlink hard: 0
      unlink soft: 0
      unlink loop: 0
      rmdir: 0
      unlink b: 0
      unlink b again: No such file or directory
      "
    `);
    expect(end).toMatchObject({ kind: 'exit', code: 0 });
  });

  it('says of files what the same module says without the adapter around it', () => {
    const module = preparePlain('files');
    // The adapter has no allocate; the line of links tells the size that it would have made.
    const lines = (prepared: PreparedProgram): string[] =>
      run(prepared, ['files', 'exercise', '/'])
        .output.split('\n')
        .filter((line) => !/^(allocate: |links )/.test(line));
    expect(lines(files)).toEqual(lines(module));
  });

  it('moved into a fresh guest at each blocking call: nothing differs', () => {
    const plain = run(hello, ['hello', '/', '0']);
    expect(plain.stops).toBeGreaterThan(0);
    expect(run(hello, ['hello', '/', '0'], { moves: true })).toEqual(plain);
  });

  it('stopped and moved every 4,999 ns: nothing differs but the number of stops', () => {
    for (const [prepared, args] of [
      [hello, ['hello', '/', '0']],
      [files, ['files', 'exercise', '/']],
    ] as const) {
      const plain = run(prepared, args);
      const moved = run(prepared, args, { moves: true, sliceNs: 4999 });
      expect(moved.stops).toBeGreaterThan(8);
      expect(moved).toEqual({ ...plain, stops: moved.stops });
    }
  });

  it('keeps instances for the next guest', () => {
    const first = run(hello, ['hello', '/', '0']);
    for (let count = 0; count < 20; count++) {
      expect(run(hello, ['hello', '/', '0'])).toEqual(first);
    }
  });
});
