import { sha256, SimError } from '../../sim/index.ts';

/** What an image is made of; a `vm.toml` says it (docs/images.md). */
export interface ImageSpec {
  /** Debian packages by name, `name=version` or `name/suite`; their dependencies follow. */
  readonly packages: readonly string[];
  /** Packages that are left out although something depends on them. */
  readonly without: readonly string[];
  /** Paths that are left out, with what lies below them. */
  readonly leaveOut: readonly string[];
  /** The package of the kernel, or one that depends on it. */
  readonly kernel: string;
  /** Further kernel modules by name; what they depend on follows. */
  readonly modules: readonly string[];
  readonly memoryByteCount: number;
  readonly disk: DiskSpec | null;
  /** User and group of that name and number. */
  readonly users: readonly UserSpec[];
  readonly files: readonly FileSpec[];
  /** Names and values, sorted by name. */
  readonly environment: readonly (readonly [string, string])[];
  /** Shell scripts that run as root, one after another; each must end with 0. */
  readonly setup: readonly string[];
  /** The script that the machine lives for; its status is the machine's. */
  readonly main: string | null;
  /** Who runs `main` and `ready`; root if null. */
  readonly user: string | null;
  /** Asked every 10 ms until it ends with 0; then the machine is ready. */
  readonly ready: string | null;
}

export interface DiskSpec {
  readonly byteCount: number;
  readonly mount: string;
}

export interface UserSpec {
  readonly name: string;
  readonly id: number;
}

export interface FileSpec {
  /** Absolute, in its normal form. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number;
  readonly owner: number;
}

export const MEBIBYTE = 1024 * 1024;
/** RAM of a machine: 64 MiB to 4 GiB. */
export const MEMORY_BYTE_COUNT_MIN = 64 * MEBIBYTE;
export const MEMORY_BYTE_COUNT_MAX = 4096 * MEBIBYTE;
/** A data disk: 8 MiB (ext4 with a journal needs some) to 64 GiB. */
export const DISK_BYTE_COUNT_MIN = 8 * MEBIBYTE;
export const DISK_BYTE_COUNT_MAX = 64 * 1024 * MEBIBYTE;

/** The part of a specification that decides the image's bytes, in one canonical text. */
export function canonicalSpec(spec: ImageSpec): string {
  const { files, packages, without, leaveOut, modules, users, ...rest } = spec;
  return JSON.stringify({
    ...sortedKeys(rest),
    packages: sorted(packages),
    without: sorted(without),
    leaveOut: sorted(leaveOut),
    modules: sorted(modules),
    users: [...users].sort((a, b) => a.id - b.id || compare(a.name, b.name)),
    files: [...files]
      .sort((a, b) => compare(a.path, b.path))
      .map(({ path, bytes, mode, owner }) => [path, sha256(bytes), mode, owner]),
  });
}

/** The error for an image that cannot be made as asked. */
export function imageError(name: string, message: string, place: string, remedy: string): SimError {
  return new SimError({ code: `input/${name}`, message, place, remedy });
}

function sortedKeys(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => compare(a, b)));
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort(compare);
}

/** The order of UTF-16 units: the same everywhere. */
export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
