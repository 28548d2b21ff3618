import { describe, expect, it } from 'vitest';
import { formatSpan, formatTime, parseSpan } from '../../sim/index.ts';

describe('spans', () => {
  it.each([
    ['0', 0],
    ['7', 7],
    ['7ticks', 7],
    ['40ns', 40],
    ['3us', 3_000],
    ['5ms', 5_000_000],
    ['2s', 2_000_000_000],
  ])('CR-8: reads %s', (text, ns) => {
    expect(parseSpan(text)).toEqual({ ok: true, ns });
  });

  it.each([
    '',
    '-1s',
    '1.5s',
    '+3',
    '1 s',
    '1m',
    's',
    '1e3',
    '99999999999999999',
    '9007200s9',
    '1S',
  ])('CR-8: refuses %j', (text) => {
    expect(parseSpan(text).ok).toBe(false);
  });

  it('CR-8: refuses what passes 2^53 - 1 ns, and takes the last that does not', () => {
    expect(parseSpan('9007200s').ok).toBe(false);
    expect(parseSpan('9007199254740991')).toEqual({ ok: true, ns: Number.MAX_SAFE_INTEGER });
  });

  it('writes spans in the largest whole unit, and reads them back', () => {
    for (const ns of [0, 1, 999, 1_000, 5_000_000, 2_000_000_000, 1_500_000_000, 123_456_789]) {
      expect(parseSpan(formatSpan(ns))).toEqual({ ok: true, ns });
    }
    expect(formatSpan(1_500_000_000)).toBe('1500ms');
  });

  it('writes times so that they sort as text within equal seconds', () => {
    expect(formatTime(12_000_000_345)).toBe('12.000000345s');
    expect(formatTime(0)).toBe('0.000000000s');
  });
});
