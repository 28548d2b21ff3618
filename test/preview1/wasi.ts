import {
  ERRNO,
  errnoName,
  type EventKind,
  type SocketStack,
  type VirtualNs,
  type Wait,
} from '../../sim/index.ts';
import { RIGHTS_ALL } from '../../wasm/preview1/abi.ts';
import { Preview1, type Preview1Options } from '../../wasm/preview1/preview1.ts';
import type { HostContext, Resumed } from '../../wasm/runtime/host-context.ts';
import { LonePort } from '../support/lone-guest.ts';
import { mesh, NetLoop } from '../support/net-loop.ts';

export interface LoggedCall {
  readonly kind: string;
  readonly input: number;
  readonly result: number;
  readonly atNs: VirtualNs;
}

/** The port of node 0 of a small network. */
class TestPort extends LonePort {
  readonly loop: NetLoop;
  readonly calls: LoggedCall[] = [];

  constructor(loop: NetLoop, args: readonly string[], env: readonly (readonly [string, string])[]) {
    super(args, env);
    this.loop = loop;
  }

  override get sockets(): SocketStack {
    return this.loop.stack(0);
  }

  override effect(kind: EventKind, input: number, result: number): void {
    super.effect(kind, input, result);
    this.calls.push({ kind: kind.name, input, result, atNs: this.nowNs });
  }
}

/** Thrown where the guest ends. */
export class Ended extends Error {
  readonly how: string;

  constructor(how: string) {
    super(how);
    this.how = how;
  }
}

const MEMORY_BYTES = 4 * 65_536;
/** Where the arguments of calls are put; below is for tests to use. */
const SCRATCH = 65_536;
/** What memory holds before a call writes to it. */
const FILLER = 0xaa;

export interface WasiOptions extends Preview1Options {
  readonly args?: readonly string[];
  readonly env?: readonly (readonly [string, string])[];
  /** Other nodes; the guest's own is `lone`, node 0. */
  readonly peers?: readonly string[];
}

/**
 * A guest that is only memory: it calls host functions as a program would, and waits as the
 * runtime lets it wait. After each call it checks that all memory that changed was reported as
 * touched.
 */
export class Wasi implements HostContext {
  readonly loop: NetLoop;
  readonly port: TestPort;
  preview1: Preview1;
  resumed: Resumed = null;
  waitStartNs: VirtualNs = 0;
  /** Waits of the last call. */
  waits: Wait[] = [];
  /** What the other nodes do whenever anything happens in the network. */
  peersAct: () => void = () => undefined;
  readonly data = new Uint8Array(MEMORY_BYTES).fill(FILLER);
  private readonly options: WasiOptions;
  private readonly shadow = this.data.slice();
  private readonly view = new DataView(this.data.buffer);
  private wait: Wait | null = null;
  private scratch = SCRATCH;

  constructor(options: WasiOptions = {}) {
    this.options = options;
    const nodes = ['lone', ...(options.peers ?? [])];
    const peers = { act: () => this.peersAct(), capture: () => null, restore: () => undefined };
    this.loop = new NetLoop({ nodes, links: mesh(nodes.length), programs: [peers] });
    this.port = new TestPort(this.loop, options.args ?? ['lone'], options.env ?? []);
    this.preview1 = new Preview1(this, options);
  }

  memory(): DataView {
    return this.view;
  }

  bytes(): Uint8Array {
    return this.data;
  }

  memoryBytes(): number {
    return MEMORY_BYTES;
  }

  touched(offset: number, length: number): void {
    this.shadow.set(this.data.subarray(offset, offset + length), offset);
  }

  block(wait: Wait): 0 {
    this.wait = wait;
    return 0;
  }

  charge(ns: VirtualNs): void {
    this.moveTo(this.port.nowNs + ns);
  }

  localNs(): VirtualNs {
    return this.port.nowNs;
  }

  exit(code: number): never {
    throw new Ended(`exit ${code}`);
  }

  trap(code: string, message: string): never {
    throw new Ended(`trap ${code}: ${message}`);
  }

  reenter<Result>(call: () => Result): Result {
    return call();
  }

  /** Moves time on, and with it the network. */
  moveTo(atNs: VirtualNs): void {
    this.loop.run(atNs);
    this.port.nowNs = atNs;
  }

  /** The state of the guest's host moves to another host, as when a checkpoint is restored. */
  transplant(): void {
    const state = structuredClone(this.preview1.capture());
    this.preview1 = new Preview1(this, this.options);
    this.preview1.restore(state);
  }

  /** Makes a call to its end; waits pass as they would in the world. Returns the errno. */
  call(name: string, ...args: (number | bigint)[]): number {
    return this.make(() => this.function(name), args);
  }

  /** The same, with the name of the errno. */
  errno(name: string, ...args: (number | bigint)[]): string {
    return errnoName(this.call(name, ...args));
  }

  function(name: string): (...args: (number | bigint)[]) => unknown {
    const found = this.preview1.imports['wasi_snapshot_preview1']?.[name];
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  }

