/** What a program may assert about itself. `always-or-unreached` is `always` that may stay unreached. */
export type AssertionKind =
  'always' | 'always-or-unreached' | 'sometimes' | 'reachable' | 'unreachable';

export interface AssertionLine {
  readonly kind: AssertionKind;
  /** Identifies the assertion over all calls, nodes and runs. */
  readonly name: string;
  /** Whether the program came there; otherwise it only declares that there is such an assertion. */
  readonly hit: boolean;
  readonly condition: boolean;
  /** JSON, or the empty text. */
  readonly details: string;
}

const KINDS: ReadonlySet<string> = new Set<AssertionKind>([
  'always',
  'always-or-unreached',
  'sometimes',
  'reachable',
  'unreachable',
]);

/**
 * Reads a marker of ours, `{"kind":…,"name":…,"condition":…,"hit":…,"details":…}`. A marker that
 * asserts nothing (`log`, a line of a history) is null; one that makes no sense is a text that
 * says why.
 */
export function parseMarker(text: string): AssertionLine | string | null {
  if (!text.startsWith('{')) return null;
  const fields = parseObject(text);
  if (fields === null) return 'a marker is no JSON object';
  if ('antithesis_assert' in fields) return readForeign(fields['antithesis_assert']);
  const { kind, name, condition, hit, details } = fields;
  if (kind === 'log') return null;
  if (typeof kind !== 'string' || !KINDS.has(kind)) {
    return `a marker has the kind ${JSON.stringify(kind) ?? 'of nothing'}`;
  }
  if (typeof name !== 'string' || name === '') return 'a marker has no name';
  return {
    kind: kind as AssertionKind,
    name,
    hit: hit !== false,
    condition: kind === 'reachable' || condition === true,
    details: details === undefined ? '' : JSON.stringify(details),
  };
}

/**
 * Reads a line that the public Antithesis SDKs write, from a console or their local output file
 * (their C++, Go, Rust and Python sources): `{"antithesis_assert":{"hit":…,"must_hit":…,
 * "assert_type":"always"|"sometimes"|"reachability","id":…,"message":…,"condition":…,…}}`. Their
 * other lines (`antithesis_setup`, `antithesis_guidance`, …) and any other text are null.
 */
export function parseForeignLine(line: string): AssertionLine | null {
  if (!/^\s*\{\s*"antithesis_assert"/.test(line)) return null;
  const fields = parseObject(line);
  const read = fields === null ? null : readForeign(fields['antithesis_assert']);
  return typeof read === 'string' ? null : read;
}

function readForeign(value: unknown): AssertionLine | string {
  const fields = asObject(value);
  if (fields === null) return '"antithesis_assert" is no object';
  const { hit, must_hit: mustHit, assert_type: type, id, message, condition, details } = fields;
  const name = typeof id === 'string' && id !== '' ? id : message;
  if (typeof name !== 'string' || name === '')
    return '"antithesis_assert" has neither id nor message';
  const kind = foreignKind(type, mustHit !== false);
  if (kind === null)
    return `"antithesis_assert" has the type ${JSON.stringify(type) ?? 'of nothing'}`;
  return {
    kind,
    name,
    hit: hit === true,
    condition: kind === 'reachable' || condition === true,
    details: details === undefined || details === null ? '' : JSON.stringify(details),
  };
}

function foreignKind(type: unknown, mustHit: boolean): AssertionKind | null {
  switch (type) {
    case 'always':
      return mustHit ? 'always' : 'always-or-unreached';
    case 'sometimes':
      return 'sometimes';
    case 'reachability':
      return mustHit ? 'reachable' : 'unreachable';
    default:
      return null;
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return value as Readonly<Record<string, unknown>>;
}
