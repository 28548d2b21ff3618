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
    // Times are of the node's clocks, moved by instructions and calls alone.
    expect(output.replaceAll(/(\.[05]000)\d+/g, '$1…').replace(/entropy .*/, 'entropy …')).toBe(
      [
        'argument 1: /',
        'to standard error',
        'argument 2: 0',
        'variable: GREETING=hello',
        'realtime 1767225600.0000…',
        'monotonic 1.0000…',
        'after 1.5 s 2.5000…',
        'entropy …',
        'file: 1 lines',
        '',
      ].join('\n'),
    );
    expect(end).toMatchObject({ kind: 'exit', code: 0 });
    expect(run(hello, ['hello', '/', '3']).end).toMatchObject({ kind: 'exit', code: 1 });
  });

  it('does every file system call', () => {
    const { output, end } = run(files, ['files', 'exercise', '/']);
    for (const line of ['create a again: File exists', 'target ../a', 'entry soft link']) {
      expect(output.split('\n')).toContain(line);
    }
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
