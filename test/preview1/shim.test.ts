import { File, OpenFile, PreopenDirectory, WASI } from '@bjorn3/browser_wasi_shim';
import { describe, expect, it } from 'vitest';
import { errnoName, ROOT } from '../../sim/index.ts';
import { OFLAG, RIGHTS_ALL } from '../../wasm/preview1/abi.ts';
import { randomSource } from '../storage/support.ts';
import { Wasi, type Dirent } from './wasi.ts';

/*
 * The file calls of @bjorn3/browser_wasi_shim 0.4.2, which runs many programs in browsers, give the
 * same results as ours over random sequences. Left out is what it does otherwise than POSIX: it has
 * no symbolic links, rights, times or link counts; appends only from where the end was at the time
 * of opening; lets `path_link` replace a file; moves a directory into itself or onto its parent,
 * and lets a name go that is renamed to another name of the same file; takes `..` as text, `.` as
 * no name; opens directories with CREAT, and so makes what exists; has EXCL work without CREAT;
 * makes entries in directories that were removed; answers NOTCAPABLE for a way outside; and
 * allocates nothing without complaint.
 */

type Call = (name: string, ...args: (number | bigint)[]) => number;

const MEMORY_BYTES = 4 * 65_536;

/** The shim with a memory like that of our test guest. */
class Shim {
  readonly data: Uint8Array;
  private readonly imports: Readonly<Record<string, unknown>>;

  constructor() {
    const memory = new WebAssembly.Memory({ initial: MEMORY_BYTES / 65_536 });
    const console = [0, 1, 2].map(() => new OpenFile(new File([])));
    const wasi = new WASI([], [], [...console, new PreopenDirectory('/', new Map())], {
      debug: false,
    });
    wasi.inst = { exports: { memory } } as unknown as typeof wasi.inst;
    this.imports = wasi.wasiImport;
    this.data = new Uint8Array(memory.buffer);
  }

  readonly call: Call = (name, ...args) => {
    return (this.imports[name] as (...given: (number | bigint)[]) => number)(...args);
  };
}

/** Where things are in the memories of both. */
const AT = { path: 1024, other: 2048, vectors: 3072, result: 4096, bytes: 8192, list: 65_536 };

/** One of the two, seen through its calls. */
interface Side {
  readonly data: Uint8Array;
  readonly call: Call;
  readonly fds: number[];
}

class Pair {
  /** How often each call succeeded. */
  readonly done: Map<string, number>;
  private readonly wasi = new Wasi();
  private readonly sides: readonly [Side, Side];
  private readonly random: (below: number) => number;

  constructor(seed: number, done: Map<string, number>) {
    this.random = randomSource(seed);
    this.done = done;
    const { wasi } = this;
    const ours: Call = (name, ...args) => {
      wasi.touched(0, MEMORY_BYTES);
      return wasi.call(name, ...args);
    };
    const shim = new Shim();
    this.sides = [
      { data: wasi.data, call: ours, fds: [] },
      { data: shim.data, call: shim.call, fds: [] },
    ];
  }

  /** Makes a call on both and expects the same errno and result. */
  both(what: string, run: (side: Side) => unknown): void {
    const [ours, theirs] = this.sides.map((side) => run(side));
    expect({ what, result: ours }).toEqual({ what, result: theirs });
    const name = what.split(' ')[0] as string;
    if (!(typeof ours === 'string' && /^[A-Z]+$/.test(ours)) || ours === 'SUCCESS') {
      this.done.set(name, (this.done.get(name) ?? 0) + 1);
    }
  }

