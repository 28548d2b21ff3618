import {
  checkIds,
  checkMembers,
  compareMembers,
  decodeCheckpoint,
  decodeFingerprints,
  decodeManifest,
  decodePages,
  decodeScenario,
  encodeCheckpoint,
  encodeFingerprints,
  encodeManifest,
  encodeScenario,
  guestsOf,
  imagesOfGuest,
  LOG_DECISIONS,
  LOG_EVENTS,
  PagePool,
  readWholeLog,
  scenarioIds,
  SimError,
  specMember,
  type FatCheckpoint,
  type FingerprintRecord,
  type Manifest,
  type ScenarioDef,
  type SavepointProof,
} from '../sim/index.ts';
import type { MachineChoice } from './machines/machine-backend.ts';
import type { SourceFile } from '../scenarios/index.ts';
import { packZip, sha256Hex, unpackZip } from './zip.ts';

/** The member that holds the one checkpoint of a bundle. */
export const CHECKPOINT_MEMBER = 'checkpoints/000.cbor';
const PAGES_MEMBER = 'checkpoints/pages.cbor';

/** What a bundle is made of. */
export interface BundleParts {
  /** The scenario as it was run: its seed is the run's. */
  readonly scenario: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly sources: readonly SourceFile[];
  readonly schedule: Uint8Array;
  readonly events: Uint8Array;
  readonly fingerprints: readonly FingerprintRecord[];
  readonly checkpoint: FatCheckpoint | null;
  /** The JSON texts of `plan.json`, or null for a run without a plan (FB-57), and of `env.json`. */
  readonly plan: string | null;
  /** The JSON text of `trace.json`, or null to leave it out. */
  readonly trace: string | null;
  readonly environment: string;
  readonly manifest: Omit<Manifest, 'members' | 'ids' | 'name' | 'savepoint'> & {
    /** The proof but for the checkpoint's digest, which packing fills in. */
    readonly savepoint: Omit<SavepointProof, 'checkpoint'> | null;
  };
}

const REPLAY_SCRIPT = `#!/bin/sh
# Repeats this run and compares it with its record: sh replay.sh BUNDLE
exec npx --no-install sim replay "\${1:?usage: sh replay.sh BUNDLE}" --check log
`;

/** Packs a bundle. Equal runs on equal hosts give equal bytes. */
export function packBundle(parts: BundleParts): Uint8Array {
  const { scenario, manifest } = parts;
  const members = new Map<string, Uint8Array>();
  members.set('scenario.cbor', encodeScenario(scenario));
  if (parts.plan !== null) members.set('plan.json', Buffer.from(parts.plan));
  if (parts.trace !== null) members.set('trace.json', Buffer.from(parts.trace));
  members.set('schedule.bin', parts.schedule);
  members.set('events.bin', parts.events);
  members.set('fingerprints.bin', encodeFingerprints(parts.fingerprints));
  if (parts.checkpoint !== null) {
    const pool = new PagePool();
    members.set(CHECKPOINT_MEMBER, encodeCheckpoint(parts.checkpoint, pool));
    members.set(PAGES_MEMBER, pool.encode());
  }
  if (!manifest.thin) {
    const kernels = machineImages(scenario);
    for (const [digest, bytes] of parts.images) {
      members.set(`guests/${digest}.${kernels.has(digest) ? 'part' : 'wasm'}`, bytes);
    }
  }
  for (const { name, bytes } of parts.sources) members.set(specMember(name), bytes);
  members.set('env.json', Buffer.from(parts.environment));
  members.set('replay.sh', Buffer.from(REPLAY_SCRIPT));
  const names = [...members.keys()].sort(compareMembers);
  const records = names.map((name) => {
    const bytes = members.get(name) as Uint8Array;
    return { name, bytes: bytes.length, sha256: sha256Hex(bytes) };
  });
  const checkpoint = records.find(({ name }) => name === CHECKPOINT_MEMBER)?.sha256 ?? '';
  const full: Manifest = {
    ...manifest,
    savepoint: manifest.savepoint === null ? null : { ...manifest.savepoint, checkpoint },
    name: scenario.name,
    ids: scenarioIds(scenario),
    members: records,
  };
  members.set('manifest.cbor', encodeManifest(full));
  checkMembers(['manifest.cbor', ...names]);
  return packZip(
    ['manifest.cbor', ...names].map((name) => ({ name, bytes: members.get(name) as Uint8Array })),
  );
}

/** A bundle that was read and found sound. */
export interface Bundle {
  /** What its machines ran on, found again here; only where the bundle is to be run on. */
  readonly machines?: MachineChoice | undefined;
  /** SHA-256 of the file. */
  readonly digest: string;
  readonly manifest: Manifest;
  readonly scenario: ScenarioDef;
  readonly schedule: Uint8Array;
  readonly events: Uint8Array;
  readonly fingerprints: readonly FingerprintRecord[];
  /** Empty for a thin bundle. */
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly sources: readonly SourceFile[];
  readonly plan: string | null;
  readonly trace: string | null;
  /** The whole world where the run was saved, or null if the bundle holds none. */
  checkpoint(): FatCheckpoint | null;
}

/**
 * Reads a bundle and checks all that it says of itself: digests, ids, chains, counts. Throws
 * `bundle/…` or `scenario/…`; after it, nothing in the bundle contradicts anything else in it.
 */
