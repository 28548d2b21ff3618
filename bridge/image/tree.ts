import { SimError } from '../../sim/index.ts';
import { S_IFCHR, S_IFDIR, S_IFLNK, S_IFREG, type CpioEntry } from './cpio.ts';
import { compare } from './spec.ts';
import type { TarMember } from './tar.ts';

/** Folders of the root that are links into /usr, as every Debian system has them since 12. */
const MERGED: readonly string[] = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];
/** Links within links, before a path is called circular. */
const LINKS_MAX = 40;

interface Node {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly bytes: Uint8Array;
  readonly major?: number;
  readonly minor?: number;
}

/** A file system in the making: paths without a leading slash, later entries over earlier ones. */
export class FileTree {
  private readonly nodes = new Map<string, Node>();
  /** Bytes of all files. */
  byteCount = 0;

  constructor() {
    this.folder('', 0o755);
    for (const name of MERGED) this.link(name, `usr/${name}`);
  }

  folder(path: string, mode: number, owner = 0): void {
    this.set(path, { mode: S_IFDIR | mode, uid: owner, gid: owner, bytes: NO_BYTES });
  }

  file(path: string, bytes: Uint8Array, mode: number, owner = 0): void {
    this.set(path, { mode: S_IFREG | mode, uid: owner, gid: owner, bytes });
  }

  link(path: string, target: string): void {
    const bytes = Buffer.from(target, 'utf8');
    this.set(path, { mode: S_IFLNK | 0o777, uid: 0, gid: 0, bytes });
  }

  character(path: string, mode: number, major: number, minor: number): void {
    const node = { mode: S_IFCHR | mode, uid: 0, gid: 0, bytes: NO_BYTES, major, minor };
    this.set(path, node);
  }

  /** Whether something stands at `path`, seen through the links of /usr. */
  has(path: string): boolean {
    return this.nodes.has(this.placeOf(path));
  }

  /** Adds a member of a package. `place` names the package in errors. */
  add(member: TarMember, place: string): void {
    const { path, mode, uid, gid, bytes, target } = member;
    if (path === '' || (member.kind === 'folder' && MERGED.includes(path))) return;
    switch (member.kind) {
      case 'file':
        return this.set(path, { mode: S_IFREG | mode, uid, gid, bytes });
      case 'folder':
        return this.set(path, { mode: S_IFDIR | mode, uid, gid, bytes: NO_BYTES });
      case 'symlink':
        return this.link(path, target);
      case 'hardlink': {
        const original = this.nodes.get(this.placeOf(target.replace(/^(\.?\/)+/, '')));
        if (original !== undefined) return this.set(path, original);
        throw new SimError({
          code: 'input/package-damaged',
          message: `a hard link points to "${target}", which is not there`,
          place,
        });
      }
      default:
        // Packages carry no devices; the kernel makes them.
        return;
    }
  }

  /** All entries, parents before children, in the order of their paths. */
  *entries(): Generator<CpioEntry> {
    const paths = [...this.nodes.keys()].sort(compare);
    for (const path of paths) {
      const node = this.nodes.get(path) as Node;
      yield { path: path === '' ? '.' : path, ...node };
    }
  }

  private set(path: string, node: Node): void {
    const place = this.placeOf(path);
    const old = this.nodes.get(place);
    // Where a link to a folder stands, a package's folder means the folder behind it (as dpkg does).
    if (old !== undefined && typeOf(node) === S_IFDIR && typeOf(old) === S_IFLNK) return;
    this.makeParents(place);
    this.byteCount += node.bytes.length - (old?.bytes.length ?? 0);
    this.nodes.set(place, node);
  }

  private makeParents(place: string): void {
    for (let at = place.lastIndexOf('/'); at > 0; at = place.lastIndexOf('/', at - 1)) {
      const parent = place.slice(0, at);
      if (this.nodes.has(parent)) return;
      this.nodes.set(parent, { mode: S_IFDIR | 0o755, uid: 0, gid: 0, bytes: NO_BYTES });
    }
  }

  /** The path with links in its folders followed; its last part is left as it is. */
  private placeOf(path: string): string {
    let rest = path.split('/').filter((part) => part !== '' && part !== '.');
    let done: string[] = [];
    for (let links = 0; rest.length > 1;) {
      const part = rest.shift() as string;
      if (part === '..') {
        done.pop();
        continue;
      }
      const node = this.nodes.get([...done, part].join('/'));
      if (node === undefined || typeOf(node) !== S_IFLNK) {
        done.push(part);
        continue;
      }
      if (++links > LINKS_MAX) {
        throw new SimError({
          code: 'input/image-path',
          message: 'too many links on the way',
          place: path,
        });
      }
      const target = Buffer.from(node.bytes).toString('utf8');
      if (target.startsWith('/')) done = [];
      rest = [...target.split('/').filter((each) => each !== '' && each !== '.'), ...rest];
    }
    return [...done, ...rest].join('/');
  }
}

function typeOf(node: Node): number {
  return node.mode & 0o170000;
}

const NO_BYTES = new Uint8Array(0);
