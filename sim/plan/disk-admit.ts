import { MILLION } from '../kernel/units.ts';
import { faultOfRule, isQuiet, PLAIN_DISK, type DiskDef, type DiskRuleDef } from './disk.ts';
import type { ActionDef, EventDef, ScenarioDef } from './scenario.ts';

/** Something wrong with the disks of a scenario: where in its canonical form, and why. */
export interface DiskIssue {
  readonly code: 'scenario/disk' | 'scenario/conflict';
  readonly path: string;
  /** The event that it is about, or -1. */
  readonly event: number;
  /** The node that it is about, or -1. */
  readonly node: number;
  readonly why: string;
}

type DiskEvent = EventDef & { readonly action: Extract<ActionDef, { kind: 'disk' }> };

/**
 * What is wrong with disks, their events and the atlas; empty if nothing is. Rules that could
 * contradict one another on one target are refused, in whatever order they are declared (CR-82).
 */
export function diskIssues(def: Pick<ScenarioDef, 'world' | 'plan'>): DiskIssue[] {
  const issues: DiskIssue[] = [];
  const { nodes } = def.world;
  nodes.forEach(({ disk }, node) => {
    const found = disk === undefined ? null : faultOfDisk(disk);
    if (found !== null) {
      const path = `world.nodes[${node}].disk.${found[0]}`;
      issues.push({ code: 'scenario/disk', path, event: -1, node, why: found[1] });
    }
  });
  def.plan.events.forEach(({ action }, event) => {
    if (action.kind !== 'disk') return;
    const path = `plan.events[${event}].action.rule`;
    const found = faultOfRule(action.rule) ?? sectorsFor(def, action);
    if (found !== null) {
      const [field, why] = found;
      issues.push({ code: 'scenario/disk', path: `${path}.${field}`, event, node: -1, why });
    } else if (isQuiet(action.rule)) {
      const why = 'it does nothing; "disk-heal" lifts what others do';
      issues.push({ code: 'scenario/disk', path, event, node: -1, why });
    }
  });
  issues.push(...atlasIssues(def));
  return issues.length > 0 ? issues : conflicts(def);
}

function faultOfDisk({
  sectorBytes,
  crash,
  tear,
  rule,
}: DiskDef): readonly [string, string] | null {
  if (![512, 4096].includes(sectorBytes)) return ['sectorBytes', 'a sector has 512 or 4096 bytes'];
  if (!Number.isSafeInteger(tear) || tear < 0 || tear > MILLION) return ['tear', 'it is no share'];
  if (tear > 0 && sectorBytes === 4096) return ['tear', 'a page of one sector cannot tear'];
  if (tear > 0 && crash === 'file') {
    return ['tear', 'with the policy "file" all of a file is kept or lost: nothing can tear'];
  }
  if (rule.tornWrite > 0 && sectorBytes === 4096) {
    return ['rule.tornWrite', 'a page of one sector cannot tear'];
  }
  const found = faultOfRule(rule);
  return found === null ? null : [`rule.${found[0]}`, found[1]];
}

function sectorsFor(
  { world }: Pick<ScenarioDef, 'world'>,
  { nodes, rule }: DiskEvent['action'],
): readonly [string, string] | null {
  if (rule.tornWrite === 0) return null;
  const whole = targets(nodes, world.nodes.length).some((node) => {
    return world.nodes[node]?.disk?.sectorBytes === 4096;
  });
  return whole ? ['tornWrite', 'a page of one sector cannot tear'] : null;
}

function atlasIssues({ world }: Pick<ScenarioDef, 'world'>): DiskIssue[] {
  const { atlas } = world;
  if (atlas === undefined) return [];
  const { nodes, faultyMax, chunkBytes } = atlas;
  const issue = (field: string, why: string): DiskIssue[] => {
    return [{ code: 'scenario/disk', path: `world.atlas.${field}`, event: -1, node: -1, why }];
  };
  const known = nodes.every((node, at) => {
    return node >= 0 && node < world.nodes.length && node > (nodes[at - 1] ?? -1);
  });
  if (!known) return issue('nodes', 'they are not nodes in order, each once');
  if (!Number.isSafeInteger(faultyMax) || faultyMax < 0 || faultyMax >= nodes.length) {
    return issue('faultyMax', `at least one of ${nodes.length} nodes must stay whole`);
  }
  if (chunkBytes < 4_096 || chunkBytes % 4_096 !== 0) {
    return issue('chunkBytes', 'it is no multiple of a page of 4096 bytes');
  }
  return [];
}