  step(): void {
    const { random } = this;
    const path = this.somePath();
    const kind = this.kindOf(path);
    switch (random(14)) {
      case 0:
        if (kind !== null) return;
        return this.both(`mkdir ${path}`, (side) =>
          this.onPath(side, 'path_create_directory', path),
        );
      case 1:
        return this.both(`rmdir ${path}`, (side) =>
          this.onPath(side, 'path_remove_directory', path),
        );
      case 2:
        return this.both(`unlink ${path}`, (side) => this.onPath(side, 'path_unlink_file', path));
      case 3:
      case 4:
        return this.open(path, kind);
      case 5:
        return this.rename(path);
      case 6: {
        const to = this.somePath();
        if (this.kindOf(to) !== null) return;
        return this.both(`link ${path} ${to}`, (side) => {
          const [one, other] = [put(side, AT.path, path), put(side, AT.other, to)];
          return named(side.call('path_link', 3, 0, AT.path, one, 3, AT.other, other));
        });
      }
      case 7:
        return this.both(`stat ${path}`, (side) => {
          const length = put(side, AT.path, path);
          const errno = side.call('path_filestat_get', 3, 1, AT.path, length, AT.result);
          return errno === 0 ? filestat(side) : named(errno);
        });
      case 8:
        return this.list(path, kind);
      default:
        return this.onDescriptor();
    }
  }

  private open(path: string, kind: string | null): void {
    const { random } = this;
    const directory = kind === 'directory';
    const oflags = directory ? random(2) * OFLAG.DIRECTORY : ([0, 1, 5, 8, 9] as const)[random(5)];
    const rights = BigInt(directory ? RIGHTS_ALL & ~64 : RIGHTS_ALL);
    this.both(`open ${path} with ${oflags}`, (side) => {
      const length = put(side, AT.path, path);
      const args = [3, 1, AT.path, length, oflags ?? 0, rights, rights, 0, AT.result] as const;
      const errno = side.call('path_open', ...args);
      if (errno === 0) side.fds.push(word(side, AT.result));
      return named(errno);
    });
  }

  private rename(path: string): void {
    const to = this.somePath();
    const { files } = this.wasi.port;
    const inode = (at: string): number => {
      return at.split('/').reduce<number>((directory, name) => files.lookup(directory, name), ROOT);
    };
    if (
      to.startsWith(`${path}/`) ||
      path.startsWith(`${to}/`) ||
      (inode(path) > 0 && inode(path) === inode(to))
    )
      return;
    this.both(`rename ${path} ${to}`, (side) => {
      const [one, other] = [put(side, AT.path, path), put(side, AT.other, to)];
      return named(side.call('path_rename', 3, AT.path, one, 3, AT.other, other));
    });
  }

  private list(path: string, kind: string | null): void {
    if (kind !== 'directory') return;
    this.both(`list ${path}`, (side) => {
      const length = put(side, AT.path, path);
      const rights = BigInt(RIGHTS_ALL & ~64);
      side.call('path_open', 3, 0, AT.path, length, 2, rights, rights, 0, AT.result);
      const fd = word(side, AT.result);
      const errno = side.call('fd_readdir', fd, AT.list, 65_536, 0n, AT.result);
      side.call('fd_close', fd);
      return errno === 0 ? names(side, word(side, AT.result)) : named(errno);
    });
  }

  private onDescriptor(): void {
    const { random } = this;
    const [ours] = this.sides;
    if (ours.fds.length === 0) return;
    const index = random(ours.fds.length);
    const offset = BigInt(random(5_000));
    const length = 1 + random(random(2) === 0 ? 20 : 6_000);
    const isFile = this.wasi.fdstat(ours.fds[index] as number);
    const file = typeof isFile !== 'number' && isFile.filetype === 4;
    const call = (name: string, ...args: (number | bigint)[]): void => {
      this.both(`${name} ${args.join(' ')}`, (side) =>
        named(side.call(name, side.fds[index] as number, ...args)),
      );
    };
    switch (random(11)) {
      case 0:
      case 1:
        return this.write(index, length, null);
      case 2:
        return this.write(index, length, offset);
      case 3:
      case 4:
        return this.read(index, length, null);
      case 5:
        return this.read(index, length, offset);
      case 6:
        call('fd_seek', BigInt(random(8_000) - 2_000), random(3), AT.result);
        return call('fd_tell', AT.result);
      case 7:
        return file ? call('fd_filestat_set_size', offset) : undefined;
      case 8:
        return file ? call('fd_allocate', offset, BigInt(length)) : undefined;
      case 9:
        return this.both('fstat', (side) => {
          return [
            named(side.call('fd_filestat_get', side.fds[index] as number, AT.result)),
            filestat(side),
          ];
        });
      default:
        if (random(3) > 0) return;
        call('fd_close');
        for (const side of this.sides) side.fds.splice(index, 1);
    }
  }

