import { decodeDecisions, LOG_DECISIONS, readWholeLog, SimError } from '../sim/index.ts';
import type { Override, ScenarioDef } from '../sim/index.ts';

/** A decision's address as it can be pasted into a shell: the stream percent-encoded (CR-24). */
export function formatAddress(stream: string, ordinal: number): string {
  return `${encodeURIComponent(stream).replaceAll('%2F', '/')}#${ordinal}`;
}

/** Reads `stream#ordinal=choice`. Throws `usage/override`. */
export function parseOverride(text: string): Override {
  const match = /^([^#=]+)#(\d{1,16})=(\d{1,16})$/.exec(text);
  const stream = match === null ? null : decodeName(match[1] ?? '');
  const ordinal = Number(match?.[2]);
  const choice = Number(match?.[3]);
  if (stream === null || !Number.isSafeInteger(ordinal) || !Number.isSafeInteger(choice)) {
    throw new SimError({
      code: 'usage/override',
      message: `"${text}" is no override`,
      remedy: 'write stream#ordinal=choice; `sim inspect --decisions` prints the addresses',
    });
  }
  return { stream, ordinal, choice };
}

function decodeName(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

/**
 * Refuses, before anything runs, what no decision after the branch can be (CR-23): a stream of a
 * node or event that the scenario does not have, and a decision that was made before the branch.
 */
export function admitOverrides(
  overrides: readonly Override[],
  scenario: ScenarioDef,
  prefix: Uint8Array,
): void {
  const decided = new Map<string, number>();
  for (const { stream, ordinal } of decodeDecisions(readWholeLog(prefix, LOG_DECISIONS))) {
    decided.set(stream, ordinal + 1);
  }
  const nodes = new Set(scenario.world.nodes.map((node) => node.name));
  const events = new Set(scenario.plan.events.map((event) => event.name));
  for (const { stream, ordinal } of overrides) {
    const place = formatAddress(stream, ordinal);
    const next = decided.get(stream) ?? 0;
    if (ordinal < next) {
      refuse(place, `it was decided before the branch; the next one is number ${next}`);
    }
    const why = unknownStream(stream, nodes, events);
    if (why !== null) refuse(place, why);
  }
}

/**
 * Why a scenario cannot have a stream of that name, or null. Streams are called `node/<node>/…`,
 * `link/<node>/<node>/…` and `plan/<event>/…`.
 */
function unknownStream(
  stream: string,
  nodes: ReadonlySet<string>,
  events: ReadonlySet<string>,
): string | null {
  const [kind, first = '', second = ''] = stream.split('/');
  switch (kind) {
    case 'node':
      return nodes.has(first) ? null : `the scenario has no node "${first}"`;
    case 'link': {
      const missing = [first, second].find((name) => !nodes.has(name));
      return missing === undefined ? null : `the scenario has no node "${missing}"`;
    }
    case 'plan':
      return events.has(first) ? null : `the scenario has no event "${first}"`;
    default:
      return `no stream is called "${stream}"`;
  }
}

function refuse(place: string, why: string): never {
  throw new SimError({
    code: 'input/override',
    message: `the decision cannot be overridden: ${why}`,
    place,
    remedy: '`sim inspect --decisions` prints the addresses of a recorded run',
  });
}