/** Rules that may hold at one time on one file and disagree. */
function conflicts({ world, plan }: Pick<ScenarioDef, 'world' | 'plan'>): DiskIssue[] {
  const issues: DiskIssue[] = [];
  const count = world.nodes.length;
  const events = plan.events.flatMap((event, index) => {
    return event.action.kind === 'disk' ? [{ event: event as DiskEvent, index }] : [];
  });
  events.forEach(({ event, index }, at) => {
    const { nodes, rule } = event.action;
    const path = `plan.events[${index}].action.rule`;
    for (const node of targets(nodes, count)) {
      const base = (world.nodes[node]?.disk ?? PLAIN_DISK).rule;
      const name = world.nodes[node]?.name ?? '';
      const others = events.slice(0, at).filter((other) => {
        return targets(other.event.action.nodes, count).includes(node);
      });
      const rivals = [
        { rule: base, from: 0, label: `the disk of "${name}"` },
        ...others.map((other) => ({
          rule: other.event.action.rule,
          from: latest(other.event),
          label: `the event "${other.event.name}"`,
        })),
      ].filter((rival) => !liftedBetween(plan.events, node, rival.from, event.atNs));
      for (const rival of rivals) {
        const why = disagreement(rival.rule, rule);
        if (why === null) continue;
        const code = 'scenario/conflict';
        issues.push({ code, path, event: index, node, why: `${rival.label} ${why}` });
        return;
      }
    }
  });
  return issues;
}

function targets(nodes: readonly number[], count: number): readonly number[] {
  return nodes.length > 0 ? nodes : Array.from({ length: count }, (_, index) => index);
}

function latest({ atNs, withinNs }: EventDef): number {
  return atNs + withinNs;
}

/** Whether all rules of the node are surely lifted within (from, to]. */
function liftedBetween(
  events: readonly EventDef[],
  node: number,
  fromNs: number,
  toNs: number,
): boolean {
  return events.some((event) => {
    const { action } = event;
    if (action.kind !== 'disk-heal' || event.chance < MILLION) return false;
    const applies = action.nodes.length === 0 || action.nodes.includes(node);
    return applies && event.atNs > fromNs && latest(event) < toNs;
  });
}

/** Why two rules cannot hold for one file together, or null. */
function disagreement(one: DiskRuleDef, other: DiskRuleDef): string | null {
  if (one.fromByte >= other.toByte || other.fromByte >= one.toByte) return null;
  if (!mayOverlap(one.path, other.path)) return null;
  const both = one.syncError > 0 && other.syncError > 0;
  if (both && one.failedSync !== other.failedSync) {
    return 'leaves other pages after a failed sync of the same files';
  }
  const writes = (rule: DiskRuleDef): number => {
    return rule.lostWrite + rule.tornWrite + rule.misdirectedWrite;
  };
  if (writes(one) > 0 && writes(other) > 0) {
    return 'says already what becomes of the same writes: lost, torn or misdirected';
  }
  return null;
}

/** Whether some path may match both patterns; sure when it says no. */
function mayOverlap(one: string, other: string): boolean {
  if (one === '' || other === '') return true;
  const [a, b] = [one.split('*'), other.split('*')];
  if (a.length === 1 && b.length === 1) return one === other;
  const agree = (left: string, right: string): boolean => {
    return left.startsWith(right) || right.startsWith(left);
  };
  const ends = (left: string, right: string): boolean => {
    return left.endsWith(right) || right.endsWith(left);
  };
  return agree(a[0] ?? '', b[0] ?? '') && ends(a.at(-1) ?? '', b.at(-1) ?? '');
}
