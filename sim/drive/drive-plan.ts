import { SimError } from '../kernel/errors.ts';
import { asMap, readInteger, readList, readRecord, readText, type Read } from '../kernel/shape.ts';

/** What the driver itself reads of a plan file; `faults` belongs to the injecting side (KS-39). */
export interface DrivePlan {
  /** A module, a model's file, or a guest that comes with the simulator. */
  readonly target: string;
  readonly args: readonly string[];
  /** How often a target that crashed is started again: 2 are three starts. */
  readonly maxRestarts: number;
  /** How long others may still believe that a crashed flow runs; null for no wait. */
  readonly flowLeaseMs: number | null;
  readonly assert: DriveAssert;
  /** Record worlds by the name of their node. */
  readonly worlds: Readonly<Record<string, string>>;
  readonly seed: number | null;
}

export interface DriveAssert {
  readonly maxAttempts: Readonly<Record<string, number>>;
  readonly breakerOpen: readonly string[];
  readonly noBreakerOpen: readonly string[];
  readonly flowStatus: string | null;
  readonly exitCode: number | null;
}

export const RESTARTS_DEFAULT = 8;
export const RESTARTS_MAX = 1_000;

const texts = readList(readText(), 1_000);

function mapOf<T>(read: Read<T>): Read<Readonly<Record<string, T>>> {
  return (value, path) => {
    const entries = Object.entries(asMap(value, path));
    return Object.fromEntries(entries.map(([key, each]) => [key, read(each, `${path}.${key}`)]));
  };
}

const ASSERT = {
  max_attempts: mapOf(readInteger(1)),
  breaker_open: texts,
  no_breaker_open: texts,
  flow_status: readText(),
  exit_code: readInteger(0, 255),
};

const FIELDS = {
  target: readText(),
  args: texts,
  max_restarts: readInteger(0, RESTARTS_MAX),
  flow_lease_ms: readInteger(0, 86_400_000),
  worlds: mapOf(readText()),
  seed: readInteger(),
};

interface Known {
  readonly target: string;
  readonly args?: readonly string[];
  readonly max_restarts?: number;
  readonly flow_lease_ms?: number;
  readonly worlds?: Readonly<Record<string, string>>;
  readonly seed?: number;
}

interface KnownAssert {
  readonly max_attempts?: Readonly<Record<string, number>>;
  readonly breaker_open?: readonly string[];
  readonly no_breaker_open?: readonly string[];
  readonly flow_status?: string;
  readonly exit_code?: number;
}

const readKnown = readRecord<Known>(FIELDS, [
  'args',
  'max_restarts',
  'flow_lease_ms',
  'worlds',
  'seed',
]);
const readAssert = readRecord<KnownAssert>(ASSERT, [
  'max_attempts',
  'breaker_open',
  'no_breaker_open',
  'flow_status',
  'exit_code',
]);

/** Fields of a plan that others read. */
const FOREIGN: readonly string[] = ['assert', 'faults', 'v'];

/**
 * Reads a plan. Unknown fields are ignored (KS-2) unless `strict`. Throws `input/drive-plan` with
 * the text that KS-37 fixes.
 */
export function readDrivePlan(text: string, file: string, strict: boolean): DrivePlan {
  try {
    const value = asMap(JSON.parse(text), 'plan');
    const known = readKnown(only(value, Object.keys(FIELDS), FOREIGN, strict), '');
    const given = asMap(value['assert'] ?? {}, 'assert');
    const wanted = readAssert(only(given, Object.keys(ASSERT), [], strict), 'assert');
    return {
      target: known.target,
      args: known.args ?? [],
      maxRestarts: known.max_restarts ?? RESTARTS_DEFAULT,
      flowLeaseMs: known.flow_lease_ms ?? null,
      worlds: known.worlds ?? {},
      seed: known.seed ?? null,
      assert: {
        maxAttempts: wanted.max_attempts ?? {},
        breakerOpen: wanted.breaker_open ?? [],
        noBreakerOpen: wanted.no_breaker_open ?? [],
        flowStatus: wanted.flow_status ?? null,
        exitCode: wanted.exit_code ?? null,
      },
    };
  } catch (error) {
    throw invalidPlan(file, error);
  }
}

/** What is wrong with a plan, in the words that KS-37 fixes. */
export function invalidPlan(file: string, error: unknown): SimError {
  const place = error instanceof SimError ? (error.place ?? '') : '';
  const why = error instanceof Error ? error.message.replace(/^[^:]*must be: /, '') : 'unknown';
  const where = error instanceof SimError ? place || 'its shape' : 'not JSON';
  return new SimError({
    code: 'input/drive-plan',
    message: `${file} is not a valid sim plan (${where}): ${why}`,
    remedy: 'see docs/drive.md for the fields of a plan',
    cause: error,
  });
}

/** The known fields of a map; of others, what `strict` says. */
function only(
  value: Readonly<Record<string, unknown>>,
  known: readonly string[],
  foreign: readonly string[],
  strict: boolean,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(value).filter(([key]) => {
    return known.includes(key) || (strict && !foreign.includes(key));
  });
  return Object.fromEntries(entries);
}
