import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SimError } from '../../sim/index.ts';
import { withDraft } from './draft.ts';
import { runProgram } from './program.ts';

/** Suites whose QEMU is of a version that the adapter is written for, the best first. */
const SUITES = ['trixie', 'bookworm-backports'] as const;
/** Packages that are made of QEMU's sources; each backend needs one of them. */
const PACKAGES = ['qemu-system-x86', 'qemu-system-data'];
/** 10.0.x: structures keep their layout within it, and the adapter's self-test guards that. */
const VERSION = /^(?:\d+:)?(10\.0\.\d+)(?:\+|$)/;
/** What Debian's archives are signed with. */
export const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const APT_REMEDY =
  'check the network and the sources of apt; QEMU is fetched with apt, of Debian 12 or later';
const APT_TIMEOUT_MS = 600_000;

/** A source package of QEMU, verified. */
export interface QemuSource {
  /** Of QEMU: `10.0.13`. */
  readonly version: string;
  /** Of the package: `1:10.0.13+ds-0+deb13u1`. */
  readonly packageVersion: string;
  readonly folder: string;
  /**
   * Names of the files in `folder`: the original sources, Debian's changes. Of a release that has
   * been succeeded an archive may have the first alone; the second is then empty.
   */
  readonly original: string;
  readonly debian: string;
  /** SHA-256 over the SHA-256 of both, as the signed index states them. */
  readonly digest: string;
}

interface IndexEntry {
  readonly packageVersion: string;
  readonly version: string;
  /** Names and SHA-256. */
  readonly files: readonly (readonly [name: string, sha256: string])[];
}

/**
 * QEMU's source package, out of `cacheFolder` or from the archive that apt is set up for: the very
 * one of the packages that are installed here, so that the plugin and the patched QEMU are of one
 * release, or else the newest. apt checks the archive's signature; the files are checked again when
 * they are used. Errors: `backend/no-source`, `backend/program-failed`.
 */
export async function fetchQemuSource(
  cacheFolder: string,
  say: (line: string) => void,
): Promise<QemuSource> {
  const wanted = await installedVersion();
  const kept = join(cacheFolder, `qemu-source-${fileName(wanted)}.json`);
  if (existsSync(kept)) {
    const known = JSON.parse(readFileSync(kept, 'utf8')) as QemuSource;
    if (isComplete(known)) return known;
  }
  return withDraft(cacheFolder, async (draft) => {
    const source = await download(wanted, draft, { cacheFolder, say });
    writeFileSync(`${kept}.${process.pid}`, `${JSON.stringify(source, null, 2)}\n`);
    renameSync(`${kept}.${process.pid}`, kept);
    return source;
  });
}

/** The version of the source package of what is installed; empty where nothing is. */
async function installedVersion(): Promise<string> {
  const args = [
    '-W',
    '-f',
    '${Package}\t${db:Status-Status}\t${source:Version}\n',
    'qemu-system-*',
  ];
  const options = { remedy: APT_REMEDY, timeoutMs: APT_TIMEOUT_MS };
  const output = await runProgram('dpkg-query', args, options).catch(() => '');
  const rows = output.split('\n').map((line) => line.split('\t'));
  const installed = new Map(
    rows.flatMap(([name = '', status, version = '']) => {
      return status === 'installed' ? [[name, version] as const] : [];
    }),
  );
  return PACKAGES.map((name) => installed.get(name)).find((each) => each !== undefined) ?? '';
}

/** A version with nothing in it that a file's name cannot have. */
function fileName(version: string): string {
  return version === '' ? 'newest' : version.replaceAll(/[^0-9A-Za-z.+~-]/g, '_');
}

interface Place {
  readonly cacheFolder: string;
  readonly say: (line: string) => void;
}

/** Looks for the version that is wanted first, then for any. */
async function download(wanted: string, draft: string, place: Place): Promise<QemuSource> {
  const { say } = place;
  const mirrors = await debianMirrors();
  // Each suite holds one release or two; backports say in their version that they are.
  const suites = wanted.includes('~bpo') ? SUITES.toReversed() : SUITES;
  for (const version of wanted === '' ? [null] : [wanted, null]) {
    for (const suite of version === null ? SUITES : suites) {
      for (const { site } of mirrors) {
        const apt = aptOptions(draft, `deb-src [signed-by=${KEYRING}] ${site} ${suite} main`);
        say(`looking for QEMU's source ${version ?? ''} in ${suite}`.replace('  ', ' '));
        const entry = await lookUp(apt, version);
        if (entry === undefined) continue;
        say(`downloading QEMU ${entry.packageVersion} (40 MB)`);
        const source = await take(entry, { apt, draft, ...place });
        if (source !== null) return source;
      }
    }
  }
  throw new SimError({
    code: 'backend/no-source',
    message: `apt knows no source package of QEMU 10.0 (looked in ${SUITES.join(', ')})`,
    remedy: APT_REMEDY,
  });
}

/** An archive of Debian that apt is set up for. */
export interface Mirror {
  readonly site: string;
  /** Of the installed system: `bookworm`. */
  readonly codename: string;
}

/** The archives of Debian that apt is set up for, without those of updates and backports. */
export async function debianMirrors(): Promise<Mirror[]> {
  const format = '$(CREATED_BY) $(ORIGIN)|$(SITE)|$(CODENAME)';
  const output = await runProgram('apt-get', ['indextargets', '--format', format], {
    remedy: APT_REMEDY,
    timeoutMs: APT_TIMEOUT_MS,
  });
  const mirrors = new Map<string, Mirror>();
  for (const line of output.split('\n')) {
    const [origin = '', site = '', codename = ''] = line.split('|');
    const isMain = origin === 'Packages Debian' && !codename.includes('-');
    if (isMain) mirrors.set(site, { site, codename });
  }
  return [...mirrors.values()];
}

