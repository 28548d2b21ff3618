import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { SimError } from '../../sim/index.ts';
import { WIRE_VERSION } from '../channel/wire.ts';
import type { MachineBackend } from '../machine-options.ts';
import { adapterDigest, type AdapterKind } from './adapter.ts';
import { fetchQemuSource } from './debian-source.ts';
import { buildPatched } from './patched.ts';
import { buildPlugin } from './plugin.ts';
import { PACKAGED_QEMU, buildIdOf, inspectQemu } from './qemu-binary.ts';
import type { QemuBinary } from './qemu-binary.ts';
import { selfTest } from './self-test.ts';

/** The adapter relies on structures as QEMU 10.0 lays them out. */
const SUPPORTED_VERSION = /^10\.0\.\d+$/;
const RECORD_SCHEMA = 2;
const KEY_DIGITS = 16;
/** Firmware comes from Debian's packages, which hold no code of the host's. */
const PACKAGED_FIRMWARE = ['/usr/share/qemu', '/usr/share/seabios'];

export interface SetupOptions {
  /** Where sources and builds are kept. */
  readonly cacheFolder: string;
  /** The binary that loads the plugin; Debian's own place if absent. */
  readonly qemu?: string;
  /** Told what takes long. */
  readonly say: (line: string) => void;
}

/** What a set-up left behind: found again by `findBackend`, checked before each use. */
interface BackendRecord {
  readonly schema_version: number;
  readonly backend: MachineBackend;
  readonly buildId: string;
  /** SHA-256 of the plugin; empty for a QEMU with the adapter inside, which `buildId` covers. */
  readonly plugin: string;
}

/** One for each version of the adapter: several of the simulator get along in one cache. */
function recordPath(cacheFolder: string, kind: AdapterKind, adapter: string): string {
  return join(cacheFolder, `backend-${kind}-${adapter.slice(0, KEY_DIGITS)}.json`);
}

/**
 * Builds what is missing of the plugin backend and proves that it works. Errors: those of
 * `fetchQemuSource`, `buildPlugin`, `inspectQemu`; `backend/version`, `backend/self-test`.
 */
export async function setUpPlugin(options: SetupOptions): Promise<MachineBackend> {
  const qemu = await inspectQemu(options.qemu ?? PACKAGED_QEMU);
  if (!SUPPORTED_VERSION.test(qemu.version)) throw unsupported(qemu.version);
  const source = await fetchQemuSource(options.cacheFolder, options.say);
  const plugin = await buildPlugin(source, options.cacheFolder, options.say);
  const identity = identityOf('plugin', qemu, [plugin.sourcesDigest, source.digest]);
  const { path: binary, version, buildId } = qemu;
  const parts = { kind: 'plugin', version, binary, plugin: plugin.path, identity } as const;
  const backend = { ...parts, firmwareFolders: [] };
  return prove(backend, { buildId, adapter: plugin.sourcesDigest }, options);
}

/**
 * Builds QEMU with the adapter inside and proves that it works. Errors: those of
 * `fetchQemuSource`, `buildPatched`, `inspectQemu`; `backend/self-test`.
 */
export async function setUpPatched(options: SetupOptions): Promise<MachineBackend> {
  const source = await fetchQemuSource(options.cacheFolder, options.say);
  const built = await buildPatched(source, options.cacheFolder, options.say);
  const qemu = await inspectQemu(built.path);
  const identity = identityOf('patched', qemu, [built.seriesDigest, source.digest]);
  const { path: binary, version, buildId } = qemu;
  const parts = { kind: 'patched', version, binary, identity } as const;
  const backend = { ...parts, firmwareFolders: PACKAGED_FIRMWARE };
  return prove(backend, { buildId, adapter: built.seriesDigest }, options);
}

async function prove(
  backend: MachineBackend,
  made: { readonly buildId: string; readonly adapter: string },
  { cacheFolder, say }: SetupOptions,
): Promise<MachineBackend> {
  say('proving that the adapter and QEMU belong together');
  await selfTest(backend, cacheFolder);
  const plugin = digestOf(backend.plugin);
  const path = recordPath(cacheFolder, backend.kind, made.adapter);
  const { buildId } = made;
  writeRecord(path, { schema_version: RECORD_SCHEMA, backend, buildId, plugin });
  return backend;
}

/**
 * The backend that `sim vm setup` made for this version of the adapter: the one of `kind`, else
 * plugin before patched, since everybody with the same Debian package can repeat what it ran. Errors: `backend/missing` if there is none, `backend/identity` if QEMU or
 * the adapter changed since (CR-49).
 */
export function findBackend(cacheFolder: string, kind?: AdapterKind): MachineBackend {
  const kinds = kind === undefined ? (['plugin', 'patched'] as const) : [kind];
  const path = kinds
    .map((each) => recordPath(cacheFolder, each, adapterDigest(each)))
    .find((each) => existsSync(each));
  if (path === undefined) throw notSetUp(kind);
  const record = readRecordFile(path);
  if (record === null) throw changed('the record of the set-up is damaged', path);
  const { backend } = record;
  const buildId = buildIdOf(backend.binary);
  if (buildId !== record.buildId) {
    throw changed(`QEMU is another build (${buildId}, expected ${record.buildId})`, backend.binary);
  }
  if (digestOf(backend.plugin) !== record.plugin) {
    throw changed('the adapter is not the one that was proven', backend.plugin ?? path);
  }
  return backend;
}

function readRecordFile(path: string): BackendRecord | null {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as BackendRecord;
    return record.schema_version === RECORD_SCHEMA ? record : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** SHA-256 of a file; empty for none. */
function digestOf(path: string | undefined): string {
  if (path === undefined || !existsSync(path)) return '';
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function notSetUp(kind: AdapterKind | undefined): SimError {
  const which = kind === undefined ? '' : ` for the backend ${kind}`;
  return new SimError({
    code: 'backend/missing',
    message: `machines are not set up on this computer${which}`,
    remedy: `run \`sim vm setup${kind === undefined ? '' : ` --backend ${kind}`}\``,
  });
}

function changed(what: string, place: string): SimError {
  return new SimError({
    code: 'backend/identity',
    message: `what runs machines changed since they were set up: ${what}`,
    place,
    remedy: 'run `sim vm setup` again',
  });
}

/** What decides a machine's behaviour: QEMU's build, the adapter's sources, the channel. */
function identityOf(kind: AdapterKind, qemu: QemuBinary, digests: readonly string[]): string {
  const parts = [kind, qemu.version, qemu.buildId, `wire ${WIRE_VERSION}`, ...digests];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function writeRecord(path: string, record: BackendRecord): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(record, null, 2)}\n`);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

function unsupported(version: string): SimError {
  return new SimError({
    code: 'backend/version',
    message: `QEMU is of version ${version}, the plugin is for 10.0`,
    remedy:
      'install qemu-system-x86 10.0 (Debian 12: `apt-get install -t bookworm-backports qemu-system-x86`)',
  });
}
