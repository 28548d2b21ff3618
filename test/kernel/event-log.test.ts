import { describe, expect, it } from 'vitest';
import { decodeEvents, EventLog, LOG_EVENTS, readWholeLog } from '../../sim/index.ts';

/** Whole numbers around each length of the encoding, and around 32 bits. */
function boundaries(): number[] {
  const powers = [0, 7, 14, 21, 28, 31, 32, 35, 42, 49, 51].map((bits) => 2 ** bits);
  const near = powers.flatMap((power) => [power - 1, power, power + 1]);
  return [...new Set([...near, ...near.map((value) => -value), 2 ** 52 - 1, 1 - 2 ** 52])];
}

describe('EventLog', () => {
  it('CR-98: what is read is what was appended, at each length of a number', () => {
    const frames: Uint8Array[] = [];
    const log = new EventLog((frame) => frames.push(frame));
    const kind = log.kind('probe');
    const results = boundaries();
    const times = results.map((value) => Math.abs(value));
    results.forEach((result, index) => {
      log.append(kind, index, times[index] as number, index, result);
    });
    log.log.flush();
    const read = [...decodeEvents(readWholeLog(Buffer.concat(frames), LOG_EVENTS))];
    expect(read.map(({ result }) => result)).toEqual(results.map((value) => value + 0));
    expect(read.map(({ atNs }) => atNs)).toEqual(times);
    expect(read.map(({ guest }) => guest)).toEqual(results.map((_, index) => index));
  });
});