/** apt with sources and lists of our own: what is installed and configured here stays as it is. */
function aptOptions(folder: string, source: string): string[] {
  const list = join(folder, 'sources.list');
  rmSync(join(folder, 'lists'), { recursive: true, force: true });
  mkdirSync(join(folder, 'lists', 'partial'), { recursive: true });
  writeFileSync(list, `${source}\n`);
  return [
    `Dir::Etc::SourceList=${list}`,
    'Dir::Etc::SourceParts=/dev/null',
    `Dir::State::Lists=${join(folder, 'lists')}/`,
    'Dir::Cache::pkgcache=',
    'Dir::Cache::srcpkgcache=',
    'APT::Sandbox::User=',
    'Acquire::Languages=none',
    'Acquire::Retries=2',
    'Debug::NoLocking=true',
  ].flatMap((each) => ['-o', each]);
}

async function lookUp(
  apt: readonly string[],
  version: string | null,
): Promise<IndexEntry | undefined> {
  const options = { remedy: APT_REMEDY, timeoutMs: APT_TIMEOUT_MS };
  try {
    await runProgram('apt-get', [...apt, '-q', 'update'], options);
    const index = await runProgram('apt-cache', [...apt, 'showsrc', 'qemu'], options);
    return parseIndex(index, version);
  } catch (error) {
    // A mirror without this suite is no failure: the next one may have it.
    if (error instanceof SimError && error.code === 'backend/program-failed') return undefined;
    throw error;
  }
}

/** The newest acceptable entry of an index of source packages, or the one of a version. */
export function parseIndex(text: string, wanted: string | null = null): IndexEntry | undefined {
  return text
    .split(/\n\n+/)
    .flatMap((stanza) => {
      const packageVersion = /^Version: (.*)$/m.exec(stanza)?.[1] ?? '';
      const version = VERSION.exec(packageVersion)?.[1];
      const sums = /^Checksums-Sha256:\n((?: .*\n?)+)/m.exec(stanza)?.[1] ?? '';
      const files = [...sums.matchAll(/^ ([0-9a-f]{64}) \d+ (\S+)$/gm)].map((match) => {
        return [match[2] ?? '', match[1] ?? ''] as const;
      });
      return version === undefined || files.length === 0
        ? []
        : [{ packageVersion, version, files }];
    })
    .filter(({ packageVersion }) => wanted === null || packageVersion === wanted)
    .sort((a, b) => patchLevel(a.version) - patchLevel(b.version))
    .at(-1);
}

function patchLevel(version: string): number {
  return Number(version.split('.')[2] ?? 0);
}

interface TakePlace extends Place {
  readonly apt: readonly string[];
  readonly draft: string;
}

/** Downloads an entry of an index; null where the archive has not even the original sources. */
async function take(entry: IndexEntry, where: TakePlace): Promise<QemuSource | null> {
  const { packageVersion, version, files } = entry;
  const find = (pattern: RegExp): readonly [string, string] => {
    return files.find(([name]) => pattern.test(name)) ?? ['', ''];
  };
  const both = [find(/\.orig\.tar\.xz$/), find(/\.debian\.tar\.xz$/)] as const;
  await fetchFiles(`qemu=${packageVersion}`, where);
  const chosen = both.filter(([name]) => existsSync(join(where.draft, name)));
  if (!chosen.includes(both[0])) return null;
  for (const [name, sha256] of chosen) check(join(where.draft, name), sha256);
  const digest = createHash('sha256').update(chosen.map(([, sum]) => sum).join());
  const folder = join(where.cacheFolder, `qemu-${version}-source`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name] of chosen) renameSync(join(where.draft, name), join(folder, name));
  const [[original], [debian = ''] = []] = chosen as readonly (readonly string[])[] as [
    readonly [string],
    (readonly string[])?,
  ];
  return { version, packageVersion, folder, original, debian, digest: digest.digest('hex') };
}

/** What there is of a source package. apt takes all or nothing, or the original sources alone. */
async function fetchFiles(name: string, { apt, draft, say }: TakePlace): Promise<void> {
  const fetch = async (what: '--download-only' | '--tar-only'): Promise<void> => {
    await runProgram('apt-get', [...apt, '-q', 'source', '--download-only', what, name], {
      folder: draft,
      remedy: APT_REMEDY,
      timeoutMs: APT_TIMEOUT_MS,
    });
  };
  const { failed } = await attempt(() => fetch('--download-only'));
  if (!failed) return;
  say(
    "the archive has not all of it any more: taking the original sources, without Debian's changes",
  );
  await attempt(() => fetch('--tar-only'));
}

/** Whether apt failed; any other error goes on. */
async function attempt(work: () => Promise<void>): Promise<{ readonly failed: boolean }> {
  try {
    await work();
    return { failed: false };
  } catch (error) {
    if (error instanceof SimError && error.code === 'backend/program-failed') {
      return { failed: true };
    }
    throw error;
  }
}

function check(path: string, sha256: string): void {
  const found = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (found === sha256) return;
  throw new SimError({
    code: 'backend/checksum',
    message: `a file of QEMU's source package has SHA-256 ${found}, expected ${sha256}`,
    remedy: 'the archive or the way to it is damaged; try again, with another mirror if it stays',
  });
}

function isComplete(source: QemuSource): boolean {
  const names = [source.original, source.debian].filter((name) => name !== '');
  const sums = names.map((name) => {
    const path = join(source.folder, name);
    if (!existsSync(path)) return '';
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  });
  return createHash('sha256').update(sums.join()).digest('hex') === source.digest;
}
