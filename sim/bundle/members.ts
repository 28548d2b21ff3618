import { SimError } from '../kernel/errors.ts';
import { compareText } from '../plan/admit.ts';

/**
 * The members of a bundle in their fixed order (design: bundle). A name that ends in a slash is a
 * folder, whose members stand in the order of their names.
 */
export const MEMBER_ORDER = [
  'manifest.cbor',
  'scenario.cbor',
  'plan.json',
  'trace.json',
  'schedule.bin',
  'events.bin',
  'fingerprints.bin',
  'checkpoints/',
  'guests/',
  'spec/',
  'env.json',
  'replay.sh',
] as const;

/** Members without which a bundle is none; `plan.json` and `trace.json` may be missing (FB-57). */
export const MEMBERS_NEEDED = [
  'manifest.cbor',
  'scenario.cbor',
  'schedule.bin',
  'events.bin',
  'fingerprints.bin',
] as const;

/** A bundle has at most this many members. */
export const MEMBERS_MAX = 10_000;
/** A member's name is at most this long. */
export const MEMBER_NAME_LENGTH_MAX = 200;

const MIB = 1024 * 1024;

/** The most bytes that a member may hold, by its place in MEMBER_ORDER. */
const BYTES_MAX: Readonly<Record<(typeof MEMBER_ORDER)[number], number>> = {
  'manifest.cbor': 16 * MIB,
  'scenario.cbor': 256 * MIB,
  'plan.json': 16 * MIB,
  'trace.json': 128 * MIB,
  'schedule.bin': 1024 * MIB,
  'events.bin': 1024 * MIB,
  'fingerprints.bin': 64 * MIB,
  'checkpoints/': 1024 * MIB,
  'guests/': 256 * MIB,
  'spec/': 64 * MIB,
  'env.json': MIB,
  'replay.sh': MIB,
};

const IN_FOLDER: ReadonlyMap<string, RegExp> = new Map([
  ['checkpoints/', /^checkpoints\/(?:\d{3}|pages)\.cbor$/],
  ['guests/', /^guests\/[0-9a-f]{64}\.(?:part|wasm)$/],
  // Plain segments only: none is empty or starts with a dot, so none leaves the folder.
  ['spec/', /^spec(?:\/[A-Za-z0-9_-][A-Za-z0-9._ -]*)+$/],
]);

/** The place of a member's name in MEMBER_ORDER, or -1 for a name that no bundle has. */
function rankOf(name: string): number {
  if (name.length > MEMBER_NAME_LENGTH_MAX) return -1;
  return MEMBER_ORDER.findIndex((entry) => {
    const pattern = IN_FOLDER.get(entry);
    return pattern === undefined ? entry === name : pattern.test(name);
  });
}

/** The most bytes that the member of that name may hold; 0 for a name that no bundle has. */
export function memberBytesMax(name: string): number {
  const entry = MEMBER_ORDER[rankOf(name)];
  return entry === undefined ? 0 : BYTES_MAX[entry];
}

/** Sorts members into the fixed order. Our own names only: see `checkMembers`. */
export function compareMembers(a: string, b: string): number {
  return rankOf(a) - rankOf(b) || compareText(a, b);
}

/**
 * Checks the names of a bundle's members, in the order of the file: known, in order, each once,
 * not too many, none missing. Throws `bundle/member`.
 */
export function checkMembers(names: readonly string[]): void {
  if (names.length > MEMBERS_MAX) {
    refuse(`${names.length} members are above the limit ${MEMBERS_MAX}`);
  }
  names.forEach((name, index) => {
    if (rankOf(name) < 0) refuse(`a bundle has no member ${shown(name)}`);
    const previous = names[index - 1];
    if (previous !== undefined && compareMembers(previous, name) >= 0) {
      refuse(`${shown(name)} does not stand in the fixed order`);
    }
  });
  for (const needed of MEMBERS_NEEDED) {
    if (!names.includes(needed)) refuse(`the member ${shown(needed)} is missing`);
  }
}

/** A file's relative name as a member of `spec/`: other characters become underscores. */
export function specMember(name: string): string {
  const segments = name.split('/').map((segment) => {
    return segment.replace(/[^A-Za-z0-9._ -]/g, '_').replace(/^[. ]/, '_');
  });
  return `spec/${segments.join('/')}`.slice(0, MEMBER_NAME_LENGTH_MAX);
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}

function refuse(why: string): never {
  throw new SimError({ code: 'bundle/member', message: `the bundle is refused: ${why}` });
}
