import { beforeEach, describe, expect, it } from 'vitest';
import { LonePort } from '../support/lone-guest.ts';
import { DirectGuest, type Handle } from './direct-guest.ts';

let guest: DirectGuest;
let port: LonePort;

beforeEach(async () => {
  port = new LonePort(
    ['program', 'größe', ''],
    [
      ['HOME', '/'],
      ['EMPTY', ''],
    ],
  );
  guest = await DirectGuest.make(port);
});

describe('wasi:clocks', () => {
  it('tell the node’s time and nothing else', () => {
    port.nowNs = 1_500_000_000;
    expect(guest.call('wasi:clocks/monotonic-clock#now')).toBe(2_500_000_000n);
    expect(guest.call('wasi:clocks/monotonic-clock#resolution')).toBe(1n);
    const wall = { seconds: 1_767_225_601n, nanoseconds: 500_000_000 };
    port.nowNs = 1_500_000_000;
    expect(guest.call('wasi:clocks/wall-clock#now')).toEqual(wall);
    const resolution = { seconds: 0n, nanoseconds: 1 };
    expect(guest.call('wasi:clocks/wall-clock#resolution')).toEqual(resolution);
  });

  it('every node lives in UTC', () => {
    const when = { seconds: 0n, nanoseconds: 0 };
    const zone = { 'utc-offset': 0, name: 'UTC', 'in-daylight-saving-time': false };
    expect(guest.call('wasi:clocks/timezone#display', when)).toEqual(zone);
    expect(guest.call('wasi:clocks/timezone#utc-offset', when)).toBe(0);
  });
});

describe('wasi:random', () => {
  it('every draw is a decision of the entropy stream', async () => {
    const draws = (of: DirectGuest): unknown[] => [
      of.call('wasi:random/random#get-random-bytes', 5n),
      of.call('wasi:random/random#get-random-u64'),
      of.call('wasi:random/insecure#get-insecure-random-bytes', 3n),
      of.call('wasi:random/insecure#get-insecure-random-u64'),
      of.call('wasi:random/insecure-seed#insecure-seed'),
      of.call('wasi:random/random#get-random-bytes', 0n),
    ];
    const first = draws(guest);
    expect(port.decisions.stream('entropy').ordinal).toBe(6);
    expect(draws(await DirectGuest.make(new LonePort()))).toEqual(first);
    expect(draws(guest)).not.toEqual(first);
    expect(
      first.map((value) => (value instanceof Uint8Array ? value.length : typeof value)),
    ).toEqual([5, 'bigint', 3, 'bigint', 'object', 0]);
  });

  it('more bytes than the guest has memory end it', () => {
    expect(() => guest.call('wasi:random/random#get-random-bytes', 2n ** 40n)).toThrow(
      expect.objectContaining({ code: 'wasi-misuse' }),
    );
  });
});

describe('wasi:cli', () => {
  it('arguments and environment are the node’s own, whatever the host’s are', () => {
    expect(guest.call('wasi:cli/environment#get-arguments')).toEqual(['program', 'größe', '']);
    expect(guest.call('wasi:cli/environment#get-environment')).toEqual([
      ['HOME', '/'],
      ['EMPTY', ''],
    ]);
    expect(guest.call('wasi:cli/environment#initial-cwd')).toBe('/');
  });

  it.each([
    ['exit', { ok: true, value: undefined }, '0'],
    ['exit', { ok: false, error: undefined }, '1'],
    ['exit-with-code', 42, '42'],
  ])('%s %j ends the guest with %s', (name, status, code) => {
    expect(() => guest.call(`wasi:cli/exit#${name}`, status)).toThrow(
      expect.objectContaining({ code: 'exit', message: code }),
    );
  });

  it('no terminal stands behind the console', () => {
    for (const name of ['stdin', 'stdout', 'stderr']) {
      expect(guest.call(`wasi:cli/terminal-${name}#get-terminal-${name}`)).toBe(null);
    }
    for (const name of ['input', 'output']) {
      const resource = `wasi:cli/terminal-${name}#terminal-${name}`;
      expect(() => guest.drop(resource, { handle: 1 })).toThrow(/not a handle/);
    }
  });
});

describe('athanor:guest/marker', () => {
  it('marks', () => {
    guest.call('athanor:guest/marker#mark', '{"reached":"größe"}');
    expect(port.written).toEqual(['{"reached":"größe"}']);
    expect(() => guest.call('athanor:guest/marker#mark', 'x'.repeat(65_537))).toThrow(
      expect.objectContaining({ code: 'wasi-misuse' }),
    );
  });
});

describe('calls', () => {
  it('take time, more for more bytes, and leave an event each', () => {
    const startNs = port.nowNs;
    const stdout = guest.call('wasi:cli/stdout#get-stdout') as Handle;
    guest.call('wasi:io/streams#output-stream.check-write', stdout);
    const beforeNs = port.nowNs;
    guest.call('wasi:io/streams#output-stream.write', stdout, new Uint8Array(4000));
    expect([beforeNs - startNs, port.nowNs - beforeNs]).toEqual([220, 2000]);
    expect(port.events.eventCount).toBe(3);
  });
});

describe('handles', () => {
  it('the table is full at 65,536 handles, and the guest ends', () => {
    guest.checksWrites = false;
    expect(() => {
      for (let count = 0; count < 70_000; count++) guest.call('wasi:cli/stdin#get-stdin');
    }).toThrow(expect.objectContaining({ code: 'canonical-abi' }));
    const { handle } = { handle: 65_536 } satisfies Handle;
    guest.drop('wasi:io/streams#input-stream', { handle });
    expect(guest.call('wasi:cli/stdin#get-stdin')).toEqual({ handle });
  });

  it('are saved and restored with what they stand for', async () => {
    const stdin = guest.call('wasi:cli/stdin#get-stdin') as Handle;
    const late = guest.call('wasi:clocks/monotonic-clock#subscribe-duration', 70n) as Handle;
    guest.drop('wasi:io/streams#input-stream', stdin);
    const state = guest.host.capture();
    const other = await DirectGuest.make(new LonePort());
    other.host.restore(state);
    expect(other.host.capture()).toEqual(state);
    other.call('wasi:io/poll#pollable.block', late);
    expect(other.port.nowNs).toBeGreaterThanOrEqual(70);
    expect(other.call('wasi:cli/stdin#get-stdin')).toEqual(stdin);
    expect(guest.host.capture()).toEqual(state);
  });
});
