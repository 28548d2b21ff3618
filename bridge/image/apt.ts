import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { SimError } from '../../sim/index.ts';
import { runCommand, type CommandResult } from './command.ts';
import { closure, parseStanzas, type Package } from './packages.ts';
import { compare, imageError } from './spec.ts';

const REMEDY = 'images are made with apt, of Debian or a system derived from it: install it';
/** Packages of one image, and bytes of all of them together. */
const PACKAGE_COUNT_MAX = 1000;
const DOWNLOAD_BYTE_COUNT_MAX = 1024 * 1024 * 1024;

/** What `resolve` found. */
export interface Resolution {
  /** Sorted by name. */
  readonly packages: readonly Package[];
  readonly kernel: Package;
}

export interface Wanted {
  readonly packages: readonly string[];
  readonly without: readonly string[];
  readonly kernel: string;
}

/**
 * Debian packages through the computer's own apt and its sources, in a folder of ours. Nothing is
 * installed, root is not needed, and what is installed on the computer plays no part: apt sees a
 * system without any package. apt checks signatures; we check each file's SHA-256 again.
 */
export class Apt {
  private readonly folder: string;
  private readonly say: (line: string) => void;

  /** `say` is told what takes long. */
  constructor(folder: string, say: (line: string) => void) {
    this.folder = folder;
    this.say = say;
  }

  /**
   * The packages with all that they need. The answer is kept until `update`, so that it costs
   * nothing, and needs no network, the next time. Throws `input/package-missing`,
   * `backend/apt-failed`.
   */
  async resolve(wanted: Wanted): Promise<Resolution> {
    if (!this.hasLists()) await this.update();
    const known = this.readKnown(wanted);
    if (known !== null) return known;
    this.say('working out what the packages need');
    const resolution = await this.ask(wanted);
    const path = this.knownPath(wanted);
    mkdirSync(join(this.folder, 'resolved'), { recursive: true });
    writeFileSync(`${path}.${process.pid}`, JSON.stringify(resolution));
    renameSync(`${path}.${process.pid}`, path);
    return resolution;
  }

