import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { SimError } from '../../sim/index.ts';
import { Apt, type Resolution } from './apt.ts';
import { runCommand } from './command.ts';
import { addBase, addKernel, addOurs, isLeftOut } from './contents.ts';
import { writeCpio } from './cpio.ts';
import { diskMaker, makeDisk } from './disk.ts';
import { canonicalSpec, imageError, MEBIBYTE, type ImageSpec } from './spec.ts';
import { readTar, type TarMember } from './tar.ts';
import { guestHeader, guestProgram } from './tools.ts';
import { FileTree } from './tree.ts';
import { trimImages } from './trim.ts';

/** What an image is, beside its files. `manifest.json` holds it. */
export interface ImageManifest {
  readonly format: 1;
  /** SHA-256 of all that the image was made of. */
  readonly id: string;
  readonly memoryByteCount: number;
  /** The kernel's command line, without what a world adds (names, addresses). */
  readonly commandLine: string;
  readonly kernel: ImagePackage & { readonly imageSha256: string };
  readonly initrd: { readonly sha256: string; readonly byteCount: number };
  readonly disk: { readonly byteCount: number } | null;
  readonly modules: readonly string[];
  readonly packages: readonly ImagePackage[];
}

export interface ImagePackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

/** An image in its folder. */
export interface MachineImage {
  readonly manifest: ImageManifest;
  readonly kernelPath: string;
  readonly initrdPath: string;
  /** An ext4 file system; never written to, machines write to overlays. */
  readonly diskPath: string | null;
  /** Whether it had been made before. */
  readonly cached: boolean;
}

export interface BuildOptions {
  /** Where packages and images are kept. */
  readonly cacheFolder: string;
  /** Is told what takes long. */
  readonly say: (line: string) => void;
  /** Whether the lists of packages are downloaded anew first. */
  readonly update: boolean;
}

/** Changes when the same specification and packages give other bytes. */
const BUILDER = 1;
/** One package unpacked: 1 GiB. */
const PACKAGE_BYTE_COUNT_MAX = 1024 * MEBIBYTE;
/** What the kernel needs beside the image, at the least; Debian's has 45 MiB of its own. */
const MEMORY_RESERVE = 80 * MEBIBYTE;
// The first file system without a limit of its own; on a tmpfs it would be half of the memory, less
// than an image may have.
const COMMAND_LINE = 'console=ttyS0 quiet panic=-1 reboot=t rootfstype=ramfs';

/**
 * Makes the image of a specification, or finds it. Equal specifications over equal packages give
 * equal bytes, whoever builds them, where and when. Errors: `input/package-missing`,
 * `input/image-too-big`, `input/module-missing`, `backend/apt-failed`, `backend/program-missing`,
 * `backend/compile-failed`.
 */
