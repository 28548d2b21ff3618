import { bundleOfRun } from '../cli/bundle-write.ts';
import { openBundle } from '../cli/bundle.ts';
import { runToEnd } from '../cli/record.ts';
import { WasmEngine } from '../wasm/index.ts';
import { interleave, medianMs, ratio, type Benchmark, type Figure } from './harness.ts';
import { loadRaft } from './raft-scenario.ts';

const ROUNDS = 9;

/** A run of the raft scenario and its replay; then the same with the bundle written and read. */
export const replayBenchmark: Benchmark = {
  name: 'replay',
  measure(): readonly Figure[] {
    const { scenario, images, sources } = loadRaft();
    const engine = new WasmEngine();
    const record = () => runToEnd({ scenario, images, engine });
    const pack = () => {
      return bundleOfRun({ record: record(), images, sources, lineage: null, thin: false });
    };
    const bundle = pack();
    const recording = openBundle(bundle);
    const repeat = ({ schedule, events }: typeof recording): void => {
      const again = runToEnd({ scenario, images, engine, replay: { schedule, events } });
      if (Buffer.compare(again.events, events) !== 0) throw new Error('the replay differs');
    };
    const timings = interleave(
      [
        { name: 'run', run: () => void record() },
        { name: 'replay', run: () => repeat(recording) },
        { name: 'run and pack', run: () => void pack() },
        { name: 'open and replay', run: () => repeat(openBundle(bundle)) },
      ],
      ROUNDS,
    );
    const note = (name: string): string => {
      return `raft, ${medianMs(timings, name).toFixed(0)} ms, median of ${ROUNDS}`;
    };
    return [
      {
        name: 'recording with its bundle, against opening and replaying it',
        value: ratio(timings, 'run and pack', 'open and replay'),
        unit: 'x',
        bar: { kind: 'at-least', value: 1 },
        note: note('open and replay'),
      },
      {
        name: 'the run alone against its replay alone',
        value: ratio(timings, 'run', 'replay'),
        unit: 'x',
        bar: null,
        note: note('replay'),
      },
    ];
  },
};
