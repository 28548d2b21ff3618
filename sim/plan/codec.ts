import { decodeCanonical, encodeCanonical } from '../kernel/canonical.ts';
import {
  openDocument,
  readBytes,
  readHex,
  readInteger,
  readList,
  readNullable,
  readPair,
  readRecord,
  readText,
  readVariant,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { linearizableReader, serializableReader } from './history-properties.ts';
import {
  admitScenario,
  EVENTS_MAX,
  FILE_BYTES_MAX,
  FILES_MAX,
  NODES_MAX,
  PROPERTIES_MAX,
  TEXTS_MAX,
} from './admit.ts';
import { DISK_ACTION_READERS, readDisk, readDiskAtlas } from './disk-codec.ts';
import {
  NODE_ACTION_READERS,
  readGuest,
  readLinkFaults,
  readLiveness,
  readNodeClock,
  readSwarm,
  readTrigger,
} from './fault-codec.ts';
import { hardwareReaders } from './hardware-codec.ts';
import { temporalReader } from './predicate-codec.ts';
import { checkIds, scenarioIds, type ScenarioIds } from './identity.ts';
import { readDirectives } from './directives.ts';
import { readScheduling } from './scheduling.ts';
import type {
  ActionDef,
  EventDef,
  FileDef,
  LimitsDef,
  LinkDef,
  NodeDef,
  PlanDef,
  PropertyDef,
  ScenarioDef,
  WorldDef,
} from './scenario.ts';

/** The version of the canonical exchange form. */
export const SCENARIO_VERSION = 1;

const DOCUMENT = { document: 'scenario', version: SCENARIO_VERSION } as const;

/** The one canonical exchange form: canonical CBOR, ids included (CR-53). */
export function encodeScenario(def: ScenarioDef): Uint8Array {
  admitScenario(def);
  const { name, world, plan, properties, seed } = def;
  const ids = scenarioIds(def);
  return encodeCanonical({
    schema_version: SCENARIO_VERSION,
    ids,
    name,
    world,
    plan,
    properties,
    seed,
  });
}

/**
 * Reads the exchange form. Damaged, unknown or meaningless content is a SimError with its place;
 * ids that do not belong to the content are `scenario/stale-id`.
 */
export function decodeScenario(bytes: Uint8Array): ScenarioDef {
  const fields = openDocument(decodeCanonical(bytes), DOCUMENT);
  const { ids, ...def } = readDocument(fields, '');
  admitScenario(def);
  checkIds(ids, scenarioIds(def));
  return def;
}

const indexes = readList(readInteger(), NODES_MAX);

const readFile: Read<FileDef> = readRecord<FileDef>({
  path: readText(),
  bytes: readBytes(FILE_BYTES_MAX),
});

const readNode: Read<NodeDef> = readRecord<NodeDef>(
  {
    name: readText(),
    guest: readGuest,
    args: readList(readText(65_536), TEXTS_MAX),
    env: readList(readPair(readText(65_536), readText(65_536)), TEXTS_MAX),
    files: readList(readFile, FILES_MAX),
    nsPerThousandInstructions: readInteger(),
    memoryPagesMax: readInteger(),
    startNs: readInteger(),
    clock: readNodeClock,
    disk: readDisk,
  },
  ['clock', 'disk'],
);

const readLink: Read<LinkDef> = readRecord<LinkDef>(
  {
    faults: readLinkFaults,
    from: readInteger(),
    to: readInteger(),
    latencyNs: readInteger(),
    jitterNs: readInteger(),
    loss: readInteger(),
    bandwidth: readNullable(readInteger()),
  },
  ['faults'],
);

const readWorld: Read<WorldDef> = readRecord<WorldDef>(
  {
    nodes: readList(readNode, NODES_MAX),
    links: readList(readLink, NODES_MAX * NODES_MAX),
    atlas: readDiskAtlas,
  },
  ['atlas'],
);

type Action<K extends ActionDef['kind']> = Extract<ActionDef, { kind: K }>;

const readInFlight = readWord(['deliver']);

const readAction: Read<ActionDef> = readVariant<ActionDef>({
  ...NODE_ACTION_READERS,
  crash: readRecord<Action<'crash'>>({ kind: readWord(['crash']), oneOf: indexes }),
  restart: readRecord<Action<'restart'>>({ kind: readWord(['restart']), oneOf: indexes }),
  pause: readRecord<Action<'pause'>>({
    kind: readWord(['pause']),
    oneOf: indexes,
    forNs: readInteger(),
  }),
  partition: readRecord<Action<'partition'>>(
    {
      kind: readWord(['partition']),
      groups: readList(indexes, NODES_MAX),
      inFlight: readInFlight,
    },
    ['inFlight'],
  ),
  isolate: readRecord<Action<'isolate'>>(
    { kind: readWord(['isolate']), oneOf: indexes, inFlight: readInFlight },
    ['inFlight'],
  ),
  cut: readRecord<Action<'cut'>>(
    { kind: readWord(['cut']), from: indexes, to: indexes, inFlight: readInFlight },
    ['inFlight'],
  ),
  ...DISK_ACTION_READERS,
  ...hardwareReaders(NODES_MAX),
  heal: readRecord<Action<'heal'>>({ kind: readWord(['heal']) }),
  degrade: readRecord<Action<'degrade'>>(
    {
      kind: readWord(['degrade']),
      nodes: indexes,
      loss: readInteger(),
      extraLatencyNs: readInteger(),
      bandwidth: readInteger(1),
      faults: readLinkFaults,
    },
    ['bandwidth', 'faults'],
  ),
});

const readEvent: Read<EventDef> = readRecord<EventDef>(
  {
    name: readText(),
    atNs: readInteger(),
    withinNs: readInteger(),
    chance: readInteger(),
    action: readAction,
    forNs: readInteger(1),
    trigger: readTrigger,
  },
  ['forNs', 'trigger'],
);

const readPlan: Read<PlanDef> = readRecord<PlanDef>(
  {
    liveness: readLiveness,
    swarm: readSwarm,
    events: readList(readEvent, EVENTS_MAX),
    until: readWord(['quiescence', 'property', 'stopped', 'virtual-time']),
    limits: readRecord<LimitsDef>({ virtualNsMax: readInteger(), quantaMax: readInteger() }),
    scheduling: readScheduling,
    directives: readDirectives,
  },
  ['liveness', 'swarm', 'scheduling', 'directives'],
);

type Property<K extends PropertyDef['kind']> = Extract<PropertyDef, { kind: K }>;

function readConsole<K extends 'never' | 'unique' | 'agree'>(
  kind: K,
): Read<{
  readonly kind: K;
  readonly name: string;
  readonly nodes: readonly number[];
  readonly console: string;
}> {
  return readRecord({
    kind: readWord([kind]),
    name: readText(),
    nodes: indexes,
    console: readText(),
  });
}

const readProperty: Read<PropertyDef> = readVariant<PropertyDef>({
  exit: readRecord<Property<'exit'>>({
    kind: readWord(['exit']),
    name: readText(),
    nodes: indexes,
    code: readInteger(),
  }),
  never: readConsole('never'),
  eventually: readRecord<Property<'eventually'>>({
    kind: readWord(['eventually']),
    name: readText(),
    nodes: indexes,
    console: readText(),
    withinNs: readNullable(readInteger()),
  }),
  linearizable: linearizableReader(NODES_MAX),
  serializable: serializableReader(NODES_MAX),
  temporal: temporalReader(NODES_MAX),
  unique: readConsole('unique'),
  agree: readConsole('agree'),
  'no-trap': readRecord<Property<'no-trap'>>({ kind: readWord(['no-trap']), name: readText() }),
});

const readDocument: Read<ScenarioDef & { readonly ids: ScenarioIds }> = readRecord<
  ScenarioDef & { readonly ids: ScenarioIds }
>({
  name: readText(),
  world: readWorld,
  plan: readPlan,
  properties: readList(readProperty, PROPERTIES_MAX),
  seed: readNullable(readInteger()),
  ids: readRecord<ScenarioIds>({
    world: readHex(64),
    plan: readHex(64),
    properties: readHex(64),
    seed: readHex(64),
    scenario: readHex(64),
  }),
});
