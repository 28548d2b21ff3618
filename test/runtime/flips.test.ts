import { beforeAll, describe, expect, it } from 'vitest';
import { Simulation, type SimulationResult } from '../../cli/simulation.ts';
import { scenario } from '../../scenarios/index.ts';
import type { MemoryFlip, Outcome } from '../../sim/index.ts';
import { WasmGuest } from '../../wasm/runtime/wasm-guest.ts';
import { outcomeOf, prepare, type Prepared } from '../guests/simulate.ts';
import { LonePort, runAlone } from '../support/lone-guest.ts';
import { prepareText } from '../support/text-program.ts';

/** After each sleep it tells the word at 70000, in a page of memory that it grew; then it grows more. */
const SOURCE = `(module
  (import "host" "sleep" (func $sleep (param i64) (result i64)))
  (import "host" "log" (func $log (param i32)))
  (memory (export "memory") 1)
  (func (export "_start") (local $k i32)
    (drop (memory.grow (i32.const 1)))
    (loop $again
      (drop (call $sleep (i64.const 1000)))
      (call $log (i32.load (i32.const 70000)))
      (drop (memory.grow (i32.const 1)))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 4))))))`;

/** Gives one flip, once the guest goes on at 2000 ns or later. */
class FlippingPort extends LonePort {
  readonly sizes: number[] = [];
  private given = false;

  override takeFlips = (byteCount: number): readonly MemoryFlip[] => {
    this.sizes.push(byteCount);
    if (this.given || this.nowNs < 2_000) return [];
    this.given = true;
    return [{ address: 70_000, bits: [3, 31, 40] }];
  };
}

const values = (port: LonePort): readonly string[] => {
  return port.written.map((line) => line.split(' ')[0] ?? '');
};
const FLIPPED = String((8 + 2 ** 31) | 0);

describe('CR-86: bits of a program’s memory', () => {
  it('flip while it stands still, in the memory that it has, and stand in image and digest', async () => {
    const prepared = await prepareText(SOURCE);
    const port = new FlippingPort();
    const guest = new WasmGuest(prepared, port, 1_000);
    runAlone(guest, port);
    expect(values(port)).toEqual(['0', FLIPPED, FLIPPED, FLIPPED]);
    expect(port.sizes.map((bytes) => bytes / 65_536)).toEqual([1, 2, 3, 4, 5]);
    guest.dispose();
    const plain = new LonePort();
    runAlone(new WasmGuest(prepared, plain, 1_000), plain);
    expect(values(plain)).toEqual(['0', '0', '0', '0']);
  });

  it('and an image from after the flip has them, one from before has not', async () => {
    const prepared = await prepareText(SOURCE);
    const port = new FlippingPort();
    const guest = new WasmGuest(prepared, port, 1_000);
    const digests: string[] = [];
    let outcome: Outcome = { reason: 'start', atNs: 0 };
    for (let stop = 0; stop < 4; stop++) {
      port.horizonNs = Infinity;
      const effect = guest.resume(outcome);
      if (effect.kind !== 'wait') throw new Error('it sleeps');
      const other = new LonePort();
      const twin = new WasmGuest(prepared, other, 1_000, guest.capture());
      expect(twin.digest()).toBe(guest.digest());
      digests.push(twin.digest());
      outcome = { reason: 'deadline', atNs: effect.wait.deadlineNs as number };
      other.horizonNs = Infinity;
      twin.resume(outcome);
      expect(values(other)).toEqual([stop < 2 ? '0' : FLIPPED]);
      twin.dispose();
    }
    expect(new Set(digests).size).toBe(4);
    guest.dispose();
  });
});

describe('CR-86: a flip in the memory of a compiled program in a world', () => {
  let echo: Prepared;
  beforeAll(async () => {
    const builder = scenario('echo with a flip')
      .network({ latency: '5ms', jitter: '2ms' })
      .node({ name: 'server', guest: 'echo-server', args: ['7'] })
      .node({ name: 'one', guest: 'echo-client', args: ['server', '7', '6', '200', '20'] })
      .event({ name: 'flip', at: '60ms', do: 'flip', target: 'memory', node: 'server', bits: 2 })
      .limits({ virtual_time: '20s' });
    echo = await prepare(builder, ['echo-server', 'echo-client']);
  });

  const simulation = (seed: number): Simulation => {
    return new Simulation({ ...echo, scenario: echo.def, seed });
  };
  const finish = (run: Simulation): SimulationResult => {
    run.runUntil({});
    const result = run.finish();
    run.dispose();
    return result;
  };

  it('CR-20: is the same from every boundary, and another one for another seed', () => {
    const whole = finish(simulation(4));
    const flips = whole.notes.filter(({ text }) => text.includes('flipped'));
    expect(flips.length).toBe(1);
    const run = simulation(4);
    let boundaries = 0;
    for (let quanta = 0; run.runUntil({ quanta }) === 'stopped'; quanta += 2) {
      const other = simulation(4);
      other.restore(run.capture());
      expect(outcomeOf(finish(other)).identity).toBe(outcomeOf(whole).identity);
      boundaries++;
    }
    run.dispose();
    expect(boundaries).toBeGreaterThan(5);
    const texts = [5, 6, 7].map((seed) => {
      return finish(simulation(seed)).notes.find(({ text }) => text.includes('flipped'))?.text;
    });
    expect(new Set([...texts, flips[0]?.text]).size).toBe(4);
  });
});
