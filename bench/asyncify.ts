import { loadGuest } from '../guests/index.ts';
import { SimError } from '../sim/index.ts';
import { instrument } from '../wasm/instrument/index.ts';
import { EVERYTHING } from '../wasm/runtime/prepare.ts';
import { asyncify } from './asyncified.ts';
import { addFuel, FUEL_GLOBAL } from './fuel-pass.ts';
import { interleave, ratio, type Benchmark, type Figure } from './harness.ts';
import { SmallHost } from './small-host.ts';
import { threadTimeMs } from './thread-time.ts';

const ROUNDS = 5;
const TRANSFORMS = 3;
const ARGS = ['sqlite', 'bench', ':memory:', '60000'];
/** What may stop the guest: its waits, and the end of its fuel. */
const STOPS = ['wasi_snapshot_preview1.poll_oneoff', 'athanor.preempt'];

/** The guest, or why it is not in the cache of builds and cannot be built. */
async function loadSqlite(): Promise<Uint8Array | SimError> {
  try {
    return await loadGuest('sqlite');
  } catch (error) {
    if (error instanceof SimError) return error;
    throw error;
  }
}

/** Binaryen's Asyncify with a counter of fuel, against our instrumentation with everything on. */
export const asyncifyBenchmark: Benchmark = {
  name: 'asyncify',
  async measure(progress): Promise<readonly Figure[]> {
    const binary = await loadSqlite();
    if (binary instanceof SimError) {
      progress(`not measured: ${binary.message}`);
      return [];
    }
    progress('Binaryen on sqlite: a minute, unless the cache of builds has it');
    const theirs = await asyncify(addFuel(binary), STOPS);
    const transforms: number[] = [];
    const transform = () => {
      const start = threadTimeMs();
      const made = instrument(
        binary,
        { ...EVERYTHING, memoryPagesMax: 4096 },
        (_, call) => call === 'poll_oneoff',
      );
      transforms.push(threadTimeMs() - start);
      return made;
    };
    for (let round = 1; round < TRANSFORMS; round++) transform();
    const ours = transform();
    const outputs = new Set<string>();
    let refuelCount = 0;
    const refuel = (exports: Readonly<Record<string, unknown>>): void => {
      (exports[FUEL_GLOBAL] as WebAssembly.Global).value = 2 ** 30;
      refuelCount++;
    };
    const run = (host: SmallHost): void => {
      host.run();
      outputs.add(host.output);
    };
    const instrumented = { layout: ours.layout, suspends: true };
    const module = new WebAssembly.Module(ours.binary);
    progress('runs');
    const timings = interleave(
      [
        { name: 'asyncify', run: () => run(new SmallHost(theirs.module, ARGS, null, { refuel })) },
        { name: 'ours', run: () => run(new SmallHost(module, ARGS, instrumented)) },
      ],
      ROUNDS,
    );
    if (outputs.size !== 1) throw new Error('sqlite: another output');
    if (refuelCount === 0) throw new Error('sqlite: its fuel never ends');
    const sizes = `${binary.length} bytes become ${theirs.byteCount} there, ${ours.binary.length} here`;
    return [
      {
        name: 'sqlite: Asyncify -O2 with fuel, of ours with everything on',
        value: ratio(timings, 'asyncify', 'ours'),
        unit: 'x',
        bar: { kind: 'at-least', value: 1.6 },
        note: `median of ${ROUNDS} interleaved rounds; its fuel is charged by loop and function, ours exactly; ${sizes}`,
      },
      {
        name: 'sqlite: transform, Asyncify -O2, of ours',
        value: theirs.transformMs / (transforms[TRANSFORMS - 1] as number),
        unit: 'x',
        bar: { kind: 'at-least', value: 25 },
        note: `${(theirs.transformMs / 1000).toFixed(1)} s, taken once when it was built into the cache, against ${((transforms[TRANSFORMS - 1] as number) / 1000).toFixed(2)} s, the ${TRANSFORMS}rd time in this process`,
      },
    ];
  },
};
