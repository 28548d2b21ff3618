import { z } from 'zod';
import {
  MILLION,
  parseSpan,
  SCHEDULING_CHOICES_DEFAULT,
  SCHEDULING_CHOICES_MAX,
} from '../sim/index.ts';

/**
 * The strict schema of a scenario's text. Keys are the same in TOML and in the TypeScript API.
 * The message of an unknown key's issue is the list of keys that are allowed there; see issues.ts.
 */
function table<const T extends z.core.$ZodShape>(shape: T): z.ZodObject<T, z.core.$strict> {
  const allowed = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? allowed : undefined),
  });
}

/** A span such as `5ms`, as nanoseconds (CR-8). */
const span = z.string().transform((text, context) => {
  const parsed = parseSpan(text);
  if (parsed.ok) return parsed.ns;
  context.addIssue({ code: 'custom', message: parsed.why });
  return z.NEVER;
});

/** A share in millionths: a whole number of them, or an exact percentage such as `0.1%`. */
const share = z
  .union([z.int(), z.string()], 'expected millionths (0 to 1000000) or a percentage like "0.1%"')
  .transform((value, context) => {
    const millionths = typeof value === 'number' ? value : parsePercentage(value);
    if (millionths !== null && millionths >= 0 && millionths <= MILLION) return millionths;
    const why = 'is not a share: write millionths (0 to 1000000) or a percentage like "0.1%"';
    context.addIssue({ code: 'custom', message: `${JSON.stringify(value)} ${why}` });
    return z.NEVER;
  });

/** Bits a second: a whole number, or a text such as `10mbit`. */
const bandwidth = z
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
const text = z
  .string()
  .refine((value) => !/[\0\ud800-\udfff]/u.test(value), 'zero and lone surrogates are not text');
const nodeName = text;
const nodeNames = z.array(nodeName).min(1);

/** One node by name, or several of which one is drawn. */
const target = { node: nodeName.optional(), one_of: nodeNames.optional() };

const guest = table({ wasm: text.optional(), builtin: text.optional() });

const file = table({ path: text, text: text.optional(), source: text.optional() });

const node = table({
  name: nodeName.optional(),
  names: nodeNames.optional(),
  guest: text,
  args: z.array(text).default([]),
  env: z.record(text, text).default({}),
  file: z.array(file).default([]),
  memory_pages_max: z.int().min(1).max(65_536).default(4_096),
  ns_per_thousand_instructions: z.int().min(1).max(1_000_000_000).default(1_000),
  start: span.default(0),
});

const linkQuality = {
  latency: span.optional(),
  jitter: span.optional(),
  loss: share.optional(),
  bandwidth: bandwidth.optional(),
};

const network = table({ topology: z.enum(['mesh', 'none']).default('mesh'), ...linkQuality });

const scheduling = table({
  delay: span,
  choices: z.int().min(2).max(SCHEDULING_CHOICES_MAX).default(SCHEDULING_CHOICES_DEFAULT),
});

const link = table({
  between: z.tuple([nodeName, nodeName]).optional(),
  from: nodeName.optional(),
  to: nodeName.optional(),
  ...linkQuality,
});

const when = { name: text, at: span, within: span.default(0), chance: share.default(MILLION) };

const event = z.discriminatedUnion('do', [
  table({ ...when, do: z.literal('crash'), ...target }),
  table({ ...when, do: z.literal('restart'), ...target }),
  table({ ...when, do: z.literal('pause'), ...target, for: span }),
  table({ ...when, do: z.literal('isolate'), ...target }),
  table({ ...when, do: z.literal('partition'), groups: z.array(nodeNames).min(2) }),
  table({ ...when, do: z.literal('cut'), from: nodeNames, to: nodeNames }),
  table({ ...when, do: z.literal('heal') }),
  table({
    ...when,
    do: z.literal('degrade'),
    nodes: nodeNames.optional(),
    loss: share.default(0),
    extra_latency: span.default(0),
  }),
]);

const what = { name: text, nodes: nodeNames.optional() };

const property = z.discriminatedUnion('kind', [
  table({ ...what, kind: z.literal('exit'), code: z.int().min(0).max(0xffff_ffff).default(0) }),
  table({ ...what, kind: z.literal('never'), console: text }),
  table({ ...what, kind: z.literal('eventually'), console: text, within: span.optional() }),
  table({ ...what, kind: z.literal('unique'), console: text }),
  table({ ...what, kind: z.literal('agree'), console: text }),
]);

const limits = table({
  virtual_time: span.default(60_000_000_000),
  quanta: z.int().min(1).default(100_000_000),
});

export const scenarioSchema = table({
  schema_version: z.literal(1, 'expected 1, the version that this sim knows'),
  name: text,
  seed: z.int().min(0).optional(),
  until: z.enum(['quiescence', 'property', 'stopped', 'virtual-time']).default('quiescence'),
  guest: z.record(text, guest),
  node: z.array(node).min(1),
  network: network.prefault({}),
  scheduling: scheduling.optional(),
  link: z.array(link).default([]),
  event: z.array(event).default([]),
  property: z.array(property).default([]),
  limits: limits.prefault({}),
});

/** A scenario as it is written: spans and shares are text, defaults may be left out. */
export type ScenarioText = z.input<typeof scenarioSchema>;
/** A scenario as it was read: spans in nanoseconds, shares in millionths, defaults filled in. */
export type ScenarioFields = z.output<typeof scenarioSchema>;
export type NodeFields = z.output<typeof node>;
export type LinkFields = z.output<typeof link>;
export type EventFields = z.output<typeof event>;
export type PropertyFields = z.output<typeof property>;
export type FileFields = z.output<typeof file>;
