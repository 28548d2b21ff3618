import type { Features } from './body-builder.ts';

/** The language features of the module of a seed: all mixtures come up. */
export function featuresOf(seed: number, { exnref }: { exnref: boolean }): Features {
  return {
    simd: seed % 2 === 0,
    tailCalls: seed % 3 !== 0,
    legacyExceptions: seed % 4 === 1,
    exnref: exnref && seed % 4 === 3,
    liveReferences: seed % 5 === 0,
  };
}

/** A module with `try_table`, to ask the engine whether it knows exnref. */
const TRY_TABLE = [
  [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  [1, 4, 1, 0x60, 0, 0],
  [3, 2, 1, 0],
  [10, 8, 1, 6, 0, 0x1f, 0x40, 0, 0x0b, 0x0b],
].flat();

/** Whether this engine runs `try_table` (exnref) without flags. */
export function engineKnowsExnref(): boolean {
  return WebAssembly.validate(Uint8Array.from(TRY_TABLE));
}
