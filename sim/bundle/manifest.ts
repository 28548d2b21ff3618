import { decodeCanonical, encodeCanonical } from '../kernel/canonical.ts';
import {
  openDocument,
  readBoolean,
  readHex,
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { NODES_MAX } from '../plan/admit.ts';
import type { ScenarioIds } from '../plan/identity.ts';
import { MEMBERS_MAX } from './members.ts';

export const MANIFEST_VERSION = 1;

/**
 * Raised when the same scenario and seed give other decisions, events or digests than before. Runs
 * of different schemas are never taken for each other (FB-62).
 */
export const ENGINE_SCHEMA = 1;

/** Who made a run. */
export interface EngineIdentity {
  readonly name: string;
  /** The package's version, `major.minor.patch`. */
  readonly version: string;
  readonly schema: number;
}

/** What ran the machines of a run: they are repeated by the same build and no other (CR-49). */
export interface MachinesIdentity {
  readonly backend: 'plugin' | 'patched';
  /** QEMU's version, `10.0.2`. */
  readonly version: string;
  /** Digest over QEMU's build id, the adapter's and QEMU's sources, and the channel's version. */
  readonly identity: string;
  /** Where machines began that were ready at their start (CR-55); absent where none were. */
  readonly ready?: readonly ReadyRecord[];
}

/** Where a machine was ready. */
export interface ReadyRecord {
  readonly node: string;
  /** SHA-256 over what the machine and its condition are: equal ones are equally ready. */
  readonly key: string;
  /** SHA-256 over all that a run can see of the state. */
  readonly digest: string;
}

export interface PropertyOutcome {
  readonly name: string;
  readonly kind: string;
  readonly verdict: 'pass' | 'fail' | 'inconclusive';
  readonly detail: string;
  readonly atNs: number | null;
}

export interface NodeOutcome {
  readonly name: string;
  readonly status: string;
  readonly code: number | null;
  readonly lives: number;
  readonly instructions: number;
}

/** How a run ended, or how far it had come. */
export interface RunOutcome {
  /** `error`: the simulator itself gave up; `reason` is then the error's code. */
  readonly verdict: 'pass' | 'fail' | 'inconclusive' | 'error';
  readonly reason: string;
  readonly signature: string;
  readonly endNs: number;
  readonly quanta: number;
  readonly decisionCount: number;
  readonly eventCount: number;
  readonly decisionChain: string;
  readonly eventChain: string;
  readonly lastDraw: number;
  readonly properties: readonly PropertyOutcome[];
  readonly nodes: readonly NodeOutcome[];
}

/** Where a savepoint stands, and the proof of it (CR-19). */
export interface SavepointProof {
  /** What was asked for, such as `virtual-time=5s`. */
  readonly selector: string;
  readonly label: string;
  /** Everything before this time has happened. */
  readonly frontierNs: number;
  readonly quanta: number;
  readonly decisionCount: number;
  readonly eventCount: number;
  readonly decisionChain: string;
  readonly eventChain: string;
  /** SHA-256 of the checkpoint's member. */
  readonly checkpoint: string;
}

export interface OverrideRecord {
  readonly stream: string;
  readonly ordinal: number;
  readonly choice: number;
}

/** Where a run left another on purpose (CR-25). Such a run is never canonical (CR-26). */
export interface Lineage {
  /** SHA-256 of the parent's file. */
  readonly parent: string;
  /** Where it was left; null for a run from the start, with another scenario. */
  readonly proof: SavepointProof | null;
  /** The seed of the draws after the branch; null where the parent's goes on. */
  readonly seed: number | null;
  readonly overrides: readonly OverrideRecord[];
  /** What was kept while the parent's scenario was made smaller; absent for a fork. */
  readonly shrunk?: ShrinkRecord;
}

/** What kind of descendant a run is, for people. */
export function branchOf({ shrunk }: Lineage): string {
  return shrunk === undefined ? 'a fork' : 'shrunk';
}

/** How a failing run became a smaller one. */
export interface ShrinkRecord {
  /** The failure that both show (see `failureSignature`). */
  readonly signature: string;
  /** How many runs it took. */
  readonly probes: number;
  /** Faults that happened in the parent, and here: events of the plan and single decisions. */
  readonly faultsBefore: number;
  readonly faultsAfter: number;
}

export interface MemberRecord {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly kind: 'run' | 'savepoint';
  readonly engine: EngineIdentity;
  /** Absent where no machine has started. */
  readonly machines?: MachinesIdentity;
  readonly name: string;
  readonly ids: ScenarioIds;
  readonly seed: number;
  /** Whether the guests' images are left out. */
  readonly thin: boolean;
  readonly outcome: RunOutcome;
  readonly savepoint: SavepointProof | null;
  readonly lineage: Lineage | null;
  /** All other members, in order. */
  readonly members: readonly MemberRecord[];
}

export function encodeManifest(manifest: Manifest): Uint8Array {
  return encodeCanonical({ schema_version: MANIFEST_VERSION, ...manifest });
}

/** Throws `bundle/cbor`, `bundle/version` or `bundle/shape`. */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const fields = openDocument(decodeCanonical(bytes), {
    document: 'manifest',
    version: MANIFEST_VERSION,
  });
  return readManifest(fields, 'manifest');
}

