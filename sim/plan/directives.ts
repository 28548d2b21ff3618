import type { Decisions, DecisionSource, Opportunity } from '../kernel/decision.ts';
import { SimError } from '../kernel/errors.ts';
import {
  readInteger,
  readList,
  readRecord,
  readText,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import type { Stream } from '../kernel/stream.ts';
import { VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';

/**
 * What an attempt on a target may be told to become; the order is that of decisions. `ok` lets the
 * real effect run; `timeout-after` runs it, too, and loses the answer; all others never call it.
 */
export const DIRECTIVE_KINDS = [
  'ok',
  'conn',
  'timeout-before',
  '5xx',
  '429',
  'http',
  'crash',
  'timeout-after',
] as const;
export type DirectiveKind = (typeof DIRECTIVE_KINDS)[number];

export interface DirectiveDef {
  readonly kind: DirectiveKind;
  /** How long it takes before it resolves. */
  readonly delayNs: VirtualNs;
  /** The status of `5xx`, `429` and `http`; 0 for the others. */
  readonly status: number;
  /** What a retry-after header says; 0 for none. */
  readonly retryAfterMs: number;
  /** For how many consecutive attempts it stands. */
  readonly repeat: number;
}

/** What becomes of the attempts of a node on one target, in order. */
export interface DirectiveQueueDef {
  readonly node: number;
  readonly target: string;
  readonly queue: readonly DirectiveDef[];
}

export const QUEUES_MAX = 1_000;
export const DIRECTIVES_MAX = 10_000;
export const REPEAT_MAX = 1_000_000;
/** Targets are short, so that the markers of attempts are shown whole. */
export const TARGET_LENGTH_MAX = 64;

export const readDirectives: Read<readonly DirectiveQueueDef[]> = readList(
  readRecord<DirectiveQueueDef>({
    node: readInteger(),
    target: readText(TARGET_LENGTH_MAX),
    queue: readList(
      readRecord<DirectiveDef>({
        kind: readWord(DIRECTIVE_KINDS),
        delayNs: readInteger(0, VIRTUAL_NS_MAX),
        status: readInteger(0, 999),
        retryAfterMs: readInteger(0, 86_400_000),
        repeat: readInteger(1, REPEAT_MAX),
      }),
      DIRECTIVES_MAX,
    ),
  }),
  QUEUES_MAX,
);

/** Queues name nodes that exist, each target of a node once. Throws `scenario/…`. */
export function admitDirectives(queues: readonly DirectiveQueueDef[], nodeCount: number): void {
  const seen = new Set<string>();
  queues.forEach(({ node, target }, index) => {
    const place = `plan.directives[${index}]`;
    const key = `${node} ${target}`;
    const why = seen.has(key)
      ? 'a target of a node has one queue'
      : node >= nodeCount
        ? 'there is no such node'
        : null;
    seen.add(key);
    if (why === null) return;
    throw new SimError({
      code: 'scenario/directives',
      message: `the scenario is refused: ${why}`,
      place,
    });
  });
}

/** The stream on which the attempts of a node on a target are decided. */
export function attemptStream(node: string, target: string): string {
  return `node/${node}/call/${target}`;
}

/**
 * The queues of one run. How many directives were consumed is the ordinal of the target's stream:
 * it is in the schedule and in every checkpoint, and no restart of the node sets it back (KS-17).
 */
export class DirectiveQueues {
  /** Answers attempts as the plan says: the door `directive`. */
  readonly source: DecisionSource;
  private readonly decisions: Decisions;
  private readonly byStream = new Map<string, Queue>();

  constructor(
    queues: readonly DirectiveQueueDef[],
    names: readonly string[],
    decisions: Decisions,
  ) {
    this.decisions = decisions;
    for (const { node, target, queue } of queues) {
      const name = attemptStream(names[node] ?? '', target);
      this.byStream.set(name, new Queue(queue, decisions.stream(name)));
    }
    this.source = { door: 'directive', choose: (opportunity) => this.choose(opportunity) };
  }

  /** What this attempt becomes; null where the target has no queue: it is untouched (KS-8). */
  attempt(node: string, target: string, atNs: VirtualNs): DirectiveDef | null {
    if (this.byStream.size === 0) return null;
    const queue = this.byStream.get(attemptStream(node, target));
    if (queue === undefined) return null;
    const { stream } = queue;
    const planned = queue.at(stream.ordinal) ?? PASS;
    // A queue that is spent passes to the real effect (KS-7).
    const choice = this.decisions.decideOr(stream, atNs, DIRECTIVE_KINDS.length, 0);
    const kind = DIRECTIVE_KINDS[choice] as DirectiveKind;
    return kind === planned.kind ? planned : { ...PASS, kind, status: DEFAULT_STATUS[kind] };
  }

  private choose({ stream }: Opportunity): number | undefined {
    const planned = this.byStream.get(stream.name)?.at(stream.ordinal);
    return planned === undefined ? undefined : DIRECTIVE_KINDS.indexOf(planned.kind);
  }
}

/** The status of a kind that names none. */
export const DEFAULT_STATUS: Readonly<Record<DirectiveKind, number>> = {
  ok: 0,
  conn: 0,
  'timeout-before': 0,
  '5xx': 503,
  '429': 429,
  http: 500,
  crash: 0,
  'timeout-after': 0,
};

const PASS: DirectiveDef = { kind: 'ok', delayNs: 0, status: 0, retryAfterMs: 0, repeat: 1 };

class Queue {
  readonly stream: Stream;
  private readonly directives: readonly DirectiveDef[];
  /** The ordinal at which each directive is used up. */
  private readonly ends: readonly number[];

  constructor(directives: readonly DirectiveDef[], stream: Stream) {
    this.directives = directives;
    this.stream = stream;
    let end = 0;
    this.ends = directives.map(({ repeat }) => (end += repeat));
  }

  at(ordinal: number): DirectiveDef | undefined {
    let low = 0;
    let high = this.ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.ends[middle] as number) <= ordinal) low = middle + 1;
      else high = middle;
    }
    return this.directives[low];
  }
}
