/**
 * Units. Virtual time is an integer count of nanoseconds below 2^53 (about 104 days); indexes are
 * 0-based. The types are flavoured: a plain number is accepted, one unit is not taken for another.
 */

/** A point on, or a span of, virtual time in nanoseconds: an integer, 0 to 2^53 - 1. */
export type VirtualNs = number & { readonly unit?: 'virtual-ns' };

/** A probability in millionths: an integer, 0 to 1,000,000. */
export type Millionths = number & { readonly unit?: 'millionths' };

export const MILLION = 1_000_000;

/** The last representable point of virtual time. */
export const VIRTUAL_NS_MAX: VirtualNs = Number.MAX_SAFE_INTEGER;

/** The wall clock at virtual time 0, 2026-01-01T00:00:00Z, in seconds since 1970. */
export const EPOCH_SECONDS = 1_767_225_600;

export const NS_PER_US = 1_000;
export const NS_PER_MS = 1_000_000;
export const NS_PER_S = 1_000_000_000;

const UNIT_NS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['ticks', 1],
  ['ns', 1],
  ['us', NS_PER_US],
  ['ms', NS_PER_MS],
  ['s', NS_PER_S],
]);

/**
 * Reads a span such as `5ms`, `2s`, `100us`, `40ns`, `7ticks` or `7` (a tick is a nanosecond).
 * Fractions, signs and other units are refused: the result is then a sentence that says why.
 */
export function parseSpan(text: string): { ok: true; ns: VirtualNs } | { ok: false; why: string } {
  const match = /^(\d{1,16})(ticks|ns|us|ms|s|)$/.exec(text);
  if (match === null) {
    return { ok: false, why: `"${text}" is not a whole number with ticks, ns, us, ms or s` };
  }
  const ns = Number(match[1]) * (UNIT_NS.get(match[2] ?? '') ?? 1);
  if (!Number.isSafeInteger(ns)) return { ok: false, why: `"${text}" is above 2^53 - 1 ns` };
  return { ok: true, ns };
}

/** Writes a span in the largest unit that keeps it a whole number: 5000000 becomes `5ms`. */
export function formatSpan(ns: VirtualNs): string {
  if (ns !== 0 && ns % NS_PER_S === 0) return `${ns / NS_PER_S}s`;
  if (ns !== 0 && ns % NS_PER_MS === 0) return `${ns / NS_PER_MS}ms`;
  if (ns !== 0 && ns % NS_PER_US === 0) return `${ns / NS_PER_US}us`;
  return `${ns}ns`;
}

/** Writes a point in time as seconds with nine digits: `12.000000345s`, for people to compare. */
export function formatTime(ns: VirtualNs): string {
  const seconds = Math.trunc(ns / NS_PER_S);
  return `${seconds}.${String(ns % NS_PER_S).padStart(9, '0')}s`;
}