const count = readInteger();
const chain = readHex(16);
const digest = readHex(64);
const readVerdict = readWord(['pass', 'fail', 'inconclusive']);

const readProperty = readRecord<PropertyOutcome>({
  name: readText(),
  kind: readText(),
  verdict: readVerdict,
  detail: readText(65_536),
  atNs: readNullable(count),
});

const readNode = readRecord<NodeOutcome>({
  name: readText(),
  status: readText(),
  code: readNullable(readInteger(Number.MIN_SAFE_INTEGER)),
  lives: count,
  instructions: count,
});

const readOutcome = readRecord<RunOutcome>({
  verdict: readWord(['pass', 'fail', 'inconclusive', 'error']),
  reason: readText(),
  signature: readText(65_536),
  endNs: count,
  quanta: count,
  decisionCount: count,
  eventCount: count,
  decisionChain: chain,
  eventChain: chain,
  lastDraw: count,
  properties: readList(readProperty, 10_000),
  nodes: readList(readNode, 10_000),
});

const readProof = readRecord<SavepointProof>({
  selector: readText(),
  label: readText(),
  frontierNs: count,
  quanta: count,
  decisionCount: count,
  eventCount: count,
  decisionChain: chain,
  eventChain: chain,
  checkpoint: digest,
});

/** A run has at most this many overrides. */
export const OVERRIDES_MAX = 100_000;

const readLineage = readRecord<Lineage>(
  {
    parent: digest,
    proof: readNullable(readProof),
    seed: readNullable(count),
    overrides: readList(
      readRecord<OverrideRecord>({ stream: readText(), ordinal: count, choice: count }),
      OVERRIDES_MAX,
    ),
    shrunk: readRecord<ShrinkRecord>({
      signature: readText(65_536),
      probes: count,
      faultsBefore: count,
      faultsAfter: count,
    }),
  },
  ['shrunk'],
);

const readMachines = readRecord<MachinesIdentity>(
  {
    backend: readWord(['plugin', 'patched']),
    version: readText(),
    identity: digest,
    ready: readList(readRecord<ReadyRecord>({ node: readText(), key: digest, digest }), NODES_MAX),
  },
  ['ready'],
);

const readManifest: Read<Manifest> = readRecord<Manifest>(
  {
    kind: readWord(['run', 'savepoint']),
    engine: readRecord<EngineIdentity>({ name: readText(), version: readText(), schema: count }),
    machines: readMachines,
    name: readText(),
    ids: readRecord<ScenarioIds>({
      world: digest,
      plan: digest,
      properties: digest,
      seed: digest,
      scenario: digest,
    }),
    seed: count,
    thin: readBoolean,
    outcome: readOutcome,
    savepoint: readNullable(readProof),
    lineage: readNullable(readLineage),
    members: readList(
      readRecord<MemberRecord>({ name: readText(), bytes: count, sha256: digest }),
      MEMBERS_MAX,
    ),
  },
  ['machines'],
);
