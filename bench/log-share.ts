import { runToEnd } from '../cli/record.ts';
import {
  decodeDecisions,
  decodeEvents,
  Decisions,
  EventLog,
  LOG_DECISIONS,
  LOG_EVENTS,
  readWholeLog,
  type EventKind,
  type Stream,
} from '../sim/index.ts';
import { WasmEngine } from '../wasm/index.ts';
import { interleave, medianMs, ratio, type Benchmark, type Figure } from './harness.ts';
import { loadRaft } from './raft-scenario.ts';

const ROUNDS = 9;

/** Frames are kept, as a run keeps them. */
function keeper(): (frame: Uint8Array) => void {
  const frames: Uint8Array[] = [];
  return (frame) => void frames.push(frame.slice());
}

/** Draws and logs the decisions of a recorded run once more, without the run. */
function redecide(schedule: Uint8Array): () => void {
  const list = [...decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))];
  return () => {
    const decisions = new Decisions(1, keeper());
    const streams = new Map<string, Stream>();
    for (const { stream: name, atNs, arity } of list) {
      let stream = streams.get(name);
      if (stream === undefined) {
        stream = decisions.stream(name);
        streams.set(name, stream);
      }
      decisions.decide(stream, atNs, arity);
    }
    decisions.log.flush();
  };
}

/** Logs the events of a recorded run once more, without the run. */
function reappend(bytes: Uint8Array): () => void {
  const list = [...decodeEvents(readWholeLog(bytes, LOG_EVENTS))];
  return () => {
    const events = new EventLog(keeper());
    const kinds = new Map<string, EventKind>();
    for (const { kind: name, guest, atNs, input, result } of list) {
      let kind = kinds.get(name);
      if (kind === undefined) {
        kind = events.kind(name);
        kinds.set(name, kind);
      }
      events.append(kind, guest, atNs, input, result);
    }
    events.log.flush();
  };
}

/** What part of a run's time its two logs take: the run, against its logs alone. */
export const logShareBenchmark: Benchmark = {
  name: 'log share',
  measure(): readonly Figure[] {
    const { scenario, images } = loadRaft();
    const engine = new WasmEngine();
    const run = () => runToEnd({ scenario, images, engine });
    const { outcome, schedule, events } = run();
    const decide = redecide(schedule);
    const append = reappend(events);
    const timings = interleave(
      [
        { name: 'run', run: () => void run() },
        {
          name: 'logs',
          run: () => {
            decide();
            append();
          },
        },
      ],
      ROUNDS,
    );
    return [
      {
        name: 'decisions and events, of the time of a run',
        value: 100 * ratio(timings, 'logs', 'run'),
        unit: '%',
        bar: { kind: 'at-most', value: 8 },
        note: `raft: ${outcome.decisionCount} decisions and ${outcome.eventCount} events in ${medianMs(timings, 'run').toFixed(0)} ms`,
      },
    ];
  },
};
