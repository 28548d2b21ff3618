import { beforeAll, describe, expect, it } from 'vitest';
import { findGuest } from '../../guests/index.ts';
import type { Effect, Outcome } from '../../sim/index.ts';
import type { PreparedProgram } from '../../wasm/runtime/prepared.ts';
import { LonePort } from '../support/lone-guest.ts';
import { prepareComponent, spawn } from './programs.ts';

interface Run {
  readonly output: string;
  readonly end: Effect;
  readonly stops: number;
  readonly instructions: number;
  readonly eventChain: string;
}

function run(prepared: PreparedProgram, movesEvery: number, sliceNs: number): Run {
  const port = new LonePort(['command', 'argument']);
  let guest = spawn(prepared, port);
  let outcome: Outcome = { reason: 'start', atNs: 0 };
  for (let stops = 0; stops < 100_000; stops++) {
    port.nowNs = outcome.atNs;
    port.horizonNs = outcome.atNs + sliceNs;
    const end = guest.resume(outcome);
    if (end.kind === 'exit' || end.kind === 'trap') {
      const { instructions } = guest;
      guest.dispose();
      const eventChain = port.events.log.chain();
      return { output: port.written.join(''), end, stops, instructions, eventChain };
    }
    outcome = { reason: 'continue', atNs: end.atNs };
    if (end.kind === 'wait') {
      outcome = { reason: 'deadline', atNs: Math.max(end.atNs, end.wait.deadlineNs ?? Infinity) };
    }
    if (stops % movesEvery !== movesEvery - 1) continue;
    const image = guest.capture();
    const digest = guest.digest();
    guest.dispose();
    guest = spawn(prepared, port);
    guest.restore(image);
    expect(guest.digest()).toBe(digest);
  }
  throw new Error('the guest does not end');
}

let command: PreparedProgram;

beforeAll(async () => {
  command = prepareComponent(Uint8Array.from(await findGuest('js-command').build()));
});

describe('a JavaScript program (componentize-js)', () => {
  it('has arguments, clocks, sleep, Math.random and console', () => {
    const { output, end } = run(command, Infinity, Infinity);
    expect(output).toMatch(/^arguments \["command","argument"\]\nslept 1 times, 25\d ms\n/);
    expect(output).toContain('date 2026-01-01T00:00:00.');
    expect(output).toMatch(/\nok\n$/);
    expect(end).toMatchObject({ kind: 'exit', code: 0 });
  });

  it('twice the same', () => {
    expect(run(command, Infinity, Infinity)).toEqual(run(command, Infinity, Infinity));
  });

  it('moved into a fresh guest at each blocking call: nothing differs', () => {
    expect(run(command, 1, Infinity)).toEqual(run(command, Infinity, Infinity));
  });

  it('stopped every 100 µs, moved at every 50th stop: nothing differs but the stops', () => {
    const plain = run(command, Infinity, Infinity);
    const moved = run(command, 50, 100_000);
    expect(moved.stops).toBeGreaterThan(100);
    expect(moved).toEqual({ ...plain, stops: moved.stops });
  });
});
