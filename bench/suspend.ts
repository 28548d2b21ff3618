import { readFileSync } from 'node:fs';
import { buildGo, compileC, findGo } from '../guests/index.ts';
import { instrument } from '../wasm/instrument/index.ts';
import { EVERYTHING } from '../wasm/runtime/prepare.ts';
import { interleave, medianMs, type Benchmark, type Figure } from './harness.ts';
import { packagePath } from './paths.ts';
import { SmallHost } from './small-host.ts';

/** Frames on the stack at a wait, those of the language's own start and wait among them. */
const DEPTH = 32;
const ROUNDS = 9;
const PER_WAIT = 8;

interface Job {
  readonly name: string;
  readonly count: number;
  readonly barNs: number;
  readonly binary: Uint8Array;
}

function compileProgram(): Promise<Uint8Array> {
  const bytes = readFileSync(packagePath('bench/suspend-c/main.c'));
  return compileC({ files: [{ path: 'main.c', bytes }], units: ['main.c'] });
}

/**
 * The price of a suspension: the same code and calls, with waits that stop the guest several times
 * or not at all. Several, as one would drown in what a wait costs the guest's own scheduler.
 */
function measureJob({ name, count, barNs, binary }: Job): Figure {
  const made = instrument(
    binary,
    { ...EVERYTHING, memoryPagesMax: 4096 },
    (_, call) => call === 'poll_oneoff',
  );
  const module = new WebAssembly.Module(made.binary);
  const instrumented = { layout: made.layout, suspends: true };
  const host = new SmallHost(module, ['suspend', '9', '1'], instrumented);
  host.run();
  const calls = DEPTH - host.frames + 1;
  const args = ['suspend', String(count), String(calls)];
  const outputs = new Set<string>();
  let suspensions = 0;
  const run = (suspensionsPerWait: number): void => {
    const host = new SmallHost(module, args, instrumented, { suspensionsPerWait });
    host.run();
    outputs.add(host.output);
    if (host.suspensions === 0) return;
    if (host.frames !== DEPTH) throw new Error(`${name}: it waits at depth ${host.frames}`);
    suspensions = host.suspensions;
  };
  const timings = interleave(
    [
      { name: 'suspends', run: () => run(PER_WAIT) },
      { name: 'goes on', run: () => run(0) },
    ],
    ROUNDS,
  );
  if (outputs.size !== 1) throw new Error(`${name}: another output when suspended`);
  if (suspensions < count) throw new Error(`${name}: it hardly waits`);
  return {
    name,
    value: ((medianMs(timings, 'suspends') - medianMs(timings, 'goes on')) * 1e6) / suspensions,
    unit: 'ns',
    bar: { kind: 'at-most', value: barNs },
    note: `${suspensions} suspensions, ${PER_WAIT} a wait, median of ${ROUNDS} interleaved rounds`,
  };
}

/** Suspend and resume of a guest that is instrumented with everything, at depth 32. */
export const suspendBenchmark: Benchmark = {
  name: 'suspend',
  async measure(progress): Promise<readonly Figure[]> {
    progress('C');
    const c = { name: `C, depth ${DEPTH}`, count: 30_000, barNs: 400 };
    const figures = [measureJob({ ...c, binary: await compileProgram() })];
    if ((await findGo()) === undefined) {
      progress('Go: not measured: no Go compiler for wasip1 is installed');
      return figures;
    }
    progress('Go');
    const binary = await buildGo({ directory: packagePath('bench/suspend-go') });
    const go = { name: `Go, depth ${DEPTH}`, count: 20_000, barNs: 350 };
    return [...figures, measureJob({ ...go, binary })];
  },
};
