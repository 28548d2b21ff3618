import { beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../sim/index.ts';
import { instrument, type InstrumentOptions } from '../../wasm/instrument/index.ts';
import { FEATURE_MODULES } from './pass-modules.ts';
import { ALL_ON, assembleGuest, runInstrumentedWat, runPlainWat, type WatRun } from './wat-runs.ts';
import { openWabt, type Wabt } from './wabt.ts';

let wabt: Wabt;
beforeAll(async () => {
  wabt = await openWabt();
});

const MUCH = 1_000_000;

/** Result, memory and calls: what the guest and the host can see. */
function seen({ result, memory, asked }: WatRun): unknown {
  return { result, asked, memory: sha256(memory) };
}

const STRAIGHT = { atAsk: false, quantum: MUCH };
const OFF: InstrumentOptions = {
  nan: false,
  fuel: false,
  depth: false,
  suspend: 'none',
  dirtyPages: false,
  memoryPagesMax: 16,
};

/**
 * What the plain module does. Its memory may hold NaN bits of the compiler's choice, so the memory
 * is that of a run with nothing but canonical NaNs; also where V8 cannot run the module itself.
 */
function reference(binary: Uint8Array): WatRun {
  const canonical = runInstrumentedWat(binary, { ...OFF, nan: true }, STRAIGHT);
  if (!WebAssembly.validate(binary)) return canonical;
  const { result, asked } = runPlainWat(binary);
  return { ...canonical, result, asked };
}

describe('an instrumented module does what the plain one does', () => {
  for (const [name, body] of Object.entries(FEATURE_MODULES)) {
    it(`${name}: suspended at every call and preempted at every fuel count`, () => {
      const binary = assembleGuest(wabt, body);
      const plain = seen(reference(binary));
      const whole = runInstrumentedWat(binary, ALL_ON, STRAIGHT);
      expect(seen(whole)).toEqual(plain);
      let suspensions = 0;
      for (const quantum of [MUCH, 1, 2, 3, 5, 7, 11, 19, 50]) {
        const run = runInstrumentedWat(binary, ALL_ON, { atAsk: true, quantum });
        expect(seen(run)).toEqual(plain);
        expect(run.executed).toBe(whole.executed);
        suspensions += run.suspensions;
      }
      expect(suspensions).toBeGreaterThan(8);
    });

    it(`${name}: each part alone`, () => {
      const binary = assembleGuest(wabt, body);
      const plain = seen(reference(binary));
      for (const part of ['nan', 'fuel', 'depth', 'dirtyPages'] as const) {
        const run = runInstrumentedWat(binary, { ...OFF, nan: true, [part]: true }, STRAIGHT);
        expect(seen(run)).toEqual(plain);
      }
      const blocking = { ...OFF, nan: true, suspend: 'blocking' as const };
      const run = runInstrumentedWat(binary, blocking, { atAsk: true, quantum: MUCH });
      expect(run.suspensions).toBe(run.asked);
      expect(seen(run)).toEqual(plain);
    });
  }

  it('gives the same bytes each time', () => {
    const binary = assembleGuest(wabt, FEATURE_MODULES['recursion and globals']);
    const once = instrument(binary, ALL_ON, () => true);
    expect(instrument(binary, ALL_ON, () => true)).toEqual(once);
  });

  it('counts each executed instruction once, markers not', () => {
    const binary = assembleGuest(
      wabt,
      `(func (export "run") (param i32) (result i32)
         (block $b (br_if $b (local.get 0)) (drop (i32.const 1)))
         (if (result i32) (local.get 0) (then (i32.const 2)) (else (i32.const 3) (nop) (nop))))`,
    );
    const run = runInstrumentedWat(binary, ALL_ON, STRAIGHT);
    // local.get, br_if, local.get, if, i32.const
    expect(run.executed).toBe(5);
  });
});
