import { encodeCanonical } from '../kernel/canonical.ts';
import { SimError } from '../kernel/errors.ts';
import { sha256 } from '../kernel/sha256.ts';
import { LINK_FLOOR_NS, type EventDef, type GuestDef, type ScenarioDef } from './scenario.ts';

/**
 * What a scenario is called: SHA-256 (64 hexadecimal digits) of the canonical CBOR of each of its
 * four parts, and of the four ids together. Names and labels are no part of any id.
 */
export interface ScenarioIds {
  readonly world: string;
  readonly plan: string;
  readonly properties: string;
  readonly seed: string;
  readonly scenario: string;
}

/** Raised when the meaning of a part changes, so that ids of old and new never meet. */
const IDENTITY_VERSION = 1;

/**
 * The ids of a scenario (CR-51): changing one part changes its own id and the scenario's, no
 * other. The links' floor belongs to the world, since it bounds what order is possible (CR-54).
 */
export function scenarioIds(def: ScenarioDef): ScenarioIds {
  const nodes = def.world.nodes.map((node) => {
    return { ...node, guest: withoutLabel(node.guest) };
  });
  const { links, atlas } = def.world;
  // What is absent stands in no id, so that scenarios without it keep theirs.
  const bound = atlas === undefined ? {} : { atlas };
  const world = part('world', { nodes, links, floorNs: LINK_FLOOR_NS, ...bound });
  const plan = part('plan', { ...def.plan, events: def.plan.events.map(withoutLabels) });
  const properties = part('properties', def.properties);
  const seed = part('seed', def.seed);
  const scenario = part('scenario', [world, plan, properties, seed]);
  return { world, plan, properties, seed, scenario };
}

function withoutLabels(event: EventDef): unknown {
  const { action } = event;
  if (action.kind !== 'upgrade') return event;
  return { ...event, action: { ...action, guest: withoutLabel(action.guest) } };
}

function withoutLabel(guest: GuestDef): object {
  const { kind, image } = guest;
  return kind === 'vm' ? { kind, image, machine: guest.machine } : { kind, image };
}

/** Compares ids that stand in a document with those of its content (CR-53). */
export function checkIds(expected: ScenarioIds, found: ScenarioIds): void {
  for (const field of ['world', 'plan', 'properties', 'seed', 'scenario'] as const) {
    if (expected[field] === found[field]) continue;
    throw new SimError({
      code: 'scenario/stale-id',
      message:
        `the id in field "${field}" is stale: expected ${expected[field]}, ` +
        `found ${found[field]}`,
      place: `ids.${field}`,
      remedy: 'write the scenario again; ids are derived, never edited',
    });
  }
}

function part(name: string, value: unknown): string {
  return sha256(encodeCanonical({ version: IDENTITY_VERSION, part: name, value }));
}
