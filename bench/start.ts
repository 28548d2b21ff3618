import { interleaveWall, medianMs, ratio, type Benchmark, type Figure } from './harness.ts';
import { runNode, runSim } from './processes.ts';

const ROUNDS = 15;

/** How long the command takes to say its version, in wall time. */
export const startBenchmark: Benchmark = {
  name: 'start',
  async measure(): Promise<readonly Figure[]> {
    const timings = await interleaveWall(
      [
        { name: 'sim', run: () => runSim(['--version']) },
        { name: 'node', run: () => runNode(['-e', '0']) },
      ],
      ROUNDS,
    );
    const note = `wall time, median of ${ROUNDS} interleaved rounds`;
    return [
      {
        name: 'sim --version',
        value: medianMs(timings, 'sim'),
        unit: 'ms',
        bar: { kind: 'at-most', value: 120 },
        note,
      },
      {
        name: 'against node -e 0',
        value: ratio(timings, 'sim', 'node'),
        unit: 'x',
        bar: null,
        note: `${Math.round(medianMs(timings, 'node'))} ms`,
      },
    ];
  },
};
