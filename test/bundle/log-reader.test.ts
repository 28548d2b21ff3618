import { describe, expect, it } from 'vitest';
import {
  decodeDecisions,
  decodeEvents,
  Decisions,
  EventLog,
  LOG_DECISIONS,
  LOG_EVENTS,
  readLog,
  readWholeLog,
  RecordLog,
  type Decision,
  type LoggedEvent,
} from '../../sim/index.ts';
import { failure } from '../support/failure.ts';

function join(frames: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(frames));
}

/** A log of decisions over several frames, and what was decided. */
function decisionLog(count: number): { bytes: Uint8Array; chain: string; decided: Decision[] } {
  const frames: Uint8Array[] = [];
  const decisions = new Decisions(7, (frame) => frames.push(frame));
  decisions.setSources([
    { door: 'override', choose: ({ arity }) => (arity === 5 ? 3 : undefined) },
  ]);
  const decided: Decision[] = [];
  const ordinals = new Map<string, number>();
  for (let index = 0; index < count; index++) {
    const name = `node/n${index % 3}/net/send`;
    const arity = [2, 5, 2 ** 40, 2][index % 4] as number;
    // Times of different guests interleave: they also go back.
    const atNs = index * 1_000 + (index % 2 === 0 ? 700_000 : 0);
    const choice = decisions.decide(decisions.stream(name), atNs, arity);
    const ordinal = ordinals.get(name) ?? 0;
    ordinals.set(name, ordinal + 1);
    const door = arity === 5 ? 'override' : 'seeded';
    decided.push({ index, stream: name, ordinal, atNs, arity, choice, door });
  }
  decisions.log.flush();
  return { bytes: join(frames), chain: decisions.log.chain(), decided };
}

function eventLog(count: number): { bytes: Uint8Array; appended: LoggedEvent[] } {
  const frames: Uint8Array[] = [];
  const log = new EventLog((frame) => frames.push(frame));
  const appended: LoggedEvent[] = [];
  for (let index = 0; index < count; index++) {
    const kind = ['console', 'fd_write', 'deliver'][index % 3] as string;
    const guest = (index % 4) - 1;
    const atNs = index * 100;
    const input = Math.imul(index, 0x9e3779b1) >>> 0;
    const result = index % 5 === 0 ? -index : index * 2 ** 20;
    log.append(log.kind(kind), guest, atNs, input, result);
    appended.push({ index, kind, guest, atNs, input, result: result === 0 ? 0 : result });
  }
  log.log.flush();
  return { bytes: join(frames), appended };
}

describe('reading logs back', () => {
  it('CR-98: gives every decision as it was made, over many frames', () => {
    const { bytes, chain, decided } = decisionLog(20_000);
    const log = readWholeLog(bytes, LOG_DECISIONS);
    expect(log.frames.length).toBeGreaterThan(3);
    expect(log.chain).toBe(chain);
    expect(log.recordCount).toBe(20_000 + 3);
    expect([...decodeDecisions(log)]).toEqual(decided);
  });

  it('CR-98: gives every event as it was logged', () => {
    const { bytes, appended } = eventLog(20_000);
    expect([...decodeEvents(readWholeLog(bytes, LOG_EVENTS))]).toEqual(appended);
  });

  it('reads an empty log', () => {
    const log = readWholeLog(new Uint8Array(0), LOG_EVENTS);
    expect([log.recordCount, log.frames, [...decodeEvents(log)]]).toEqual([0, [], []]);
  });

  it('reads up to the last whole frame, wherever the log is cut', () => {
    const { bytes, decided } = decisionLog(12_000);
    const whole = readWholeLog(bytes, LOG_DECISIONS);
    const ends = whole.frames.map((frame) => frame.offset);
    for (let cut = 0; cut < bytes.length; cut += 997) {
      const log = readLog(bytes.subarray(0, cut), LOG_DECISIONS);
      const lastWhole = Math.max(...ends.filter((offset) => offset <= cut));
      expect(log.wholeBytes).toBe(lastWhole);
      expect(log.damage === null).toBe(cut === lastWhole);
      const read = [...decodeDecisions(log)];
      expect(read).toEqual(decided.slice(0, read.length));
    }
  });

  it('finds every flipped bit of a log', () => {
    const { bytes } = eventLog(150);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = bytes.slice();
      const at = bit >> 3;
      flipped[at] = (flipped[at] as number) ^ (1 << (bit & 7));
      const error = failure(() => [...decodeEvents(readWholeLog(flipped, LOG_EVENTS))]);
      expect(error.code).toBe('bundle/log');
      expect(error.place).toMatch(/^offset \d+$/);
    }
  });

  it('refuses a log of the other kind', () => {
    const error = failure(() => readWholeLog(eventLog(5).bytes, LOG_DECISIONS));
    expect(error.message).toBe('the log is damaged: a frame of kind 2 stands in a log of kind 1');
    expect(error.place).toBe('offset 0');
  });

  it('refuses frames that are out of order', () => {
    const frames: Uint8Array[] = [];
    const log = new RecordLog(LOG_EVENTS, (frame) => frames.push(frame));
    for (let value = 0; value < 3; value++) {
      log.putUnsigned(value);
      log.end();
      log.flush();
    }
    const [first, second, third] = frames as [Uint8Array, Uint8Array, Uint8Array];
    const read = readLog(join([first, third, second]), LOG_EVENTS);
    expect(read.damage?.message).toContain('a frame does not follow the one before');
    expect(read.frames).toHaveLength(1);
  });

  it.each<[string, (log: RecordLog) => void, string]>([
    [
      'an undeclared stream',
      (log) => log.putUnsigned(16),
      'it names a stream that was not declared',
    ],
    [
      'a choice outside its arity',
      (log) => {
        declare(log);
        for (const value of [16 + 10 + 1, 2, 2, 0]) log.putUnsigned(value);
      },
      'its choice is outside its arity',
    ],
    [
      'no arity at first',
      (log) => {
        declare(log);
        for (const value of [16 + 10, 0, 0]) log.putUnsigned(value);
      },
      'its choice is outside its arity',
    ],
    [
      'an unknown door',
      (log) => {
        declare(log);
        log.putUnsigned(16 + 14);
      },
      'it names an unknown door',
    ],
    [
      'a time before the start',
      (log) => {
        declare(log);
        for (const value of [16 + 10 + 1, 2, 1, 1]) log.putUnsigned(value);
      },
      'its time is out of range',
    ],
    [
      'a stream twice',
      (log) => {
        declare(log);
        log.putUnsigned(0);
        log.putText('s');
      },
      'a name is declared twice',
    ],
    ['a record cut off', (log) => log.putUnsigned(0), 'it is cut off'],
  ])('refuses %s, though the chain is right', (_name, put, why) => {
    const frames: Uint8Array[] = [];
    const log = new RecordLog(LOG_DECISIONS, (frame) => frames.push(frame));
    put(log);
    log.end();
    log.flush();
    const error = failure(() => [...decodeDecisions(readWholeLog(join(frames), LOG_DECISIONS))]);
    expect(error.code).toBe('bundle/log');
    expect(error.message).toBe(`the log is damaged: in a record, ${why}`);
  });
});

function declare(log: RecordLog): void {
  log.putUnsigned(0);
  log.putText('s');
  log.end();
}
