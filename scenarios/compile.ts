import {
  admitScenario,
  compareEvents,
  compareText,
  LINK_FLOOR_NS,
  type DiskAtlasDef,
  type EventDef,
  type LinkDef,
  type NodeDef,
  type PlanDef,
  type PropertyDef,
  type ScenarioDef,
  type SimError,
} from '../sim/index.ts';
import { compileAction } from './compile-action.ts';
import { CompileContext } from './compile-context.ts';
import { checkFaults, compileLinkFaults, compilePhases, compileWhen } from './compile-faults.ts';
import { checkDisks, compileAtlas } from './compile-disk.ts';
import { checkMachines } from './compile-machine.ts';
import { compileNodes } from './compile-nodes.ts';
import { compileProperties } from './compile-property.ts';
import { schemaIssues, toErrors, type Source } from './issues.ts';
import { scenarioSchema, type LinkFields, type ScenarioFields } from './schema.ts';
import type { KeyPath, PlainTable } from './toml.ts';

/** Where a scenario's further files come from. Each throws a SimError if there is no such thing. */
export interface ScenarioFiles {
  /** The bytes of a file, named from the scenario's place. */
  read(path: string): Uint8Array;
  /** The bytes of a disk image; by `read` where it is absent. */
  readDisk?(path: string): Uint8Array;
  /** The bytes of a guest that comes with the simulator. */
  builtinGuest(name: string): Uint8Array;
  /** The image of a machine that a `vm.toml` or a built-in name describes; made if there is none. */
  machineImage?(name: string): MachineImageParts;
}

/** What a machine's image consists of. */
export interface MachineImageParts {
  readonly kernel: Uint8Array;
  readonly initrd: Uint8Array;
  /** The first disk, or null. */
  readonly disk: Uint8Array | null;
  readonly commandLine: string;
  readonly memoryMib: number;
}

/** A file that a scenario was made of, by a plain relative name. */
export interface SourceFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface CompiledScenario {
  readonly def: ScenarioDef;
  /** The guests' images by SHA-256. */
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** Local files that `source` keys named, for the bundle's `spec/` (FB-60). */
  readonly sources: readonly SourceFile[];
}

export type CompileResult =
  | { readonly ok: true; readonly scenario: CompiledScenario }
  | { readonly ok: false; readonly errors: readonly SimError[] };

/**
 * Makes the canonical scenario of a text's values: checks them by the schema, resolves names,
 * fills in defaults, sorts. All errors come together, each with its place.
 */
export function compileScenario(
  value: PlainTable,
  source: Source,
  files: ScenarioFiles,
): CompileResult {
  const parsed = scenarioSchema.safeParse(value);
  if (!parsed.success) {
    return { ok: false, errors: toErrors(schemaIssues(parsed.error, value), source) };
  }
  const fields = parsed.data;
  const context = new CompileContext(files);
  const nodes = compileNodes(fields, context);
  const links = context.issues.length === 0 ? compileLinks(fields, context) : [];
  const events = compileEvents(fields, context);
  const properties = compileProperties(fields.property, fields.until, context);
  if (context.issues.length > 0) return { ok: false, errors: toErrors(context.issues, source) };
  const phases = compilePhases(fields, events, context);
  const atlas = compileAtlas(fields.disk_atlas, context);
  const def = assemble(fields, { nodes, links, events, properties, phases, atlas });
  checkFaults(def, fields, context);
  checkDisks(def, fields, context);
  checkMachines(def, fields, context);
  if (context.issues.length > 0) return { ok: false, errors: toErrors(context.issues, source) };
  admitScenario(def);
  return { ok: true, scenario: { def, images: context.images, sources: context.sources() } };
}

interface Parts {
  readonly nodes: readonly NodeDef[];
  readonly links: readonly LinkDef[];
  readonly events: readonly EventDef[];
  readonly properties: readonly PropertyDef[];
  readonly phases: Pick<PlanDef, 'swarm' | 'liveness'>;
  readonly atlas: DiskAtlasDef | null;
}

function assemble(fields: ScenarioFields, parts: Parts): ScenarioDef {
  const { virtual_time: virtualNsMax, quanta: quantaMax } = fields.limits;
  return {
    name: fields.name,
    world: { nodes: parts.nodes, links: parts.links, ...(parts.atlas && { atlas: parts.atlas }) },
    plan: {
      events: [...parts.events].sort(compareEvents),
      until: fields.until,
      limits: { virtualNsMax, quantaMax },
      ...schedulingOf(fields),
      ...parts.phases,
    },
    properties: [...parts.properties].sort((a, b) => compareText(a.name, b.name)),
    seed: fields.seed ?? null,
  };
}

