import { beforeAll, describe, expect, it } from 'vitest';
import { SimError } from '../../sim/index.ts';
import { instrument } from '../../wasm/instrument/index.ts';
import { FEATURE_MODULES } from './pass-modules.ts';
import { ALL_ON, assembleGuest } from './wat-runs.ts';
import { openWabt, type Wabt } from './wabt.ts';

let wabt: Wabt;
beforeAll(async () => {
  wabt = await openWabt();
});

/** The code of the typed error, or null when the bytes were accepted; anything else is a bug. */
function tryInstrument(bytes: Uint8Array): string | null {
  try {
    instrument(bytes, ALL_ON, () => true);
    return null;
  } catch (error) {
    if (!(error instanceof SimError) || !error.code.startsWith('guest/')) throw error;
    expect(error.place).toMatch(/^offset \d+$/);
    return error.code;
  }
}

describe('a damaged module', () => {
  for (const [name, body] of Object.entries(FEATURE_MODULES)) {
    it(`cut at each byte gives a typed error with its offset: ${name}`, () => {
      const whole = assembleGuest(wabt, body);
      let accepted = 0;
      for (let length = 0; length < whole.length; length += 1) {
        if (tryInstrument(whole.subarray(0, length)) === null) accepted += 1;
      }
      // A cut between sections can leave a smaller valid module, but never one with code to run.
      expect(accepted).toBeLessThan(whole.length / 4);
      expect(tryInstrument(whole)).toBeNull();
    });

    it(`with each byte changed gives a typed error or a valid module: ${name}`, () => {
      const whole = assembleGuest(wabt, body);
      let refused = 0;
      for (let at = 0; at < whole.length; at += 1) {
        for (const flip of [0x01, 0x40, 0xff]) {
          const damaged = whole.slice();
          damaged[at] ^= flip;
          if (tryInstrument(damaged) !== null) refused += 1;
        }
      }
      expect(refused).toBeGreaterThan(whole.length / 2);
    });
  }
});
