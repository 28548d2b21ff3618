import { asMap, readInteger, readList, readRecord, readWord, type Read } from '../kernel/shape.ts';
import { SimError } from '../kernel/errors.ts';
import { NS_PER_MS } from '../kernel/units.ts';
import {
  DEFAULT_STATUS,
  DIRECTIVES_MAX,
  REPEAT_MAX,
  TARGET_LENGTH_MAX,
  type DirectiveDef,
  type DirectiveKind,
  type DirectiveQueueDef,
} from '../plan/directives.ts';
import { invalidPlan } from './drive-plan.ts';

/** The words of a plan's directives. `timeout` never calls the effect, as in the reference (KS-9). */
const KINDS: ReadonlyMap<string, DirectiveKind> = new Map([
  ['ok', 'ok'],
  ['conn', 'conn'],
  ['timeout', 'timeout-before'],
  ['timeout_before', 'timeout-before'],
  ['timeout_after', 'timeout-after'],
  ['5xx', '5xx'],
  ['429', '429'],
  ['http', 'http'],
  ['crash', 'crash'],
]);

interface Written {
  readonly kind: string;
  readonly status?: number;
  readonly delay_ms?: number;
  readonly retry_after_ms?: number;
  readonly repeat?: number;
}

const readWritten: Read<Written> = readRecord<Written>(
  {
    kind: readWord([...KINDS.keys()]),
    status: readInteger(100, 599),
    delay_ms: readInteger(0, 86_400_000),
    retry_after_ms: readInteger(0, 86_400_000),
    repeat: readInteger(1, REPEAT_MAX),
  },
  ['status', 'delay_ms', 'retry_after_ms', 'repeat'],
);

/** Reads `faults` of a plan: one ordered queue for each exact target (KS-3), of one node. */
export function readDriveFaults(
  text: string,
  file: string,
  node: number,
): readonly DirectiveQueueDef[] {
  try {
    const faults = asMap(asMap(JSON.parse(text), 'plan')['faults'] ?? {}, 'faults');
    return Object.entries(faults).map(([target, value]) => {
      const path = `faults.${target}`;
      if (target.length > TARGET_LENGTH_MAX) {
        const message = `a target has at most ${TARGET_LENGTH_MAX} characters`;
        throw new SimError({ code: 'bundle/shape', message, place: path });
      }
      return { node, target, queue: readList(readDirective, DIRECTIVES_MAX)(value, path) };
    });
  } catch (error) {
    throw invalidPlan(file, error);
  }
}

/** A directive is an object, or the word of its kind alone. */
function readDirective(value: unknown, path: string): DirectiveDef {
  const written = readWritten(typeof value === 'string' ? { kind: value } : value, path);
  const kind = KINDS.get(written.kind) ?? 'ok';
  const hasStatus = kind === '5xx' || kind === 'http';
  return {
    kind,
    delayNs: (written.delay_ms ?? 0) * NS_PER_MS,
    status: hasStatus ? (written.status ?? DEFAULT_STATUS[kind]) : DEFAULT_STATUS[kind],
    retryAfterMs: written.retry_after_ms ?? 0,
    repeat: written.repeat ?? 1,
  };
}
