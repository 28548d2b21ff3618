import { findGuest, loadGuest } from '../guests/index.ts';
import { instrument } from '../wasm/instrument/index.ts';
import type { InstrumentOptions } from '../wasm/instrument/options.ts';
import { interleave, ratio, type Benchmark, type Contender, type Figure } from './harness.ts';
import { SmallHost } from './small-host.ts';

const ROUNDS = 5;

const NOTHING: InstrumentOptions = {
  nan: false,
  fuel: false,
  depth: false,
  suspend: 'none',
  dirtyPages: false,
  memoryPagesMax: 4096,
};

const VARIANTS: Readonly<Record<string, Partial<InstrumentOptions>>> = {
  'suspendable, no fuel': { suspend: 'blocking' },
  'exact fuel': { fuel: true },
  'everything on': {
    nan: true,
    fuel: true,
    depth: true,
    suspend: 'anywhere',
    dirtyPages: true,
  },
};

interface Job {
  readonly guest: string;
  readonly args: readonly string[];
  /** The bars by variant; a variant without one is only reported. */
  readonly bars: Readonly<Record<string, number>>;
}

const JOBS: readonly Job[] = [
  {
    guest: 'sqlite',
    args: ['sqlite', 'bench', ':memory:', '60000'],
    bars: { 'suspendable, no fuel': 1.12, 'exact fuel': 1.22, 'everything on': 1.4 },
  },
  {
    guest: 'gohello',
    // Long enough that V8 has chosen its tiers: a short run measures the compiler instead.
    args: ['gohello', '8', '3000'],
    bars: { 'suspendable, no fuel': 1.03, 'exact fuel': 1.22, 'everything on': 1.4 },
  },
  {
    guest: 'sha256',
    args: ['sha256', '8000000', '2'],
    bars: { 'exact fuel': 1.22, 'everything on': 1.4 },
  },
  { guest: 'fp', args: ['fp', '20000'], bars: { 'everything on': 1.4 } },
];

async function measureJob(job: Job): Promise<readonly Figure[]> {
  const binary = await loadGuest(job.guest);
  const outputs = new Map<string, string>();
  const contender = (
    name: string,
    module: WebAssembly.Module,
    instrumented: ConstructorParameters<typeof SmallHost>[2],
  ): Contender => ({
    name,
    run: () => {
      const host = new SmallHost(module, job.args, instrumented);
      host.run();
      outputs.set(name, host.output);
    },
  });
  const contenders = [contender('plain', new WebAssembly.Module(binary), null)];
  const transformMs: number[] = [];
  let growth = 0;
  for (const [name, options] of Object.entries(VARIANTS)) {
    const start = process.cpuUsage();
    const made = instrument(
      binary,
      { ...NOTHING, ...options },
      (_, call) => call === 'poll_oneoff',
    );
    const { user, system } = process.cpuUsage(start);
    transformMs.push((user + system) / 1000);
    growth = made.binary.length / binary.length;
    const suspends = options.suspend !== undefined;
    const module = new WebAssembly.Module(made.binary);
    contenders.push(contender(name, module, { layout: made.layout, suspends }));
  }
  const timings = interleave(contenders, ROUNDS);
  for (const [name, output] of outputs) {
    if (comparable(output) !== comparable(outputs.get('plain') ?? '')) {
      throw new Error(`${job.guest}, ${name}: another output`);
    }
  }
  const note = `median of ${ROUNDS} interleaved rounds, processor time`;
  const ratios = Object.keys(VARIANTS).map((name): Figure => {
    const bar = job.bars[name];
    return {
      name: `${job.guest}: ${name}`,
      value: ratio(timings, name, 'plain'),
      unit: 'x',
      bar: bar === undefined ? null : { kind: 'at-most', value: bar },
      note,
    };
  });
  const megabytes = binary.length / 1e6;
  const perMegabyte: Figure = {
    name: `${job.guest}: transform, everything on`,
    value: (transformMs[transformMs.length - 1] as number) / 1000 / megabytes,
    unit: 's/MB',
    // A small module is the price of starting, not of the work.
    bar: megabytes < 0.5 ? null : { kind: 'at-most', value: 1 },
    note: `processor time; ${binary.length} bytes, becomes ${growth.toFixed(1)} times as large`,
  };
  return [...ratios, perMegabyte];
}

/** What must be equal: bits of NaNs are the engine's whim in a plain module. */
function comparable(output: string): string {
  return output
    .split('\n')
    .filter((line) => !line.includes('nan'))
    .join('\n');
}

/** What the instrumentation costs at run time, and how long it takes. */
export const instrumentationBenchmark: Benchmark = {
  name: 'instrumentation',
  async measure(progress): Promise<readonly Figure[]> {
    const figures: Figure[] = [];
    for (const job of JOBS) {
      progress(`${job.guest} (${findGuest(job.guest).language})`);
      figures.push(...(await measureJob(job)));
    }
    return figures;
  },
};
