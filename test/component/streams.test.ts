import { beforeEach, describe, expect, it } from 'vitest';
import { LonePort } from '../support/lone-guest.ts';
import { DirectGuest, type Handle } from './direct-guest.ts';

const INPUT = 'wasi:io/streams#input-stream';
const OUTPUT = 'wasi:io/streams#output-stream';
const POLLABLE = 'wasi:io/poll#pollable';
const CLOSED = { ok: false, error: { tag: 'closed' } };

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const ok = (value?: unknown): unknown => ({ ok: true, value });

let guest: DirectGuest;
let port: LonePort;

beforeEach(async () => {
  port = new LonePort();
  guest = await DirectGuest.make(port);
});

function valueOf(outcome: unknown): unknown {
  expect(outcome).toMatchObject({ ok: true });
  return (outcome as { value: unknown }).value;
}

const input = (stream: Handle, method: string, ...values: unknown[]): unknown =>
  guest.call(`${INPUT}.${method}`, stream, ...values);
const output = (stream: Handle, method: string, ...values: unknown[]): unknown =>
  guest.call(`${OUTPUT}.${method}`, stream, ...values);

function openFile(path: string, content: string): Handle {
  const [[root]] = guest.call('wasi:filesystem/preopens#get-directories') as [[Handle, string]];
  const types = 'wasi:filesystem/types#descriptor';
  const file = valueOf(guest.call(`${types}.open-at`, root, 0, path, 1, 3)) as Handle;
  guest.call(`${types}.write`, file, text(content), 0n);
  return file;
}

function fileStream(file: Handle, how: string, ...values: unknown[]): Handle {
  return valueOf(guest.call(`wasi:filesystem/types#descriptor.${how}`, file, ...values)) as Handle;
}

function contentOf(path: string): string {
  const into = new Uint8Array(1000);
  const count = port.files.read(port.files.lookup(1, path), 0, into);
  return new TextDecoder().decode(into.subarray(0, count));
}

describe('input streams of files', () => {
  it('read from their offset on and close at the end', () => {
    const file = openFile('a', 'hello world');
    const stream = fileStream(file, 'read-via-stream', 6n);
    expect(input(stream, 'read', 3n)).toEqual(ok(text('wor')));
    expect(input(stream, 'read', 0n)).toEqual(ok(text('')));
    expect(input(stream, 'blocking-read', 100n)).toEqual(ok(text('ld')));
    expect(input(stream, 'read', 1n)).toEqual(CLOSED);
    expect(input(stream, 'blocking-read', 1n)).toEqual(CLOSED);
    guest.drop(INPUT, stream);
    expect(() => input(stream, 'read', 1n)).toThrow(/not a handle/);
  });

  it('skip as they read', () => {
    const file = openFile('a', 'hello world');
    const stream = fileStream(file, 'read-via-stream', 0n);
    expect(input(stream, 'skip', 4n)).toEqual(ok(4n));
    expect(input(stream, 'blocking-skip', 100n)).toEqual(ok(7n));
    expect(input(stream, 'skip', 1n)).toEqual(CLOSED);
    expect(input(stream, 'blocking-skip', 1n)).toEqual(CLOSED);
  });

  it('are always ready', () => {
    const stream = fileStream(openFile('a', 'x'), 'read-via-stream', 0n);
    const pollable = input(stream, 'subscribe') as Handle;
    expect(guest.call(`${POLLABLE}.ready`, pollable)).toBe(true);
    guest.drop(POLLABLE, pollable);
  });

  it('standard input is at its end', () => {
    const stream = guest.call('wasi:cli/stdin#get-stdin') as Handle;
    expect(input(stream, 'blocking-read', 10n)).toEqual(CLOSED);
    expect(input(stream, 'read', 10n)).toEqual(CLOSED);
  });
});

