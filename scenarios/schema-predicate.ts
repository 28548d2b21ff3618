import { z } from 'zod';
import { ASSERTION_STATES, FRAME_MATCHES, IO_KINDS, NODE_STATES } from '../sim/index.ts';
import { nodeNames, span, table, text } from './schema-words.ts';

/** A predicate as it is written: a table with one key, which is its name. */
export interface PredicateText {
  readonly at?: string | undefined;
  readonly after?: string | undefined;
  readonly timer?:
    | {
        readonly arm: PredicateText;
        readonly cancel?: PredicateText | undefined;
        readonly after: string;
      }
    | undefined;
  readonly network_match?: z.input<typeof networkMatch> | undefined;
  readonly console_match?: z.input<typeof consoleMatch> | undefined;
  readonly guest_marker?: z.input<typeof guestMarker> | undefined;
  readonly io_pattern?: z.input<typeof ioPattern> | undefined;
  readonly node_state?: z.input<typeof nodeState> | undefined;
  readonly assertion_state?: z.input<typeof assertionState> | undefined;
  readonly quiescent?: true | undefined;
  readonly named?: string | undefined;
  readonly all_of?: readonly PredicateText[] | undefined;
  readonly any_of?: readonly PredicateText[] | undefined;
  readonly once?: PredicateText | undefined;
  readonly not?: PredicateText | undefined;
  readonly coverage_point?: unknown;
  readonly memory_predicate?: unknown;
}

/** A predicate as it was read: spans in nanoseconds. */
export interface PredicateFields extends Omit<
  PredicateText,
  'at' | 'after' | 'timer' | 'network_match' | 'all_of' | 'any_of' | 'once' | 'not'
> {
  readonly at?: number | undefined;
  readonly after?: number | undefined;
  readonly timer?:
    | {
        readonly arm: PredicateFields;
        readonly cancel?: PredicateFields | undefined;
        readonly after: number;
      }
    | undefined;
  readonly network_match?: z.output<typeof networkMatch> | undefined;
  readonly all_of?: readonly PredicateFields[] | undefined;
  readonly any_of?: readonly PredicateFields[] | undefined;
  readonly once?: PredicateFields | undefined;
  readonly not?: PredicateFields | undefined;
}

const networkMatch = table({
  from: nodeNames.optional(),
  to: nodeNames.optional(),
  when: z.enum(['send', 'deliver']).default('deliver'),
  protocol: z.enum(['any', 'tcp', 'udp']).default('any'),
  match: z.enum(FRAME_MATCHES).default('any'),
  text: text.optional(),
  hex: text.optional(),
});

const consoleMatch = table({ nodes: nodeNames.optional(), text });
const guestMarker = table({ nodes: nodeNames.optional(), name: text });
// There is no 9p device, but somebody who asks for one is told so by name.
const ioKind = z.enum([...IO_KINDS, 'nine_p']);
const ioPattern = table({ nodes: nodeNames.optional(), io: ioKind });
const nodeState = table({ nodes: nodeNames.optional(), is: z.enum(NODE_STATES) });
const assertionState = table({ name: text, is: z.enum(ASSERTION_STATES) });

/** The closed set of predicates (CR-96), those included that no guest of this version supports. */
export const predicate: z.ZodType<PredicateFields, PredicateText> = z.lazy(() =>
  table({
    at: span.optional(),
    after: span.optional(),
    timer: table({ arm: predicate, cancel: predicate.optional(), after: span }).optional(),
    network_match: networkMatch.optional(),
    console_match: consoleMatch.optional(),
    guest_marker: guestMarker.optional(),
    io_pattern: ioPattern.optional(),
    node_state: nodeState.optional(),
    assertion_state: assertionState.optional(),
    quiescent: z.literal(true, 'expected true').optional(),
    named: text.optional(),
    all_of: z.array(predicate).min(1).optional(),
    any_of: z.array(predicate).min(1).optional(),
    once: predicate.optional(),
    not: predicate.optional(),
    coverage_point: z.unknown().optional(),
    memory_predicate: z.unknown().optional(),
  }),
);
