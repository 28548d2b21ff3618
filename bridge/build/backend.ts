import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SimError } from '../../sim/index.ts';
import { WIRE_VERSION } from '../channel/wire.ts';
import type { MachineBackend } from '../machine-options.ts';
import type { BackendKind } from './backend-kind.ts';
import { fetchQemuSource } from './debian-source.ts';
import { buildPatched } from './patched.ts';
import { buildPlugin } from './plugin.ts';
import { PACKAGED_QEMU, inspectQemu } from './qemu-binary.ts';
import type { QemuBinary } from './qemu-binary.ts';
import { selfTest } from './self-test.ts';

/** The adapter relies on structures as QEMU 10.0 lays them out. */
const SUPPORTED_VERSION = /^10\.0\.\d+$/;
const RECORD_SCHEMA = 1;
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
  readonly version: string;
}

function recordPath(cacheFolder: string, kind: string): string {
  return join(cacheFolder, `backend-${kind}.json`);
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
  const parts = { kind: 'plugin', binary: qemu.path, plugin: plugin.path, identity } as const;
  return prove({ ...parts, firmwareFolders: [] }, qemu, options);
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
  const parts = { kind: 'patched', binary: qemu.path, identity } as const;
  return prove({ ...parts, firmwareFolders: PACKAGED_FIRMWARE }, qemu, options);
}

async function prove(
  backend: MachineBackend,
  qemu: QemuBinary,
  { cacheFolder, say }: SetupOptions,
): Promise<MachineBackend> {
  say('proving that the adapter and QEMU belong together');
  await selfTest(backend, cacheFolder);
  const { buildId, version } = qemu;
  writeRecord(cacheFolder, { schema_version: RECORD_SCHEMA, backend, buildId, version });
  return backend;
}

/**
 * The backend that `sim vm setup` made: the one of `kind`, else patched before plugin. Errors:
 * `backend/missing` if there is none, `backend/identity` if QEMU or the adapter changed since.
 */
export async function findBackend(
  cacheFolder: string,
  kind?: MachineBackend['kind'],
): Promise<MachineBackend> {
  const kinds = kind === undefined ? (['patched', 'plugin'] as const) : [kind];
  const path = kinds.map((each) => recordPath(cacheFolder, each)).find((each) => existsSync(each));
  if (path === undefined) {
    throw new SimError({
      code: 'backend/missing',
      message: `machines are not set up on this computer${kind === undefined ? '' : ` for the backend ${kind}`}`,
      remedy: `run \`sim vm setup${kind === undefined ? '' : ` --backend ${kind}`}\``,
    });
  }
  const record = JSON.parse(readFileSync(path, 'utf8')) as BackendRecord;
  const { backend } = record;
  const qemu = await inspectQemu(backend.binary);
  const complete = backend.plugin === undefined || existsSync(backend.plugin);
  if (record.schema_version === RECORD_SCHEMA && qemu.buildId === record.buildId && complete) {
    return backend;
  }
  throw new SimError({
    code: 'backend/identity',
    message: `QEMU or the adapter changed since machines were set up (build ${qemu.buildId}, expected ${record.buildId})`,
    remedy: 'run `sim vm setup` again',
  });
}

/** What decides a machine's behaviour: QEMU's build, the adapter's sources, the channel. */
function identityOf(kind: BackendKind, qemu: QemuBinary, digests: readonly string[]): string {
  const parts = [kind, qemu.version, qemu.buildId, `wire ${WIRE_VERSION}`, ...digests];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function writeRecord(cacheFolder: string, record: BackendRecord): void {
  const path = recordPath(cacheFolder, record.backend.kind);
  mkdirSync(cacheFolder, { recursive: true });
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
