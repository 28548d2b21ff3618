import { z } from 'zod';
import {
  INTERRUPT_LINES,
  REGISTERS,
  SERIAL_LINE,
  STORM_COUNT_MAX,
  MEMORY_WORD_BITS,
} from '../sim/index.ts';
import { nodeName, nodeNames, span, table } from './schema-words.ts';

const where = { node: nodeName.optional(), one_of: nodeNames.optional() };
const cpu = z.int().min(0).optional();

/** Faults inside a node, each with the keys that all events have. */
export function hardwareEvents<const W extends z.core.$ZodShape>(when: W) {
  return [
    table({
      ...when,
      do: z.literal('flip'),
      ...where,
      target: z.enum(['memory', 'register']),
      bits: z.int().min(1).max(MEMORY_WORD_BITS).default(1),
      address: z.int().min(0).optional(),
      bytes: z.int().min(1).optional(),
      register: z.enum(REGISTERS).optional(),
      cpu,
    }),
    table({
      ...when,
      do: z.literal('machine-check'),
      ...where,
      corrected: z.boolean().default(false),
      address: z.int().min(0).optional(),
      cpu,
    }),
    table({
      ...when,
      do: z.literal('storm'),
      ...where,
      line: z
        .int()
        .min(0)
        .max(INTERRUPT_LINES - 1)
        .default(SERIAL_LINE),
      count: z.int().min(1).max(STORM_COUNT_MAX),
      gap: span,
    }),
  ] as const;
}