export async function buildImage(spec: ImageSpec, options: BuildOptions): Promise<MachineImage> {
  const apt = new Apt(join(options.cacheFolder, 'apt'), options.say);
  if (options.update) await apt.update();
  const { resolution, files } = await packagesOf(spec, apt, options.update);
  const program = await guestProgram(join(options.cacheFolder, 'programs'));
  const id = identity(spec, resolution, [
    createHash('sha256').update(program).digest('hex'),
    spec.disk === null ? '' : await diskMaker(),
  ]);
  const images = join(options.cacheFolder, 'images');
  const folder = join(images, id.slice(0, 32));
  if (existsSync(join(folder, 'manifest.json'))) return openImage(folder);
  options.say(`making the image of ${resolution.packages.length} packages`);
  mkdirSync(images, { recursive: true });
  const draft = mkdtempSync(join(images, 'draft-'));
  try {
    const { say } = options;
    const manifest = await assemble(draft, { spec, resolution, files, program, id, say });
    writeFileSync(join(draft, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    // Another process may have been faster; then both made the same bytes.
    if (!existsSync(folder)) renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  trimImages(images, folder);
  return { ...openImage(folder), cached: false };
}

/** The image in a folder that `buildImage` made. Throws `store/image`. */
export function openImage(folder: string): MachineImage {
  const path = join(folder, 'manifest.json');
  let manifest: ImageManifest;
  try {
    manifest = JSON.parse(readFileSync(path, 'utf8')) as ImageManifest;
  } catch (error) {
    throw unknownImage(folder, error);
  }
  if (manifest.format !== 1) throw unknownImage(folder, manifest.format);
  const now = new Date();
  utimesSync(path, now, now);
  return {
    manifest,
    kernelPath: join(folder, 'kernel'),
    initrdPath: join(folder, 'initrd'),
    diskPath: manifest.disk === null ? null : join(folder, 'disk'),
    cached: true,
  };
}

interface Parts {
  readonly spec: ImageSpec;
  readonly resolution: Resolution;
  readonly files: Files;
  readonly program: Uint8Array;
  readonly id: string;
  readonly say: BuildOptions['say'];
}

interface Files {
  readonly packages: readonly string[];
  readonly kernel: string;
}

/** Finds and fetches the packages; when the lists turn out to be old, once more with new ones. */
async function packagesOf(
  spec: ImageSpec,
  apt: Apt,
  fresh: boolean,
): Promise<{ readonly resolution: Resolution; readonly files: Files }> {
  const wanted = {
    packages: [...spec.packages, 'busybox-static'],
    without: spec.without,
    kernel: spec.kernel,
  };
  try {
    const resolution = await apt.resolve(wanted);
    const paths = await apt.fetch([resolution.kernel, ...resolution.packages]);
    const [kernel = '', ...packages] = paths;
    return { resolution, files: { kernel, packages } };
  } catch (error) {
    if (fresh || !(error instanceof SimError) || error.code !== 'backend/apt-failed') throw error;
    await apt.update();
    return packagesOf(spec, apt, true);
  }
}

function identity(spec: ImageSpec, resolution: Resolution, tools: readonly string[]): string {
  const files = [resolution.kernel, ...resolution.packages].map((each) => each.sha256);
  const text = JSON.stringify([BUILDER, COMMAND_LINE, canonicalSpec(spec), files, tools]);
  return createHash('sha256').update(text).digest('hex');
}

async function assemble(draft: string, parts: Parts): Promise<ImageManifest> {
  const { spec, resolution, files } = parts;
  const tree = new FileTree();
  addBase(tree);
  for (const [index, path] of files.packages.entries()) {
    const name = resolution.packages[index]?.name ?? '';
    parts.say(`unpacking ${name}, ${index + 1} of ${files.packages.length} packages`);
    for (const member of await unpack(path, name)) {
      if (!isLeftOut(member.path, spec)) tree.add(member, name);
    }
  }
  parts.say('unpacking the kernel');
  const kernelMembers = await unpack(files.kernel, resolution.kernel.name);
  const { kernel, modules } = addKernel(tree, spec, kernelMembers);
  addOurs(tree, spec, { bytes: parts.program, header: guestHeader() });
  checkMemory(spec, tree.byteCount);
  parts.say('writing the image');
  writeFileSync(join(draft, 'kernel'), kernel);
  const initrd = writeInitrd(join(draft, 'initrd'), tree);
  if (spec.disk !== null) await makeDisk(join(draft, 'disk'), spec.disk.byteCount);
  const short = ({ name, version, sha256 }: ImagePackage): ImagePackage => ({
    name,
    version,
    sha256,
  });
  return {
    format: 1,
    id: parts.id,
    memoryByteCount: spec.memoryByteCount,
    commandLine: COMMAND_LINE,
    kernel: {
      ...short(resolution.kernel),
      imageSha256: createHash('sha256').update(kernel).digest('hex'),
    },
    initrd,
    disk: spec.disk === null ? null : { byteCount: spec.disk.byteCount },
    modules,
    packages: resolution.packages.map(short),
  };
}

async function unpack(path: string, name: string): Promise<readonly TarMember[]> {
  const result = await runCommand('dpkg-deb', ['--fsys-tarfile', path], {
    remedy: 'packages are unpacked with dpkg-deb, of Debian or a system derived from it',
    outputByteCountMax: PACKAGE_BYTE_COUNT_MAX,
  });
  if (result.status === 0) return [...readTar(result.output, name)];
  throw imageError(
    'package-damaged',
    `the package cannot be unpacked: ${result.errors.trim().slice(0, 300)}`,
    name,
    'remove it from the cache of packages; it will be downloaded again',
  );
}

/** While the kernel unpacks an image, memory holds it twice. */
function checkMemory(spec: ImageSpec, byteCount: number): void {
  const least = Math.ceil((2 * byteCount + MEMORY_RESERVE) / MEBIBYTE);
  if (least * MEBIBYTE <= spec.memoryByteCount) return;
  throw imageError(
    'image-too-big',
    `the image's files have ${Math.ceil(byteCount / MEBIBYTE)} MiB, too much for a machine with ` +
      `${spec.memoryByteCount / MEBIBYTE} MiB`,
    'machine.memory',
    `give it at least ${least} MiB, or leave packages or paths out`,
  );
}

function writeInitrd(path: string, tree: FileTree): ImageManifest['initrd'] {
  const hash = createHash('sha256');
  const descriptor = openSync(path, 'wx', 0o644);
  let byteCount = 0;
  try {
    for (const piece of writeCpio(tree.entries())) {
      hash.update(piece);
      for (let at = 0; at < piece.length;) at += writeSync(descriptor, piece, at);
      byteCount += piece.length;
    }
  } finally {
    closeSync(descriptor);
  }
  return { sha256: hash.digest('hex'), byteCount };
}

function unknownImage(folder: string, cause: unknown): SimError {
  return new SimError({
    code: 'store/image',
    message: 'the folder holds no image of a machine that this version knows',
    place: folder,
    remedy: 'make it again with `sim vm image`',
    cause,
  });
}
