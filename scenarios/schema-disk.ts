import { z } from 'zod';
import { DISK_BYTE_MAX, parseSpan } from '../sim/index.ts';
import { nodeNames, share, span, table, text } from './schema-words.ts';

/** A count of bytes: a whole number, or a text such as `64kib`. */
export const byteCount = z
  .union([z.int(), z.string()], 'expected a number of bytes or a text like "64kib"')
  .transform((value, context) => {
    const bytes = typeof value === 'number' ? value : parseBytes(value);
    if (bytes !== null && bytes >= 0 && bytes <= DISK_BYTE_MAX) return bytes;
    const why = 'is no count of bytes: write a whole number or a text like "64kib"';
    context.addIssue({ code: 'custom', message: `${JSON.stringify(value)} ${why}` });
    return z.NEVER;
  });

function parseBytes(text: string): number | null {
  const match = /^(\d{1,12})(b|kib|mib|gib)$/.exec(text);
  if (match === null) return null;
  const unit = { b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 };
  return Number(match[1]) * unit[match[2] as keyof typeof unit];
}

/** A span, or `forever` as null. */
const spanOrForever = z.string().transform((text, context) => {
  if (text === 'forever') return null;
  const parsed = parseSpan(text);
  if (parsed.ok) return parsed.ns;
  context.addIssue({ code: 'custom', message: `${parsed.why}, or "forever"` });
  return z.NEVER;
});

/** What a rule may say, in a disk's own table and in an event. */
const rule = {
  path: text.optional(),
  bytes: z.tuple([byteCount, byteCount]).optional(),
  read_error: share.optional(),
  write_error: share.optional(),
  sync_error: share.optional(),
  failed_sync: z.enum(['dirty', 'clean']).optional(),
  lying_flush: share.optional(),
  lost_write: share.optional(),
  torn_write: share.optional(),
  misdirected_write: share.optional(),
  misdirected_read: share.optional(),
  bit_rot: share.optional(),
  latent_error: share.optional(),
  capacity: byteCount.optional(),
  quota: byteCount.optional(),
  read_latency: span.optional(),
  write_latency: span.optional(),
  sync_latency: span.optional(),
  bytes_per_second: byteCount.optional(),
  jitter: span.optional(),
  stall: share.optional(),
  stall_for: spanOrForever.optional(),
};

export const disk = table({
  sector: z.union([z.literal(512), z.literal(4096)], 'expected 512 or 4096').optional(),
  crash: z.enum(['file', 'ordered', 'reordered']).optional(),
  tear: share.optional(),
  page_cache: z.boolean().optional(),
  ...rule,
});

export const diskAtlas = table({
  nodes: nodeNames,
  faulty: z.int().min(0),
  chunk: byteCount.default(4_096),
});

/** The keys of the events that act on disks. */
export const diskEvents = {
  disk: { nodes: nodeNames.optional(), ...rule },
  heal: { nodes: nodeNames.optional(), repair: z.boolean().default(false) },
};

export type DiskFields = z.output<typeof disk>;
/** The keys of a rule, wherever they stand. */
export type DiskRuleFields = Pick<DiskFields, keyof typeof rule>;
export type DiskAtlasFields = z.output<typeof diskAtlas>;