export function openBundle(file: Uint8Array): Bundle {
  const unpacked = unpackZip(file);
  checkMembers(unpacked.map(({ name }) => name));
  const members = new Map(unpacked.map(({ name, bytes }) => [name, bytes]));
  const manifest = decodeManifest(member(members, 'manifest.cbor'));
  checkDigests(members, manifest);
  const scenario = decodeScenario(member(members, 'scenario.cbor'));
  checkIds(manifest.ids, scenarioIds(scenario));
  if (scenario.seed !== manifest.seed) refuse('the manifest and the scenario name other seeds');
  const schedule = member(members, 'schedule.bin');
  const events = member(members, 'events.bin');
  checkChains(manifest, schedule, events);
  const images = readImages(members, manifest, scenario);
  const [plan, trace] = ['plan.json', 'trace.json'].map((name) => members.get(name));
  checkProof(manifest, members);
  return {
    digest: sha256Hex(file),
    manifest,
    scenario,
    schedule,
    events,
    fingerprints: decodeFingerprints(member(members, 'fingerprints.bin')),
    images,
    sources: readSources(members),
    plan: plan === undefined ? null : Buffer.from(plan).toString('utf8'),
    trace: trace === undefined ? null : Buffer.from(trace).toString('utf8'),
    checkpoint: () => {
      const bytes = members.get(CHECKPOINT_MEMBER);
      if (bytes === undefined) return null;
      const pages = decodePages(member(members, PAGES_MEMBER));
      return decodeCheckpoint(bytes, pages, { schedule, events });
    },
  };
}

function member(members: ReadonlyMap<string, Uint8Array>, name: string): Uint8Array {
  const bytes = members.get(name);
  if (bytes === undefined) refuse(`the member ${name} is missing`);
  return bytes;
}

function checkDigests(members: ReadonlyMap<string, Uint8Array>, manifest: Manifest): void {
  const listed = ['manifest.cbor', ...manifest.members.map(({ name }) => name)];
  if (listed.join('\n') !== [...members.keys()].join('\n')) {
    refuse('its manifest lists other members than it has');
  }
  for (const { name, bytes, sha256 } of manifest.members) {
    const found = member(members, name);
    if (found.length !== bytes) refuse(`${name} has ${found.length} bytes, expected ${bytes}`);
    const digest = sha256Hex(found);
    if (digest !== sha256) refuse(`${name} has SHA-256 ${digest}, expected ${sha256}`);
  }
}

function checkChains(manifest: Manifest, schedule: Uint8Array, events: Uint8Array): void {
  const { outcome } = manifest;
  const decisions = readWholeLog(schedule, LOG_DECISIONS);
  const effects = readWholeLog(events, LOG_EVENTS);
  if (decisions.chain !== outcome.decisionChain || effects.chain !== outcome.eventChain) {
    refuse('its logs are not those that its manifest names');
  }
  // Names of streams and kinds are records too, so the logs hold at least the counted ones.
  if (decisions.recordCount < outcome.decisionCount || effects.recordCount < outcome.eventCount) {
    refuse('its manifest counts more than its logs hold');
  }
}

function readImages(
  members: ReadonlyMap<string, Uint8Array>,
  manifest: Manifest,
  scenario: ScenarioDef,
): ReadonlyMap<string, Uint8Array> {
  const images = new Map<string, Uint8Array>();
  for (const [name, bytes] of members) {
    const digest = /^guests\/([0-9a-f]{64})\.(?:part|wasm)$/.exec(name)?.[1];
    if (digest === undefined) continue;
    const found = sha256Hex(bytes);
    if (found !== digest) refuse(`the image ${digest} has SHA-256 ${found}`);
    images.set(digest, bytes);
  }
  if (manifest.thin) return images;
  for (const image of guestsOf(scenario).flatMap(imagesOfGuest)) {
    if (!images.has(image)) refuse(`the image ${image} is missing`);
  }
  return images;
}

/** The digests of what machines boot. */
function machineImages(scenario: ScenarioDef): ReadonlySet<string> {
  const machines = guestsOf(scenario).filter(({ kind }) => kind === 'vm');
  return new Set(machines.flatMap(imagesOfGuest));
}

function readSources(members: ReadonlyMap<string, Uint8Array>): SourceFile[] {
  const specs = [...members].filter(([name]) => name.startsWith('spec/'));
  return specs.map(([name, bytes]) => ({ name: name.slice('spec/'.length), bytes }));
}

/** A savepoint's proof names its checkpoint and agrees with the logs (CR-19). */
function checkProof(manifest: Manifest, members: ReadonlyMap<string, Uint8Array>): void {
  const { savepoint, outcome } = manifest;
  if ((manifest.kind === 'savepoint') !== (savepoint !== null)) {
    refuse('its kind and its savepoint proof contradict each other');
  }
  if (savepoint === null) return;
  const bytes = member(members, CHECKPOINT_MEMBER);
  if (sha256Hex(bytes) !== savepoint.checkpoint) refuse('its proof names another checkpoint');
  const agrees =
    savepoint.quanta === outcome.quanta &&
    savepoint.decisionCount === outcome.decisionCount &&
    savepoint.eventCount === outcome.eventCount &&
    savepoint.decisionChain === outcome.decisionChain &&
    savepoint.eventChain === outcome.eventChain;
  if (!agrees) refuse('its proof names another boundary than its logs have');
}

function refuse(why: string): never {
  throw new SimError({ code: 'bundle/content', message: `the bundle is refused: ${why}` });
}
