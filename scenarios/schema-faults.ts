import { z } from 'zod';
import { DRIFT_PPM_MAX, FAULT_FAMILIES, parseSpan } from '../sim/index.ts';
import { predicate } from './schema-predicate.ts';
import { nodeName, nodeNames, share, span, table, text } from './schema-words.ts';

/** A span with a sign, such as `-2s` or `+5ms`. */
const signedSpan = z.string().transform((value, context) => {
  const negative = value.startsWith('-');
  const parsed = parseSpan(value.replace(/^[+-]/, ''));
  if (parsed.ok) return negative ? 0 - parsed.ns : parsed.ns;
  context.addIssue({ code: 'custom', message: parsed.why });
  return z.NEVER;
});

const ppm = z.int().min(-DRIFT_PPM_MAX).max(DRIFT_PPM_MAX);

/** What a link does to packets besides delaying and losing them. */
export const linkFaults = {
  burst: table({ enter: share, leave: share, loss: share.default(1_000_000) }).optional(),
  duplicate: share.optional(),
  duplicate_within: span.optional(),
  reorder: share.optional(),
  reorder_within: span.optional(),
  corrupt: share.optional(),
  corrupt_undetected: share.optional(),
  queue: z.int().min(1).optional(),
  red: table({ from: z.int().min(0), to: z.int().min(1), chance: share }).optional(),
  mtu: z.int().optional(),
  oversize: z.enum(['drop', 'fragment']).optional(),
};

/** A node's clocks at the start of the world. */
export const nodeClock = table({ offset: signedSpan.default(0), drift: ppm.default(0) });

/** What an event may wait for, and when it ends. */
export const whenMore = {
  for: span.optional(),
  every: span.optional(),
  after: table({
    node: nodeName.optional(),
    quanta: z.int().min(1).optional(),
    effect: text.optional(),
    count: z.int().min(1).optional(),
    stream: text.optional(),
    ordinal: z.int().min(0).optional(),
    that: predicate.optional(),
  }).optional(),
};

/** What becomes of packets in flight when a cut begins. */
export const inFlight = { in_flight: z.enum(['drop', 'deliver']).default('drop') };

const target = { node: nodeName.optional(), one_of: nodeNames.optional() };

/** The events of this module, each with the keys that all events have. */
export function faultEvents<const W extends z.core.$ZodShape>(when: W) {
  return [
    table({ ...when, do: z.literal('kill'), ...target }),
    table({ ...when, do: z.literal('wipe'), ...target }),
    table({ ...when, do: z.literal('interrupt'), ...target }),
    table({ ...when, do: z.literal('upgrade'), ...target, guest: text }),
    table({ ...when, do: z.literal('slow'), ...target, cpu: share }),
    table({ ...when, do: z.literal('stall'), ...target, vcpu: z.int().min(0) }),
    table({ ...when, do: z.literal('stick'), from: nodeNames, to: nodeNames }),
    table({
      ...when,
      do: z.literal('clock'),
      ...target,
      jump: signedSpan.optional(),
      drift: ppm.optional(),
      freeze: z.enum(['realtime', 'both']).optional(),
      slew: signedSpan.optional(),
      leap: z.enum(['repeat', 'smear']).optional(),
      synchronize: z.literal(true).optional(),
      over: span.optional(),
    }),
  ] as const;
}

/** `swarm = true` means every family that the scenario has. */
export const swarm = z.union([
  z.boolean(),
  table({ families: z.array(z.enum(FAULT_FAMILIES)).min(1) }),
]);

/** When all faults are lifted. */
export const liveness = table({ at: span });