describe('output streams', () => {
  it('write to the console what they were permitted', () => {
    const stdout = guest.call('wasi:cli/stdout#get-stdout') as Handle;
    const stderr = guest.call('wasi:cli/stderr#get-stderr') as Handle;
    expect(output(stdout, 'check-write')).toEqual(ok(1_048_576n));
    expect(output(stdout, 'write', text('one '))).toEqual(ok());
    expect(output(stdout, 'flush')).toEqual(ok());
    expect(output(stderr, 'blocking-write-and-flush', text('two'))).toEqual(ok());
    expect(output(stdout, 'blocking-flush')).toEqual(ok());
    expect(port.written).toEqual(['one ', 'two']);
    expect(guest.call(`${POLLABLE}.ready`, output(stdout, 'subscribe'))).toBe(true);
  });

  it.each([
    ['write without a permit', (stream: Handle) => output(stream, 'write', text('x'))],
    ['write-zeroes without a permit', (stream: Handle) => output(stream, 'write-zeroes', 1n)],
    [
      'blocking-write-and-flush of 4097 bytes',
      (stream: Handle) => output(stream, 'blocking-write-and-flush', new Uint8Array(4097)),
    ],
    [
      'blocking-write-zeroes-and-flush of 4097 bytes',
      (stream: Handle) => output(stream, 'blocking-write-zeroes-and-flush', 4097n),
    ],
    ['write-zeroes of 2^63 bytes', (stream: Handle) => output(stream, 'write-zeroes', 2n ** 63n)],
  ])('%s ends the guest', (_, act) => {
    const stdout = guest.call('wasi:cli/stdout#get-stdout') as Handle;
    expect(() => act(stdout)).toThrow(expect.objectContaining({ code: 'wasi-misuse' }));
  });

  it('write to files at an offset, append, and write zeroes', () => {
    const file = openFile('a', 'hello world');
    const at = fileStream(file, 'write-via-stream', 6n);
    const end = fileStream(file, 'append-via-stream');
    expect(output(at, 'blocking-write-and-flush', text('W'))).toEqual(ok());
    expect(output(end, 'blocking-write-and-flush', text('!'))).toEqual(ok());
    expect(output(at, 'blocking-write-and-flush', text('O'))).toEqual(ok());
    expect(contentOf('a')).toBe('hello WOrld!');
    expect(output(end, 'check-write')).toEqual(ok(1_048_576n));
    expect(output(end, 'write-zeroes', 2n)).toEqual(ok());
    expect(output(end, 'blocking-write-zeroes-and-flush', 1n)).toEqual(ok());
    expect(contentOf('a')).toBe('hello WOrld!\0\0\0');
    guest.drop(OUTPUT, at);
    guest.drop(OUTPUT, end);
  });

  it('splice from an input stream', () => {
    const from = fileStream(openFile('from', 'abcdefgh'), 'read-via-stream', 0n);
    const to = fileStream(openFile('to', ''), 'write-via-stream', 0n);
    expect(output(to, 'splice', from, 3n)).toEqual(ok(3n));
    expect(output(to, 'blocking-splice', from, 100n)).toEqual(ok(5n));
    expect(output(to, 'splice', from, 1n)).toEqual(CLOSED);
    expect(output(to, 'blocking-splice', from, 1n)).toEqual(CLOSED);
    expect(contentOf('to')).toBe('abcdefgh');
  });

  it('tell why they failed: the file cannot be that large', () => {
    const stream = fileStream(openFile('a', ''), 'write-via-stream', 2n ** 60n);
    const failed = output(stream, 'blocking-write-and-flush', text('x')) as {
      error: { tag: string; value: Handle };
    };
    expect(failed.error.tag).toBe('last-operation-failed');
    const { value: error } = failed.error;
    expect(guest.call('wasi:filesystem/types#filesystem-error-code', error)).toBe('file-too-large');
    expect(guest.call('wasi:sockets/network#network-error-code', error)).toBe(null);
    expect(guest.call('wasi:io/error#error.to-debug-string', error)).toBe('filesystem error FBIG');
    guest.drop('wasi:io/error#error', error);
    for (const method of ['flush', 'blocking-flush', 'check-write']) {
      expect(output(stream, method)).toEqual(CLOSED);
    }
    expect(output(stream, 'blocking-write-and-flush', text('x'))).toEqual(CLOSED);
  });
});

describe('poll', () => {
  const duration = (ns: bigint): Handle =>
    guest.call('wasi:clocks/monotonic-clock#subscribe-duration', ns) as Handle;

  it('waits for the first of several clocks', () => {
    const now = guest.call('wasi:clocks/monotonic-clock#now') as bigint;
    const instant = 'wasi:clocks/monotonic-clock#subscribe-instant';
    const late = duration(9000n);
    const soon = guest.call(instant, now + 500n) as Handle;
    const never = guest.call(instant, 2n ** 64n - 1n) as Handle;
    expect(guest.call('wasi:io/poll#poll', [never, late, soon])).toEqual([2]);
    expect(guest.waits).toEqual([{ deadlineNs: 500, interests: [] }]);
    expect(guest.call(`${POLLABLE}.ready`, soon)).toBe(true);
    expect(guest.call(`${POLLABLE}.ready`, late)).toBe(false);
    guest.call(`${POLLABLE}.block`, late);
    expect(port.monotonicNs()).toBeGreaterThanOrEqual(Number(now) + 9000);
    guest.call(`${POLLABLE}.block`, late);
    expect(guest.call('wasi:io/poll#poll', [soon, late, never, soon])).toEqual([0, 1, 3]);
    expect(guest.waits).toHaveLength(2);
  });

  it('a duration past the end of time saturates', () => {
    const never = duration(2n ** 64n - 1n);
    expect(guest.call(`${POLLABLE}.ready`, never)).toBe(false);
  });

  it('of nothing ends the guest, as does what is no pollable', () => {
    expect(() => guest.call('wasi:io/poll#poll', [])).toThrow(
      expect.objectContaining({ code: 'wasi-misuse' }),
    );
    const stdin = guest.call('wasi:cli/stdin#get-stdin') as Handle;
    for (const handle of [stdin, { handle: 0 }, { handle: 77 }]) {
      expect(() => guest.call('wasi:io/poll#poll', [handle])).toThrow(
        expect.objectContaining({ code: 'canonical-abi' }),
      );
    }
  });
});
