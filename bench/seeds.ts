import { interleaveWall, medianMs, ratio, type Benchmark, type Figure } from './harness.ts';
import { runSim } from './processes.ts';

const ROUNDS = 3;
const RUNS = 96;

/** A campaign of the raft scenario on two cores against one, start and compilation included. */
export const seedsBenchmark: Benchmark = {
  name: 'seeds',
  async measure(): Promise<readonly Figure[]> {
    const campaign = (jobs: number) => (): Promise<void> => {
      return runSim(['run', 'raft', '--runs', String(RUNS), '--jobs', String(jobs), '--quiet']);
    };
    const timings = await interleaveWall(
      [
        { name: 'one', run: campaign(1) },
        { name: 'two', run: campaign(2) },
      ],
      ROUNDS,
    );
    const seconds = (name: string): string => (medianMs(timings, name) / 1000).toFixed(1);
    return [
      {
        name: 'two jobs against one',
        value: ratio(timings, 'one', 'two'),
        unit: 'x',
        bar: { kind: 'at-least', value: 1.8 },
        note: `${RUNS} seeds of raft, ${seconds('one')} s and ${seconds('two')} s, wall time`,
      },
    ];
  },
};