/** A plan without scheduling has no such field, so that its id is what it always was. */
function schedulingOf({ scheduling }: ScenarioFields): Pick<PlanDef, 'scheduling'> {
  if (scheduling === undefined) return {};
  return { scheduling: { delayNsMax: scheduling.delay, choices: scheduling.choices } };
}

type Quality = Pick<LinkDef, 'latencyNs' | 'jitterNs' | 'loss' | 'bandwidth' | 'faults'>;

const DEFAULT_QUALITY: Quality = { latencyNs: 1_000_000, jitterNs: 0, loss: 0, bandwidth: null };

function compileLinks(fields: ScenarioFields, context: CompileContext): LinkDef[] {
  const common = quality(fields.network, DEFAULT_QUALITY, ['network'], context);
  const count = context.nodeNames.length;
  const special = new Map<number, Quality>();
  fields.link.forEach((link, index) => {
    const path = ['link', index];
    const own = quality(link, common, path, context);
    for (const [from, to] of linkPairs(link, path, context)) {
      const key = from * count + to;
      const both = `${context.nodeNames[from] ?? ''} to ${context.nodeNames[to] ?? ''}`;
      if (special.has(key)) context.fail('duplicate', path, `the link ${both} stands twice`);
      special.set(key, own);
    }
  });
  const links: LinkDef[] = [];
  for (let from = 0; from < count; from++) {
    for (let to = 0; to < count; to++) {
      const own = special.get(from * count + to);
      const meshed = fields.network.topology === 'mesh' && from !== to ? common : undefined;
      const found = own ?? meshed;
      if (found !== undefined) links.push({ from, to, ...found });
    }
  }
  return links;
}

/** The directed pairs that a link names. */
function linkPairs(link: LinkFields, path: KeyPath, context: CompileContext): [number, number][] {
  const { between, from, to } = link;
  const direct = from !== undefined && to !== undefined;
  if ((between === undefined) !== direct || (!direct && (from ?? to) !== undefined)) {
    context.fail('link', path, 'a link has either "between" or both "from" and "to"');
    return [];
  }
  const ends: [string, string] = between ?? [from ?? '', to ?? ''];
  const paths: [KeyPath, KeyPath] =
    between === undefined
      ? [
          [...path, 'from'],
          [...path, 'to'],
        ]
      : [
          [...path, 'between', 0],
          [...path, 'between', 1],
        ];
  const a = context.nodeIndex(ends[0], paths[0]);
  const b = context.nodeIndex(ends[1], paths[1]);
  if (a < 0 || b < 0) return [];
  if (a === b) {
    context.fail('link', paths[1], `a link joins "${ends[0]}" to itself`);
    return [];
  }
  return between === undefined
    ? [[a, b]]
    : [
        [a, b],
        [b, a],
      ];
}

function quality(
  fields: Omit<LinkFields, 'between' | 'from' | 'to'>,
  fallback: Quality,
  path: KeyPath,
  context: CompileContext,
): Quality {
  const latencyNs = fields.latency ?? fallback.latencyNs;
  const jitterNs = fields.jitter ?? fallback.jitterNs;
  const loss = fields.loss ?? fallback.loss;
  const bandwidth = fields.bandwidth ?? fallback.bandwidth;
  if (latencyNs - jitterNs < LINK_FLOOR_NS) {
    const key = fields.jitter === undefined ? 'latency' : 'jitter';
    const least = `latency less jitter must be at least ${LINK_FLOOR_NS}ns`;
    context.fail('jitter', [...path, key], `${least}, it is ${latencyNs - jitterNs}ns`);
  }
  const faults = compileLinkFaults(fields, fallback.faults ?? {}, path, context);
  const some = Object.keys(faults).length > 0;
  return { latencyNs, jitterNs, loss, bandwidth, ...(some ? { faults } : {}) };
}

function compileEvents(fields: ScenarioFields, context: CompileContext): EventDef[] {
  const seen = new Set<string>();
  return fields.event.flatMap((event, index) => {
    const path = ['event', index];
    context.displayName(event.name, [...path, 'name'], seen);
    if (event.chance === 0) {
      context.fail('range', [...path, 'chance'], 'an event with no chance never happens');
    }
    if (event.at + event.within > Number.MAX_SAFE_INTEGER) {
      context.fail(
        'range',
        [...path, 'within'],
        '"at" and "within" together are above 2^53 - 1 ns',
      );
    }
    const action = compileAction(event, path, context);
    if (action === null) return [];
    const { name, at: atNs, within: withinNs, chance } = event;
    return [{ name, atNs, withinNs, chance, action, ...compileWhen(event, path, context) }];
  });
}