  /** Downloads the lists of packages anew. Throws `backend/apt-failed`. */
  async update(): Promise<void> {
    this.say('downloading the lists of packages');
    mkdirSync(this.folder, { recursive: true });
    const fresh = mkdtempSync(join(this.folder, 'lists-'));
    try {
      mkdirSync(join(fresh, 'partial'));
      const result = await this.apt('apt-get', ['update', '-q'], [`Dir::State::lists=${fresh}/`]);
      const names = readdirSync(fresh).filter((name) => name.includes('_Packages'));
      if (result.status !== 0 || names.length === 0) throw failed('update', result);
      rmSync(join(this.folder, 'lists'), { recursive: true, force: true });
      renameSync(fresh, join(this.folder, 'lists'));
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }

  /** The files of `packages`, in their order; downloads those that are not there. */
  async fetch(packages: readonly Package[]): Promise<readonly string[]> {
    const folder = join(this.folder, 'packages');
    const pathOf = ({ sha256 }: Package): string => join(folder, `${sha256}.deb`);
    const absent = packages.filter((each) => !existsSync(pathOf(each)));
    if (absent.length > 0) {
      const byteCount = absent.reduce((sum, each) => sum + each.byteCount, 0);
      if (byteCount > DOWNLOAD_BYTE_COUNT_MAX) {
        const limit = `${DOWNLOAD_BYTE_COUNT_MAX} bytes`;
        throw tooBig(`the packages have ${byteCount} bytes, the limit is ${limit}`);
      }
      this.say(`downloading ${absent.length} packages, ${Math.ceil(byteCount / 1e6)} MB`);
      mkdirSync(folder, { recursive: true });
      await this.download(absent, pathOf);
    }
    return packages.map(pathOf);
  }

  private async download(
    packages: readonly Package[],
    pathOf: (each: Package) => string,
  ): Promise<void> {
    const draft = mkdtempSync(join(this.folder, 'download-'));
    try {
      const names = packages.map(({ name, version }) => `${name}=${version}`);
      const result = await this.apt('apt-get', ['download', '-q', ...names], [], draft);
      const found = new Map(
        readdirSync(draft).map((name) => [sha256Of(readFileSync(join(draft, name))), name]),
      );
      for (const each of packages) {
        const file = found.get(each.sha256);
        if (file === undefined) throw failed(`download of ${each.name}`, result);
        renameSync(join(draft, file), pathOf(each));
      }
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }

  private async ask(wanted: Wanted): Promise<Resolution> {
    const names = [...wanted.packages, wanted.kernel];
    const plan = ['install', '-q', '-y', '-s', '--no-install-recommends', '-V', ...names];
    const result = await this.apt('apt-get', plan, []);
    if (result.status !== 0) throw refusal(result, names);
    const chosen = [...Buffer.from(result.output).toString('utf8').matchAll(INSTALL_LINE)].map(
      (match) => `${match[1] ?? ''}=${match[2] ?? ''}`,
    );
    if (chosen.length > PACKAGE_COUNT_MAX) {
      throw tooBig(`the image needs ${chosen.length} packages, the limit is ${PACKAGE_COUNT_MAX}`);
    }
    const shown = await this.apt('apt-cache', ['show', ...chosen], []);
    if (shown.status !== 0) throw failed('show', shown);
    const all = parseStanzas(Buffer.from(shown.output).toString('utf8'));
    const plain = (text: string): string => text.replace(/[=/].*$/, '');
    const kernel = all.find(({ name }) => /^linux-image-\d/.test(name));
    if (kernel === undefined) {
      throw imageError(
        'package-missing',
        `"${wanted.kernel}" brings no package linux-image-…`,
        'kernel',
        'name a kernel such as linux-image-cloud-amd64',
      );
    }
    const roots = wanted.packages.map(plain);
    const packages = closure(roots, all, new Set(wanted.without));
    const sorted = packages.filter((each) => each !== kernel);
    return { kernel, packages: sorted.sort((a, b) => compare(a.name, b.name)) };
  }

  private apt(
    program: 'apt-get' | 'apt-cache',
    args: readonly string[],
    settings: readonly string[],
    folder?: string,
  ): Promise<CommandResult> {
    mkdirSync(this.folder, { recursive: true });
    const status = join(this.folder, 'status');
    // A system without any package: dependencies come out the same on every computer.
    if (!existsSync(status)) writeFileSync(status, '');
    const all = [
      `Dir::State=${this.folder}/`,
      `Dir::State::lists=${join(this.folder, 'lists')}/`,
      `Dir::State::status=${status}`,
      `Dir::Cache=${this.folder}/`,
      'Dir::Cache::pkgcache=',
      'Dir::Cache::srcpkgcache=',
      'Dir::Etc::preferences=/dev/null',
      'Dir::Etc::preferencesparts=/dev/null',
      'Debug::NoLocking=true',
      'APT::Sandbox::User=',
      'APT::Architecture=amd64',
      'APT::Architectures=amd64',
      'Acquire::Languages=none',
      'Acquire::Retries=2',
      ...settings,
    ];
    return runCommand(program, [...all.flatMap((each) => ['-o', each]), ...args], {
      remedy: REMEDY,
      ...(folder === undefined ? {} : { folder }),
    });
  }

  private hasLists(): boolean {
    const lists = join(this.folder, 'lists');
    return existsSync(lists) && readdirSync(lists).some((name) => name.includes('_Packages'));
  }

  /** A resolution holds for these lists only: the name covers what their signed heads say. */
  private knownPath(wanted: Wanted): string {
    const hash = createHash('sha256');
    hash.update(JSON.stringify([wanted.packages, wanted.without, wanted.kernel]));
    const lists = join(this.folder, 'lists');
    for (const name of readdirSync(lists).sort(compare)) {
      if (!name.endsWith('Release')) continue;
      hash.update(name).update(readFileSync(join(lists, name)));
    }
    return join(this.folder, 'resolved', `${hash.digest('hex')}.json`);
  }

  private readKnown(wanted: Wanted): Resolution | null {
    const path = this.knownPath(wanted);
    // Written by us, whole or not at all.
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Resolution) : null;
  }
}

/** `Inst name (version suite [arch])` of a simulated installation. */
const INSTALL_LINE = /^Inst (\S+) \((\S+) /gm;

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Why apt refused an installation: usually a name that it does not know. */
function refusal(result: CommandResult, names: readonly string[]): SimError {
  const unknown =
    /Unable to locate package (\S+)|Package '?(\S+?)'? has no installation candidate|Version '\S+' for '(\S+?)' was not found|Release '\S+' for '(\S+?)' was not found/.exec(
      result.errors,
    );
  const name = unknown?.slice(1).find((each) => each !== undefined);
  if (name === undefined) return failed(`install of ${names.join(', ')}`, result);
  return imageError(
    'package-missing',
    `Debian has no package "${name}", or not in this version`,
    `packages: ${name}`,
    'check the name, add its suite to the sources of apt, or download the lists anew with --update',
  );
}

function failed(what: string, result: CommandResult): SimError {
  const lines = result.errors.split('\n').filter((line) => /^[EW]: /.test(line));
  const why = lines.slice(0, 3).join('; ') || `it ended with status ${result.status}`;
  return new SimError({
    code: 'backend/apt-failed',
    message: `apt's ${what} failed: ${why}`,
    place: 'apt-get',
    remedy: 'check the network and the sources of apt; then try again with --update',
  });
}

function tooBig(message: string): SimError {
  return imageError('image-too-big', message, 'packages', 'leave packages out with `without`');
}