  /** Makes a call of what `find` gives, which is asked anew after each wait. */
  make(find: () => (...args: (number | bigint)[]) => unknown, args: (number | bigint)[]): number {
    this.waits = [];
    this.waitStartNs = this.port.nowNs;
    this.resumed = null;
    for (;;) {
      const before = this.port.calls.length;
      const result = find()(...args);
      this.checkTouched();
      if (this.wait === null) {
        this.scratch = SCRATCH;
        return Number(result);
      }
      if (this.port.calls.length > before) throw new Error('a call that waits was logged');
      this.pass(this.wait);
    }
  }

  /** Forgets a call that waits for ever. */
  abandon(): void {
    this.wait = null;
    this.scratch = SCRATCH;
  }

  /** Puts bytes or text into the memory for the next call; returns where. */
  put(what: string | Uint8Array | readonly number[]): number {
    const bytes = typeof what === 'string' ? Buffer.from(what) : Uint8Array.from(what);
    const at = this.room(bytes.length);
    this.data.set(bytes, at);
    this.touched(at, bytes.length);
    return at;
  }

  /** Room for a result of the next call. */
  room(length: number): number {
    const at = this.scratch;
    this.scratch += Math.ceil(length / 8) * 8;
    if (this.scratch > MEMORY_BYTES) throw new Error('the scratch memory is full');
    return at;
  }

  /** Puts a list of vectors. */
  vectors(...parts: readonly (readonly [address: number, length: number])[]): number {
    const words = new Uint32Array(parts.flatMap(([address, length]) => [address, length]));
    return this.put(new Uint8Array(words.buffer));
  }

  u32(at: number): number {
    return this.view.getUint32(at, true);
  }

  u64(at: number): bigint {
    return this.view.getBigUint64(at, true);
  }

  text(at: number, length: number): string {
    return Buffer.from(this.data.subarray(at, at + length)).toString();
  }

  // Calls with results, as a program's library would offer them. Errors are negated errno.

  open(
    path: string,
    options: {
      readonly dir?: number;
      readonly follow?: boolean;
      readonly oflags?: number;
      readonly rights?: number;
      readonly inheriting?: number;
      readonly flags?: number;
    } = {},
  ): number {
    const { dir = 3, follow = false, oflags = 0, flags = 0 } = options;
    const rights = BigInt(options.rights ?? RIGHTS_ALL - 64 * (oflags & 1 ? 0 : 1));
    const inheriting = BigInt(options.inheriting ?? RIGHTS_ALL);
    const [at, result] = [this.put(path), this.room(4)];
    const length = Buffer.from(path).length;
    const lookup = follow ? 1 : 0;
    const args = [dir, lookup, at, length, oflags, rights, inheriting, flags, result] as const;
    const errno = this.call('path_open', ...args);
    return errno === 0 ? this.u32(result) : -errno;
  }

  /** Calls a function on one path. */
  path(name: string, path: string, dir = 3): number {
    return 0 - this.call(name, dir, this.put(path), Buffer.from(path).length);
  }

  mkdir(path: string, dir = 3): number {
    return this.path('path_create_directory', path, dir);
  }

  rmdir(path: string, dir = 3): number {
    return this.path('path_remove_directory', path, dir);
  }

  unlink(path: string, dir = 3): number {
    return this.path('path_unlink_file', path, dir);
  }

  symlink(target: string, path: string, dir = 3): number {
    const [from, to] = [this.put(target), this.put(path)];
    const lengths = [target, path].map((text) => Buffer.from(text).length) as [number, number];
    return 0 - this.call('path_symlink', from, lengths[0], dir, to, lengths[1]);
  }

  link(from: string, to: string, { follow = false, dir = 3, toDir = 3 } = {}): number {
    const args = [this.put(from), Buffer.from(from).length] as const;
    const toArgs = [this.put(to), Buffer.from(to).length] as const;
    return 0 - this.call('path_link', dir, follow ? 1 : 0, ...args, toDir, ...toArgs);
  }

  rename(from: string, to: string, { dir = 3, toDir = 3 } = {}): number {
    const args = [this.put(from), Buffer.from(from).length] as const;
    return 0 - this.call('path_rename', dir, ...args, toDir, this.put(to), Buffer.from(to).length);
  }

  readlink(path: string, room = 256, dir = 3): string | number {
    const [at, buffer, result] = [this.put(path), this.room(room), this.room(4)];
    const length = Buffer.from(path).length;
    const errno = this.call('path_readlink', dir, at, length, buffer, room, result);
    return errno === 0 ? this.text(buffer, this.u32(result)) : -errno;
  }

  write(fd: number, text: string | Uint8Array, name = 'fd_write'): number {
    const [at, result] = [this.put(text), this.room(4)];
    const length = typeof text === 'string' ? Buffer.from(text).length : text.length;
    const errno = this.call(name, fd, this.vectors([at, length]), 1, result);
    return errno === 0 ? this.u32(result) : -errno;
  }

  read(fd: number, length = 256): string | number {
    const [at, result] = [this.room(length), this.room(4)];
    const errno = this.call('fd_read', fd, this.vectors([at, length]), 1, result);
    return errno === 0 ? this.text(at, this.u32(result)) : -errno;
  }

