import { z } from 'zod';
import { HISTORY_STEPS_DEFAULT, HISTORY_STEPS_MAX, MODEL_NAMES } from '../sim/index.ts';
import { nodeNames, span, table, text } from './schema-words.ts';

const what = { name: text, nodes: nodeNames.optional() };

/** What must hold: one table for each kind of property. */
export const property = z.discriminatedUnion('kind', [
  table({ ...what, kind: z.literal('exit'), code: z.int().min(0).max(0xffff_ffff).default(0) }),
  table({ ...what, kind: z.literal('never'), console: text }),
  table({ ...what, kind: z.literal('eventually'), console: text, within: span.optional() }),
  table({ ...what, kind: z.literal('unique'), console: text }),
  table({ ...what, kind: z.literal('agree'), console: text }),
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
