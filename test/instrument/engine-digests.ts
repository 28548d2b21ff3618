import { createHash, type Hash } from 'node:crypto';
import { CONTROL, GROWS_IN_PLACE } from '../../wasm/instrument/layout.ts';
import { instrument } from '../../wasm/instrument/index.ts';
import { COMBINATIONS, EVERYTHING, compareRuns } from './differential.ts';
import { encode } from './encode.ts';
import { guestDigest } from './engine-guest.ts';
import { preemptEvery, runInstrumented } from './instrumented-run.ts';
import { functionOf, memoryOf } from './plain-run.ts';
import { randomModule } from './random-module.ts';
import { featuresOf } from './test-features.ts';

/** What a child process is to run. */
export interface EngineTask {
  /** Random modules whose instrumented runs are digested. */
  readonly seeds: readonly number[];
  /** Guest binaries by path, with their arguments. */
  readonly guests: readonly { readonly path: string; readonly args: readonly string[] }[];
  /** Random modules, all with try_table, that are compared with this engine's plain runs. */
  readonly compared: readonly number[];
}

/** Name of a thing that ran, and a digest of all that it did. */
export type EngineDigest = readonly [name: string, digest: string];

function addText(hash: Hash, text: string): void {
  hash.update(text);
  hash.update('\n');
}

/**
 * One random module with raw NaNs, everything on, stopped every 11 instructions and moved to fresh
 * instances: the instrumented binary, every call, every result, memory and fuel.
 */
function moduleDigest(seed: number): string {
  const features = featuresOf(seed, { exnref: true });
  const model = randomModule(seed, features);
  const hash = createHash('sha256');
  try {
    const { binary, layout } = instrument(encode(model), EVERYTHING, (_, name) =>
      name.startsWith('block'),
    );
    hash.update(binary);
    const module = new WebAssembly.Module(binary);
    const subject = { module, layout, options: EVERYTHING, model, seed };
    const trace = runInstrumented(subject, preemptEvery(11, 3), {
      onMemory: (_, memory) => {
        hash.update(memory);
      },
      onStop: (frames, control) => {
        hash.update(frames);
        hash.update(control);
      },
    });
    for (const line of [...trace.log, ...trace.tables, trace.executed.join()]) addText(hash, line);
  } catch (error) {
    addText(hash, error instanceof Error ? error.message : String(error));
  }
  return hash.digest('hex');
}

/** `down(n)`: recursion that counts its own depth in memory, with locals to weigh its frames. */
const RECURSION = Uint8Array.from(
  [
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    [1, 5, 1, 0x60, 1, 0x7f, 0],
    [3, 2, 1, 0],
    [5, 3, 1, 0, 1],
    [6, 6, 1, 0x7f, 1, 0x41, 0, 0x0b],
    [7, 17, 2, 4, 0x64, 0x6f, 0x77, 0x6e, 0, 0, 6, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 2, 0],
    [10, 28, 1, 26, 2, 9, 0x7e, 3, 0x7c],
    // memory[0] += 1, then a call of itself with the parameter plus one
    [0x41, 0, 0x41, 0, 0x28, 2, 0, 0x41, 1, 0x6a, 0x36, 2, 0],
    [0x20, 0, 0x41, 1, 0x6a, 0x10, 0, 0x0b],
  ].flat(),
);

/** How deep a recursion without end goes before the depth limit ends it. */
function depthDigest(): string {
  const { binary, layout } = instrument(RECURSION, EVERYTHING, () => false);
  let code = 0;
  const athanor = {
    preempt: () => undefined,
    grow: () => GROWS_IN_PLACE,
    trap: (number: number) => {
      code = number;
    },
  };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(binary), { athanor });
  const { buffer } = memoryOf(exports, layout.memory.exportName);
  const control = new Int32Array(buffer, layout.controlBase, 4);
  control[CONTROL.fuel] = 1 << 30;
  let outcome = 'returned';
  try {
    functionOf(exports, 'down')(0);
  } catch (error) {
    outcome = error instanceof Error ? error.constructor.name : 'thrown';
  }
  const levels = new DataView(buffer, layout.guestBaseBytes).getInt32(0, true);
  return `${outcome} ${code} at ${levels}`;
}

/** Needs an engine that knows exnref, by itself or by a flag. */
function comparison(seed: number): string {
  const features = { ...featuresOf(seed, { exnref: true }), exnref: true, legacyExceptions: false };
  const names = [...COMBINATIONS.keys()];
  const combinations = ['everything', names[1 + (seed % (names.length - 1))]];
  const { mismatch } = compareRuns(randomModule(seed, features), seed, {
    combinations,
    sweepMax: 10,
  });
  if (mismatch === null) return 'equal';
  return `${mismatch.combination}, ${mismatch.schedule}: ${mismatch.detail}`;
}

/** Runs a task; equal on every engine, or the pass or the engine is not deterministic. */
export function engineDigests(
  { seeds, guests, compared }: EngineTask,
  read: (path: string) => Uint8Array,
): EngineDigest[] {
  const digests: EngineDigest[] = seeds.map((seed) => [`seed ${seed}`, moduleDigest(seed)]);
  digests.push(['recursion', depthDigest()]);
  for (const { path, args } of guests) {
    const name = `${path.split('/').at(-1) ?? path} ${args.join(' ')}`;
    digests.push([name, guestDigest(read(path), args)]);
  }
  for (const seed of compared) digests.push([`compared ${seed}`, comparison(seed)]);
  return digests;
}
