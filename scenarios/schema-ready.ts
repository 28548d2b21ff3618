import { z } from 'zod';
import { READY_TEXT_LENGTH_MAX } from '../sim/index.ts';
import { table, text } from './schema-words.ts';

/** A day: no machine takes longer to get ready. */
const IDLE_MS_MAX = 86_400_000;

/** When a machine is ready (CR-55): the doorbell's word for it, or one of three conditions. */
export const ready = z.union(
  [
    z.literal('bell'),
    table({ console: text.min(1).max(READY_TEXT_LENGTH_MAX) }),
    table({ instructions: z.int().min(1) }),
    table({ network_idle_ms: z.int().min(1).max(IDLE_MS_MAX) }),
  ],
  'expected "bell", { console = "a text" }, { instructions = 1000000 } or { network_idle_ms = 500 }',
);

export type ReadyFields = z.output<typeof ready>;
