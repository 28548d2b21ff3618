import { z } from 'zod';
import { FAULT_KINDS, MILLION, NS_PER_MS, NS_PER_S, OPERATION_KINDS } from '../sim/index.ts';
import { table, text } from './schema-words.ts';

/** Letters, digits and underscores: what a program can write after a point. */
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

const name = text.refine(
  (value) => NAME.test(value),
  'it is no name: a letter, then letters, digits and _, at most 64',
);

/** A field's type is a text; what else somebody may write is told apart when it is read. */
const fieldType = z.unknown();

const SPAN_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1_000,
  ms: NS_PER_MS,
  s: NS_PER_S,
  m: 60 * NS_PER_S,
  h: 3_600 * NS_PER_S,
  d: 86_400 * NS_PER_S,
};

const duration = z.string().transform((value, context) => {
  const match = /^(\d{1,9})(ns|us|ms|s|m|h|d)$/.exec(value);
  const ns = Number(match?.[1] ?? '0') * (SPAN_NS[match?.[2] ?? ''] ?? 0);
  if (match !== null && Number.isSafeInteger(ns)) return ns;
  const message = `${JSON.stringify(value)} is no duration: write a whole number with ns, us, ms, s, m, h or d`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** A probability: 0 to 1 with at most six digits, or an exact percentage; in millionths. */
const probability = z
  .union([z.number(), z.string()], 'expected a probability (0 to 1) or a percentage like "10%"')
  .transform((value, context) => {
    const percent = typeof value === 'string' ? /^(\d{1,3}(?:\.\d{1,4})?)%$/.exec(value) : null;
    const share = typeof value === 'number' ? value : Number(percent?.[1] ?? 'NaN') / 100;
    const millionths = Math.round(share * MILLION);
    const isExact = Math.abs(share * MILLION - millionths) < 1e-6;
    if (isExact && millionths >= 0 && millionths <= MILLION) return millionths;
    const message = `${JSON.stringify(value)} is no probability: write 0 to 1 with at most six digits, or "10%"`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

const MS_MAX = 86_400_000;
const milliseconds = z.int().min(0).max(MS_MAX);

const rule = table({
  latency_ms: z.tuple([milliseconds, milliseconds]).optional(),
  errors: table(
    Object.fromEntries(FAULT_KINDS.map((kind) => [kind, probability.optional()])) as Record<
      (typeof FAULT_KINDS)[number],
      z.ZodOptional<typeof probability>
    >,
  ).default({}),
  rate_limit: table({
    calls: z.int().min(1).max(1_000_000),
    per_seconds: z.int().min(1).max(86_400),
  }).optional(),
  not_found_if_newer_than: duration.optional(),
});

/** A fault profile: rules by `default` or `service.operation`. */
export const faultProfileSchema = z.record(text, rule);
export type FaultProfileFields = z.output<typeof faultProfileSchema>;

const parameter = z.unknown();

const operation = table({
  kind: z.enum(OPERATION_KINDS as readonly [string, ...string[]]),
  description: text.optional(),
  record: text.optional(),
  filters: z.array(text).default([]),
  handler: text.optional(),
  parameters: z.record(name, parameter).optional(),
});

const count = z.int().min(0).max(100_000);

const service = table({
  records: z.record(name, z.record(name, fieldType)).default({}),
  operations: z.record(name, operation).default({}),
  seed: table({
    count: z.union([count, z.record(text, count)], 'expected a count, or counts by record'),
  }).optional(),
});

/** The strict schema of a world file (FH-1). */
export const worldFileSchema = table({
  name,
  seed: z.int().min(0).default(0),
  services: z.record(name, service),
  faults: faultProfileSchema.optional(),
});

export type WorldFileFields = z.output<typeof worldFileSchema>;
export type ServiceFields = z.output<typeof service>;
export type OperationFields = z.output<typeof operation>;
