import {
  diskIssues,
  PLAIN_DISK,
  QUIET_RULE,
  type ActionDef,
  type DiskAtlasDef,
  type DiskDef,
  type DiskRuleDef,
  type NodeDef,
  type ScenarioDef,
} from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import type { DiskAtlasFields, DiskFields, DiskRuleFields } from './schema-disk.ts';
import type { EventFields, ScenarioFields } from './schema.ts';
import type { KeyPath } from './toml.ts';

type DiskEventFields = Extract<EventFields, { do: 'disk' | 'disk-heal' }>;

/** A node's disk: its own keys before those of all disks; nothing where neither says anything. */
export function compileDisk(
  own: DiskFields | undefined,
  common: DiskFields | undefined,
): Pick<NodeDef, 'disk'> {
  if (own === undefined && common === undefined) return {};
  const fields: DiskFields = { ...common, ...own };
  const disk: DiskDef = {
    sectorBytes: fields.sector ?? PLAIN_DISK.sectorBytes,
    crash: fields.crash ?? PLAIN_DISK.crash,
    tear: fields.tear ?? PLAIN_DISK.tear,
    pageCache: fields.page_cache ?? PLAIN_DISK.pageCache,
    rule: compileRule(fields),
  };
  return { disk };
}

export function compileDiskAction(
  event: DiskEventFields,
  path: KeyPath,
  context: CompileContext,
): ActionDef {
  const nodes = context.nodeIndexes(event.nodes ?? [], [...path, 'nodes']);
  if (event.do === 'disk') return { kind: 'disk', nodes, rule: compileRule(event) };
  return { kind: 'disk-heal', nodes, repair: event.repair };
}

export function compileAtlas(
  fields: DiskAtlasFields | undefined,
  context: CompileContext,
): DiskAtlasDef | null {
  if (fields === undefined) return null;
  const nodes = context.nodeIndexes(fields.nodes, ['disk_atlas', 'nodes']);
  return { nodes, faultyMax: fields.faulty, chunkBytes: fields.chunk };
}

/** Finds what is wrong with disks as a whole, each issue at the table that said it. */
export function checkDisks(
  def: ScenarioDef,
  fields: ScenarioFields,
  context: CompileContext,
): void {
  for (const { code, event, node, why } of diskIssues(def)) {
    context.issues.push({ code, path: placeOf(def, fields, { event, node }), message: why });
  }
}

function placeOf(
  def: ScenarioDef,
  fields: ScenarioFields,
  { event, node }: { readonly event: number; readonly node: number },
): KeyPath {
  if (event >= 0) {
    const name = def.plan.events[event]?.name;
    return ['event', fields.event.findIndex((each) => each.name === name)];
  }
  if (node < 0) return ['disk_atlas'];
  const name = def.world.nodes[node]?.name ?? '';
  const table = fields.node.findIndex((each) => each.name === name || each.names?.includes(name));
  return fields.node[table]?.disk === undefined ? ['disk'] : ['node', table, 'disk'];
}

function compileRule(fields: DiskRuleFields): DiskRuleDef {
  const quiet = QUIET_RULE;
  return {
    path: fields.path ?? quiet.path,
    fromByte: fields.bytes?.[0] ?? quiet.fromByte,
    toByte: fields.bytes?.[1] ?? quiet.toByte,
    readError: fields.read_error ?? 0,
    writeError: fields.write_error ?? 0,
    syncError: fields.sync_error ?? 0,
    failedSync: fields.failed_sync ?? quiet.failedSync,
    lyingFlush: fields.lying_flush ?? 0,
    lostWrite: fields.lost_write ?? 0,
    tornWrite: fields.torn_write ?? 0,
    misdirectedWrite: fields.misdirected_write ?? 0,
    misdirectedRead: fields.misdirected_read ?? 0,
    bitRot: fields.bit_rot ?? 0,
    latentError: fields.latent_error ?? 0,
    capacityBytes: fields.capacity ?? null,
    quotaBytes: fields.quota ?? null,
    readLatencyNs: fields.read_latency ?? 0,
    writeLatencyNs: fields.write_latency ?? 0,
    syncLatencyNs: fields.sync_latency ?? 0,
    bytesPerSecond: fields.bytes_per_second ?? null,
    jitterNs: fields.jitter ?? 0,
    stall: fields.stall ?? 0,
    stallNs: fields.stall_for === undefined ? 0 : fields.stall_for,
  };
}