  pwrite(fd: number, text: string, offset: bigint): number {
    const [at, result] = [this.put(text), this.room(4)];
    const vectors = this.vectors([at, Buffer.from(text).length]);
    const errno = this.call('fd_pwrite', fd, vectors, 1, offset, result);
    return errno === 0 ? this.u32(result) : -errno;
  }

  pread(fd: number, length: number, offset: bigint): string | number {
    const [at, result] = [this.room(length), this.room(4)];
    const errno = this.call('fd_pread', fd, this.vectors([at, length]), 1, offset, result);
    return errno === 0 ? this.text(at, this.u32(result)) : -errno;
  }

  seek(fd: number, delta: bigint, whence = 0): number {
    const result = this.room(8);
    const errno = this.call('fd_seek', fd, delta, whence, result);
    return errno === 0 ? Number(this.u64(result)) : -errno;
  }

  tell(fd: number): number {
    const result = this.room(8);
    const errno = this.call('fd_tell', fd, result);
    return errno === 0 ? Number(this.u64(result)) : -errno;
  }

  close(fd: number): number {
    return 0 - this.call('fd_close', fd);
  }

  stat(where: number | string, follow = false): Filestat | number {
    const result = this.room(64);
    const errno =
      typeof where === 'number'
        ? this.call('fd_filestat_get', where, result)
        : this.call(
            'path_filestat_get',
            3,
            follow ? 1 : 0,
            this.put(where),
            Buffer.from(where).length,
            result,
          );
    if (errno !== 0) return -errno;
    return {
      device: Number(this.u64(result)),
      inode: Number(this.u64(result + 8)),
      filetype: this.data[result + 16] as number,
      links: Number(this.u64(result + 24)),
      size: Number(this.u64(result + 32)),
      accessedNs: this.u64(result + 40),
      modifiedNs: this.u64(result + 48),
      changedNs: this.u64(result + 56),
    };
  }

  fdstat(fd: number): Fdstat | number {
    const result = this.room(24);
    const errno = this.call('fd_fdstat_get', fd, result);
    if (errno !== 0) return -errno;
    const [rights, inheriting] = [Number(this.u64(result + 8)), Number(this.u64(result + 16))];
    const flags = this.view.getUint16(result + 2, true);
    return { filetype: this.data[result] as number, flags, rights, inheriting };
  }

  /** One `fd_readdir`. */
  readdir(fd: number, room: number, cookie: bigint): Listing | number {
    const [buffer, result] = [this.room(room), this.room(4)];
    const errno = this.call('fd_readdir', fd, buffer, room, cookie, result);
    if (errno !== 0) return -errno;
    const used = this.u32(result);
    const entries: Dirent[] = [];
    for (let at = buffer; at + 24 <= buffer + used;) {
      const length = this.u32(at + 16);
      if (at + 24 + length > buffer + used) break;
      entries.push({
        name: this.text(at + 24, length),
        next: this.u64(at),
        inode: Number(this.u64(at + 8)),
        filetype: this.data[at + 20] as number,
      });
      at += 24 + length;
    }
    return { used, entries };
  }

  private pass(wait: Wait): void {
    this.wait = null;
    this.waits.push(wait);
    const { deadlineNs, interests } = wait;
    const { loop, port } = this;
    for (;;) {
      if (port.sockets.isReady(interests)) {
        port.nowNs = Math.max(port.nowNs, loop.nowNs);
        this.resumed = 'ready';
        return;
      }
      const next = loop.queue.length === 0 ? Infinity : loop.queue.peekNs();
      if (deadlineNs !== null && deadlineNs <= next) {
        this.moveTo(Math.max(deadlineNs, port.nowNs));
        this.resumed = 'deadline';
        return;
      }
      if (!loop.step()) throw new Ended('the guest sleeps for ever');
    }
  }

  private checkTouched(): void {
    if (Buffer.compare(this.data, this.shadow) === 0) return;
    const at = this.data.findIndex((byte, index) => byte !== this.shadow[index]);
    throw new Error(`memory was written at ${at} without being reported as touched`);
  }
}

export interface Filestat {
  readonly device: number;
  readonly inode: number;
  readonly filetype: number;
  readonly links: number;
  readonly size: number;
  readonly accessedNs: bigint;
  readonly modifiedNs: bigint;
  readonly changedNs: bigint;
}

export interface Fdstat {
  readonly filetype: number;
  readonly flags: number;
  readonly rights: number;
  readonly inheriting: number;
}

export interface Dirent {
  readonly name: string;
  readonly next: bigint;
  readonly inode: number;
  readonly filetype: number;
}

export interface Listing {
  readonly used: number;
  readonly entries: readonly Dirent[];
}

/** A result as people read it: a name for an error. */
export function shown(result: unknown): unknown {
  return typeof result === 'number' && result < 0 ? errnoName(result) : result;
}

/** What `read` would return of errors: names instead of numbers. */
export function no(errno: keyof typeof ERRNO): number {
  return -ERRNO[errno];
}