  private write(index: number, length: number, offset: bigint | null): void {
    const bytes = Uint8Array.from({ length }, () => this.random(256));
    const cut = this.random(length);
    this.both(`write ${length} at ${offset}`, (side) => {
      side.data.set(bytes, AT.bytes);
      vectors(side, [AT.bytes, cut], [AT.bytes + cut, length - cut]);
      const name = offset === null ? 'fd_write' : 'fd_pwrite';
      const at = offset === null ? [] : [offset];
      const fd = side.fds[index] as number;
      const errno = side.call(name, fd, AT.vectors, 2, ...at, AT.result);
      return errno === 0 ? word(side, AT.result) : named(errno);
    });
  }

  private read(index: number, length: number, offset: bigint | null): void {
    const cut = this.random(length);
    this.both(`read ${length} at ${offset}`, (side) => {
      side.data.fill(0, AT.bytes, AT.bytes + length);
      vectors(side, [AT.bytes, cut], [AT.bytes + cut, length - cut]);
      const name = offset === null ? 'fd_read' : 'fd_pread';
      const at = offset === null ? [] : [offset];
      const fd = side.fds[index] as number;
      const errno = side.call(name, fd, AT.vectors, 2, ...at, AT.result);
      if (errno !== 0) return named(errno);
      return Buffer.from(side.data.subarray(AT.bytes, AT.bytes + length)).toString('hex');
    });
  }

  private onPath(side: Side, name: string, path: string): string {
    return named(side.call(name, 3, AT.path, put(side, AT.path, path)));
  }

  private somePath(): string {
    const names = Array.from({ length: 1 + (this.random(3) & 1) }, () =>
      'abc'.charAt(this.random(3)),
    );
    return names.join('/');
  }

  private kindOf(path: string): string | null {
    const { files } = this.wasi.port;
    const inode = path
      .split('/')
      .reduce<number>((directory, name) => files.lookup(directory, name), ROOT);
    return inode > 0 ? files.stat(inode).kind : null;
  }
}

function named(errno: number): string {
  return errnoName(errno);
}

function put(side: Side, at: number, text: string): number {
  return side.data.set(Buffer.from(text), at) ?? Buffer.from(text).length;
}

function word(side: Side, at: number): number {
  return new DataView(side.data.buffer).getUint32(at, true);
}

function vectors(side: Side, ...parts: [number, number][]): void {
  side.data.set(new Uint8Array(Uint32Array.from(parts.flat()).buffer), AT.vectors);
}

function filestat(side: Side): unknown {
  return [side.data[AT.result + 16], word(side, AT.result + 32)];
}

/** What a listing names, sorted, with kinds. */
function names(side: Side, used: number): string[] {
  const found: Pick<Dirent, 'name' | 'filetype'>[] = [];
  for (let at = AT.list; at < AT.list + used;) {
    const length = word(side, at + 16);
    const name = Buffer.from(side.data.subarray(at + 24, at + 24 + length)).toString();
    found.push({ name, filetype: side.data[at + 20] as number });
    at += 24 + length;
  }
  return found.map(({ name, filetype }) => `${name} ${filetype}`).sort();
}

describe('file calls', () => {
  it('give what those of the reference give, over random sequences', () => {
    const done = new Map<string, number>();
    for (let seed = 0; seed < 40; seed++) {
      const pair = new Pair(seed, done);
      for (let count = 0; count < 250; count++) pair.step();
    }
    const seldom = [...done].filter(([, count]) => count < 20);
    expect([done.size, seldom]).toEqual([16, []]);
  });
});
