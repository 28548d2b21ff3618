import { z } from 'zod';
import { MILLION, parseSpan } from '../sim/index.ts';

/**
 * A strict table. The message of an unknown key's issue is the list of keys that are allowed
 * there; see issues.ts.
 */
export function table<const T extends z.core.$ZodShape>(shape: T): z.ZodObject<T, z.core.$strict> {
  const allowed = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? allowed : undefined),
  });
}

/** A span such as `5ms`, as nanoseconds (CR-8). */
export const span = z.string().transform((text, context) => {
  const parsed = parseSpan(text);
  if (parsed.ok) return parsed.ns;
  context.addIssue({ code: 'custom', message: parsed.why });
  return z.NEVER;
});

/** A share in millionths: a whole number of them, or an exact percentage such as `0.1%`. */
export const share = z
  .union([z.int(), z.string()], 'expected millionths (0 to 1000000) or a percentage like "0.1%"')
  .transform((value, context) => {
    const millionths = typeof value === 'number' ? value : parsePercentage(value);
    if (millionths !== null && millionths >= 0 && millionths <= MILLION) return millionths;
    const why = 'is not a share: write millionths (0 to 1000000) or a percentage like "0.1%"';
    context.addIssue({ code: 'custom', message: `${JSON.stringify(value)} ${why}` });
    return z.NEVER;
  });

/** Bits a second: a whole number, or a text such as `10mbit`. */
export const bandwidth = z
  .union([z.int(), z.string()], 'expected bits a second or a text like "10mbit"')
  .transform((value, context) => {
    const bits = typeof value === 'number' ? value : parseBandwidth(value);
    if (bits !== null && bits >= 1 && Number.isSafeInteger(bits)) return bits;
    const why = 'is not a bandwidth: write bits a second or a text like "10mbit"';
    context.addIssue({ code: 'custom', message: `${JSON.stringify(value)} ${why}` });
    return z.NEVER;
  });

/** `12.5%` in millionths; at most four digits follow the point, so that the result is exact. */
function parsePercentage(text: string): number | null {
  const match = /^(\d{1,3})(?:\.(\d{1,4}))?%$/.exec(text);
  if (match === null) return null;
  return Number(match[1]) * 10_000 + Number((match[2] ?? '').padEnd(4, '0'));
}

function parseBandwidth(text: string): number | null {
  const match = /^(\d{1,12})(bit|kbit|mbit|gbit)$/.exec(text);
  if (match === null) return null;
  const unit = { bit: 1, kbit: 1_000, mbit: 1_000_000, gbit: 1_000_000_000 };
  return Number(match[1]) * unit[match[2] as keyof typeof unit];
}

/** Text that every guest and every document can hold. */
export const text = z
  .string()
  .refine((value) => !/[\0\ud800-\udfff]/u.test(value), 'zero and lone surrogates are not text');
/** The name of a node; whether there is such a node is seen later. */
export const nodeName = text;
/** At least one name of a node. */
export const nodeNames = z.array(nodeName).min(1);
