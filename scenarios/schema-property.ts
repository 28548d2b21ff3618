import { z } from 'zod';
import { HISTORY_STEPS_DEFAULT, HISTORY_STEPS_MAX, MODEL_NAMES } from '../sim/index.ts';
import { predicate } from './schema-predicate.ts';
import { nodeNames, span, table, text } from './schema-words.ts';

const what = { name: text, nodes: nodeNames.optional() };

/** A property over moments: what must be so, and at which moments it is asked for. */
const moments = { name: text, that: predicate, when: predicate.optional() };
const unreached = { unreached: z.enum(['warn', 'fail']).default('warn') };

/** What must hold: one table for each kind of property. */
export const property = z.discriminatedUnion('kind', [
  table({ ...what, kind: z.literal('exit'), code: z.int().min(0).max(0xffff_ffff).default(0) }),
  table({ ...what, kind: z.literal('never'), console: text }),
  table({
    ...what,
    kind: z.literal('eventually'),
    console: text.optional(),
    that: predicate.optional(),
    when: predicate.optional(),
    within: span.optional(),
  }),
  table({ ...what, kind: z.literal('unique'), console: text }),
  table({ ...what, kind: z.literal('agree'), console: text }),
  table({ ...moments, kind: z.literal('always') }),
  table({ ...moments, ...unreached, kind: z.literal('sometimes') }),
  table({ ...moments, ...unreached, kind: z.literal('reachable') }),
  table({ ...moments, kind: z.literal('unreachable') }),
  table({ name: text, that: predicate, kind: z.literal('after_quiescence') }),
  table({
    ...what,
    kind: z.literal('serializable'),
    steps: z.int().min(1).max(HISTORY_STEPS_MAX).default(HISTORY_STEPS_DEFAULT),
  }),
  table({
    ...what,
    kind: z.literal('linearizable'),
    model: z.enum(MODEL_NAMES),
    initial: text.optional(),
    steps: z.int().min(1).max(HISTORY_STEPS_MAX).default(HISTORY_STEPS_DEFAULT),
  }),
]);
