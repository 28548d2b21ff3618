import { describe, expect, it } from 'vitest';
import type { Effect, Outcome } from '../../sim/index.ts';
import { WasmGuest } from '../../wasm/runtime/wasm-guest.ts';
import { LonePort, runAlone } from '../support/lone-guest.ts';
import { prepareText } from '../support/text-program.ts';

/** A loop that mixes memory, sleeps, grows memory and logs; it stops in a nested call. */
const SOURCE = `(module
  (import "host" "sleep" (func $sleep (param i64) (result i64)))
  (import "host" "log" (func $log (param i32)))
  (memory (export "memory") 1)
  (global $sum (mut i32) (i32.const 7))
  (data (i32.const 0) "\\01\\02\\03\\04")
  (func $mix (param $n i32) (result i32)
    (local $i i32) (local $slept i64)
    (loop $again
      (i32.store (i32.mul (local.get $i) (i32.const 64))
        (i32.add (i32.load (i32.const 0)) (i32.mul (local.get $i) (global.get $sum))))
      (global.set $sum (i32.add (global.get $sum) (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (local.get $n))))
    (local.set $slept (call $sleep (i64.const 1000)))
    (i32.add (i32.wrap_i64 (local.get $slept)) (global.get $sum)))
  (func (export "_start") (local $k i32)
    (loop $again
      (call $log (call $mix (i32.const 300)))
      (if (i32.eq (local.get $k) (i32.const 2)) (then (drop (memory.grow (i32.const 1)))))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 6))))
    (call $log (memory.size))))`;

/** Holds references in a local over a wait, in a global, and in a table that it changes. */
const REFERENCES = `(module
  (import "host" "sleep" (func $sleep (param i64) (result i64)))
  (import "host" "log" (func $log (param i32)))
  (memory (export "memory") 1)
  (type $unary (func (param i32) (result i32)))
  (table $table 4 funcref)
  (global $kept (mut funcref) (ref.null func))
  (elem declare func $double $square)
  (func $double (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
  (func $square (param i32) (result i32) (i32.mul (local.get 0) (local.get 0)))
  (func $wait (param $f funcref) (result funcref)
    (drop (call $sleep (i64.const 1000)))
    (local.get $f))
  (func (export "_start") (local $k i32)
    (loop $again
      (table.set $table (i32.const 1)
        (call $wait (select (result funcref) (ref.func $double) (ref.func $square)
          (i32.and (local.get $k) (i32.const 1)))))
      (call $log (call_indirect $table (type $unary) (i32.const 7) (i32.const 1)))
      (global.set $kept (table.get $table (i32.const 1)))
      (drop (call $sleep (i64.const 10)))
      (table.set $table (i32.const 2) (global.get $kept))
      (call $log (call_indirect $table (type $unary) (local.get $k) (i32.const 2)))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 5))))))`;

describe('a guest of WebAssembly', () => {
  it('runs the same, whatever the slices are', async () => {
    const program = await prepareText(SOURCE);
    const whole = new LonePort();
    const stops = runAlone(new WasmGuest(program, whole, 1000), whole);
    expect(stops.map((stop) => stop.kind)).toEqual([...Array<string>(6).fill('wait'), 'exit']);
    expect(whole.written.length).toBe(7);
    for (const sliceNs of [1, 7, 100, 1000]) {
      const port = new LonePort();
      const guest = new WasmGuest(program, port, 1000);
      expect(runAlone(guest, port, sliceNs)).toEqual(stops);
      expect(port.written).toEqual(whole.written);
      guest.dispose();
    }
  });

  it.each([
    ['memory and frames', SOURCE],
    ['references', REFERENCES],
  ])('CR-101: goes on equally from an image of every stop: %s', async (_, source) => {
    const program = await prepareText(source);
    const whole = new LonePort();
    const stops = runAlone(new WasmGuest(program, whole, 1000), whole);
    const port = new LonePort();
    const guest = new WasmGuest(program, port, 1000);
    const pooled = new WasmGuest(program, new LonePort(), 1000);
    pooled.dispose();
    let outcome: Outcome = { reason: 'start', atNs: 0 };
    for (let stop = 0; ; stop++) {
      port.nowNs = outcome.atNs;
      port.horizonNs = outcome.atNs + 1500;
      const effect: Effect = guest.resume(outcome);
      if (effect.kind === 'exit') break;
      const image = guest.capture();
      const digest = guest.digest();
      outcome =
        effect.kind === 'wait'
          ? { reason: 'deadline', atNs: effect.wait.deadlineNs as number }
          : { reason: 'continue', atNs: effect.atNs };
      const otherPort = new LonePort();
      const other = new WasmGuest(program, otherPort, 1000);
      other.restore(image);
      expect(other.digest()).toBe(digest);
      otherPort.horizonNs = Infinity;
      let last: Effect = other.resume(outcome);
      while (last.kind === 'wait') {
        last = other.resume({ reason: 'deadline', atNs: last.wait.deadlineNs as number });
      }
      expect(last).toEqual(stops[stops.length - 1]);
      expect([...port.written, ...otherPort.written]).toEqual(whole.written);
      other.dispose();
    }
    expect(port.written).toEqual(whole.written);
  });

  it('counts time at the rate of its node', async () => {
    const program = await prepareText(SOURCE);
    const ends = [500, 1000, 3000].map((rate) => {
      const port = new LonePort();
      const stops = runAlone(new WasmGuest(program, port, rate), port);
      return (stops[stops.length - 1] as Effect).atNs - 6 * 1000;
    });
    const [half, one, triple] = ends as [number, number, number];
    expect(Math.abs(half * 2 - one)).toBeLessThan(14);
    expect(Math.abs(triple - 3 * one)).toBeLessThan(24);
  });

  it('names traps, and traps at the call depth limit wherever that is', async () => {
    const cases = [
      ['unreachable', 'unreachable'],
      ['(drop (i32.load (i32.const 65536)))', 'out-of-bounds-memory'],
      ['(drop (i32.div_u (i32.const 1) (i32.const 0)))', 'integer-divide-by-zero'],
      ['(drop (i32.trunc_f32_s (f32.const nan)))', 'invalid-conversion-to-integer'],
      ['(call $self)', 'call-depth'],
    ];
    for (const [code, name] of cases) {
      const source = `(module (memory (export "memory") 1) (func $self (export "_start") ${code}))`;
      const program = await prepareText(source);
      const port = new LonePort();
      const stops = runAlone(new WasmGuest(program, port, 1000), port);
      expect(stops[0]).toMatchObject({ kind: 'trap', code: name });
    }
  });
});
