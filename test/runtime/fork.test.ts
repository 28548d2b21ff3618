import { describe, expect, it } from 'vitest';
import type { Effect, GuestImage } from '../../sim/index.ts';
import type { PreparedProgram } from '../../wasm/runtime/prepared.ts';
import { WasmGuest } from '../../wasm/runtime/wasm-guest.ts';
import { LonePort } from '../support/lone-guest.ts';
import { prepareText } from '../support/text-program.ts';

/**
 * Sleeps eleven times; before each sleep it stores here and there, also over the ends of pages, and
 * the fifth time it takes more memory.
 */
const SOURCE = `(module
  (import "host" "sleep" (func $sleep (param i64) (result i64)))
  (import "host" "log" (func $log (param i32)))
  (memory (export "memory") 2)
  (global $round (mut i32) (i32.const 0))
  (data (i32.const 8) "pristine")
  (func (export "_start") (local $page i32)
    (loop $again
      (global.set $round (i32.add (global.get $round) (i32.const 1)))
      (local.set $page (i32.shl (global.get $round) (i32.const 12)))
      (i32.store offset=2 (local.get $page) (global.get $round))
      (i32.store offset=200 (i32.add (local.get $page) (i32.const 4000)) (i32.const -1))
      (i64.store (i32.add (local.get $page) (i32.const 16380)) (i64.const 0x0102030405060708))
      (if (i32.eq (global.get $round) (i32.const 5))
        (then
          (drop (memory.grow (i32.const 1)))
          (i32.store (i32.const 196604) (i32.const 9))))
      (drop (call $sleep (i64.const 1000)))
      (call $log (i32.load offset=200 (i32.add (local.get $page) (i32.const 4000))))
      (br_if $again (i32.lt_u (global.get $round) (i32.const 11))))))`;

interface Stop {
  readonly image: GuestImage;
  readonly digest: string;
  readonly atNs: number;
}

/** Lets the guest run to its next sleep; null at its end. */
function runToStop(guest: WasmGuest, port: LonePort, atNs: number): Stop | null {
  port.nowNs = atNs;
  const effect: Effect = guest.resume({ reason: 'deadline', atNs });
  if (effect.kind !== 'wait') return null;
  const next = effect.wait.deadlineNs as number;
  return { image: guest.capture(), digest: guest.digest(), atNs: next };
}

function everyStop(program: PreparedProgram): readonly Stop[] {
  const port = new LonePort();
  const guest = new WasmGuest(program, port, 1000);
  const stops: Stop[] = [];
  for (
    let stop = runToStop(guest, port, 0);
    stop !== null;
    stop = runToStop(guest, port, stop.atNs)
  )
    stops.push(stop);
  guest.dispose();
  return stops;
}

describe('forks of a guest', () => {
  it('are equal to their image, whichever guest their instances served before', async () => {
    const program = await prepareText(SOURCE);
    const stops = everyStop(program);
    expect(stops.length).toBe(11);
    expect(new Set(stops.map(({ digest }) => digest)).size).toBe(11);
    stops.forEach((before, first) => {
      stops.forEach((stop, second) => {
        const port = new LonePort();
        const earlier = new WasmGuest(program, port, 1000, before.image);
        expect(earlier.digest()).toBe(before.digest);
        runToStop(earlier, port, before.atNs);
        earlier.dispose();
        const fork = new WasmGuest(program, port, 1000, stop.image);
        expect(`${first} ${second} ${fork.digest()}`).toBe(`${first} ${second} ${stop.digest}`);
        expect(fork.capture().pages).toBe(stop.image.pages);
        const next = runToStop(fork, port, stop.atNs);
        expect(next?.digest).toBe(stops[second + 1]?.digest);
        fork.dispose();
      });
    });
  });

  it('leave nothing to a fresh guest in the same instances', async () => {
    const program = await prepareText(SOURCE);
    const stops = everyStop(program);
    for (const { image, atNs } of stops) {
      const port = new LonePort();
      const fork = new WasmGuest(program, port, 1000, image);
      runToStop(fork, port, atNs);
      fork.dispose();
      expect(everyStop(program).map(({ digest }) => digest)).toEqual(
        stops.map(({ digest }) => digest),
      );
    }
  });

  it('live side by side without knowing of one another', async () => {
    const program = await prepareText(SOURCE);
    const stops = everyStop(program);
    const stop = stops[2] as Stop;
    const forks = Array.from({ length: 5 }, () => {
      const port = new LonePort();
      return { port, guest: new WasmGuest(program, port, 1000, stop.image), atNs: stop.atNs };
    });
    for (let ahead = 0; ahead < forks.length; ahead++) {
      forks.slice(ahead).forEach((fork) => {
        fork.atNs = runToStop(fork.guest, fork.port, fork.atNs)?.atNs ?? 0;
      });
    }
    forks.forEach(({ guest }, index) => {
      expect(guest.digest()).toBe(stops[2 + index + 1]?.digest);
      guest.dispose();
    });
  });
});
