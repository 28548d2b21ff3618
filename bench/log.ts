import { Encoder } from 'cbor-x';
import { Decisions, EventLog, drawUniform } from '../sim/index.ts';
import { interleave, type Benchmark, type Figure } from './harness.ts';

const COUNT = 200_000;
const ROUNDS = 9;

const ignore = (): void => undefined;

function decideMany(): { readonly bytes: number } {
  const decisions = new Decisions(1, ignore);
  const streams = Array.from({ length: 20 }, (_, index) => {
    return decisions.stream(`link/n${index}/jitter`);
  });
  for (let index = 0; index < COUNT; index++) {
    const stream = streams[index % 20];
    if (stream !== undefined) decisions.decide(stream, index * 50_000, 2_000_001);
  }
  return { bytes: decisions.log.byteCount };
}

/** The same draws, and nothing logged. */
function drawMany(): void {
  const decisions = new Decisions(1, ignore);
  const streams = Array.from({ length: 20 }, (_, index) => {
    return decisions.stream(`link/n${index}/jitter`);
  });
  let sum = 0;
  for (let index = 0; index < COUNT; index++) {
    const stream = streams[index % 20];
    if (stream !== undefined) sum += drawUniform(stream.key, stream.ordinal++, 2_000_001);
  }
  if (sum === 0) throw new Error('nothing was drawn');
}

function appendMany(): void {
  const events = new EventLog(ignore);
  const kind = events.kind('wasi/fd_write');
  for (let index = 0; index < COUNT; index++) {
    events.append(kind, index % 5, index * 1_000, Math.imul(index, 0x9e3779b1) >>> 0, 32);
  }
}

function cborMany(): void {
  const encoder = new Encoder({ structuredClone: false, useRecords: true });
  let bytes = 0;
  for (let index = 0; index < COUNT; index++) {
    bytes += encoder.encode({
      stream: index % 20,
      ordinal: index,
      at: index * 50_000,
      arity: 2_000_001,
      choice: Math.imul(index, 0x9e3779b1) >>> 11,
      door: 5,
    }).length;
  }
  if (bytes === 0) throw new Error('nothing was encoded');
}

/** Cost of a decision and of an event in the log, against cbor-x records. */
export const logBenchmark: Benchmark = {
  name: 'log',
  measure(): readonly Figure[] {
    const timings = interleave(
      [
        { name: 'decide', run: decideMany },
        { name: 'draw', run: drawMany },
        { name: 'event', run: appendMany },
        { name: 'cbor-x', run: cborMany },
      ],
      ROUNDS,
    );
    const perRecordNs = (name: string): number => {
      const timing = timings.find((each) => each.name === name);
      return ((timing?.medianMs ?? NaN) * 1e6) / COUNT;
    };
    const note = `${COUNT} records, median of ${ROUNDS} interleaved rounds`;
    return [
      {
        name: 'bytes a decision',
        value: decideMany().bytes / COUNT,
        unit: 'B',
        bar: { kind: 'at-most', value: 12 },
        note,
      },
      {
        name: 'a decision, logged',
        value: perRecordNs('decide') - perRecordNs('draw'),
        unit: 'ns',
        bar: { kind: 'at-most', value: 20 },
        note: 'drawn and logged, less the draw',
      },
      { name: 'a decision, drawn', value: perRecordNs('draw'), unit: 'ns', bar: null, note },
      { name: 'an event, logged', value: perRecordNs('event'), unit: 'ns', bar: null, note },
      {
        name: 'cbor-x record against a logged decision',
        value: perRecordNs('cbor-x') / perRecordNs('decide'),
        unit: 'x',
        bar: { kind: 'at-least', value: 10 },
        note,
      },
    ];
  },
};
