import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SimError } from '../../sim/index.ts';
import { WIRE_VERSION } from '../channel/wire.ts';
import type { MachineBackend } from '../machine-options.ts';
import type { BackendKind } from './backend-kind.ts';
import { fetchQemuSource } from './debian-source.ts';
import { buildPlugin } from './plugin.ts';
import { PACKAGED_QEMU, inspectQemu } from './qemu-binary.ts';
import type { QemuBinary } from './qemu-binary.ts';
import { selfTest } from './self-test.ts';

/** The adapter relies on structures as QEMU 10.0 lays them out. */
const SUPPORTED_VERSION = /^10\.0\.\d+$/;
const RECORD_SCHEMA = 1;

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
  const backend: MachineBackend = {
    kind: 'plugin',
    binary: qemu.path,
    plugin: plugin.path,
    firmwareFolders: [],
    identity: identityOf('plugin', qemu, [plugin.sourcesDigest, source.digest]),
  };
  options.say('proving that the adapter and QEMU belong together');
  await selfTest(backend, options.cacheFolder);
  writeRecord(options.cacheFolder, {
    schema_version: RECORD_SCHEMA,
    backend,
    buildId: qemu.buildId,
    version: qemu.version,
  });
  return backend;
}

/**
 * The backend that `sim vm setup` made. Errors: `backend/missing` if there is none,
 * `backend/identity` if QEMU or the adapter changed since.
 */
export async function findBackend(cacheFolder: string): Promise<MachineBackend> {
  const path = recordPath(cacheFolder, 'plugin');
  if (!existsSync(path)) {
    throw new SimError({
      code: 'backend/missing',
      message: 'machines are not set up on this computer',
      remedy: 'run `sim vm setup`',
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
