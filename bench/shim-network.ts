import { Fd, WASI, WASIProcExit, wasi } from '@bjorn3/browser_wasi_shim';

/** One direction of a connection: the least that carries bytes. */
class Queue {
  readonly chunks: Uint8Array[] = [];
  closed = false;
}

/** A socket: two queues once it is connected, or the connections that wait for an accept. */
class Socket extends Fd {
  input: Queue | null = null;
  output: Queue | null = null;
  peer: Socket | null = null;
  readonly backlog: Socket[] = [];
  /** Who waits until this is readable. */
  waiter: ShimProcess | null = null;

  get readable(): boolean {
    if (this.input === null) return this.backlog.length > 0;
    return this.input.chunks.length > 0 || this.input.closed;
  }

  override fd_close(): number {
    if (this.output !== null) this.output.closed = true;
    this.peer?.wake();
    return 0;
  }

  wake(): void {
    this.waiter?.wake();
  }
}

class Output extends Fd {
  text = '';

  override fd_write(data: Uint8Array): { ret: number; nwritten: number } {
    this.text += new TextDecoder().decode(data);
    return { ret: 0, nwritten: data.byteLength };
  }

  override fd_fdstat_get(): { ret: number; fdstat: wasi.Fdstat } {
    return { ret: 0, fdstat: new wasi.Fdstat(wasi.FILETYPE_CHARACTER_DEVICE, 0) };
  }
}

/** Processes on one network without time: each runs until it waits, in the order of waking. */
export class ShimNetwork {
  readonly listeners = new Map<number, Socket>();
  readonly ready: ShimProcess[] = [];

  /** Runs all to their ends. Error: some wait for ever. */
  run(processes: readonly ShimProcess[]): void {
    for (const process of processes) process.wake();
    for (let next = this.ready.shift(); next !== undefined; next = this.ready.shift()) next.step();
    if (processes.some(({ ended }) => !ended)) throw new Error('the echoes came to a standstill');
  }
}

/** Calls that may stop a guest. */
export const SHIM_STOPS: readonly string[] = ['poll_oneoff', 'sock_accept', 'sock_recv'].map(
  (name) => `wasi_snapshot_preview1.${name}`,
);
const STACK_BYTES = 65_536;
const BLOCKED = -1;
const AGAIN = 6;
const CONNREFUSED = 14;
const SUBSCRIPTION_BYTES = 48;
const EVENT_BYTES = 32;

type Call = (...args: number[]) => number;

interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly _start: () => void;
  readonly asyncify_start_unwind: (stack: number) => void;
  readonly asyncify_stop_unwind: () => void;
  readonly asyncify_start_rewind: (stack: number) => void;
  readonly asyncify_stop_rewind: () => void;
}

/** A guest on the shim, which Asyncify stops in the calls that wait. */
export class ShimProcess {
  ended = false;
  private readonly output = new Output();
  private readonly host: WASI;
  private readonly network: ShimNetwork;
  private readonly exports: Exports;
  private readonly stack: number;
  private state: 'runs' | 'unwinds' | 'rewinds' = 'runs';
  private queued = false;
  private saved: number[] = [];
  private view: DataView;

  constructor(network: ShimNetwork, module: WebAssembly.Module, args: string[]) {
    this.network = network;
    this.host = new WASI(args, [], [this.output, this.output, this.output], { debug: false });
    const calls = this.host.wasiImport as Record<string, CallableFunction>;
    const instance = new WebAssembly.Instance(module, {
      wasi_snapshot_preview1: { ...calls, ...this.sockets() },
    });
    this.exports = instance.exports as unknown as Exports;
    this.host.inst = { exports: this.exports };
    this.stack = this.exports.memory.buffer.byteLength;
    this.exports.memory.grow(STACK_BYTES / 65_536);
    this.view = new DataView(this.exports.memory.buffer);
  }

  get console(): string {
    return this.output.text;
  }

  wake(): void {
    if (this.queued || this.ended) return;
    this.queued = true;
    this.network.ready.push(this);
  }

  /** Runs until the next wait or the end. */
  step(): void {
    this.queued = false;
    if (this.stopped()) {
      this.state = 'rewinds';
      this.exports.asyncify_start_rewind(this.stack);
    }
    try {
      this.exports._start();
    } catch (error) {
      if (!(error instanceof WASIProcExit)) throw error;
      this.ended = true;
      return;
    }
    this.ended = !this.stopped();
    if (!this.ended) this.exports.asyncify_stop_unwind();
  }

  private stopped(): boolean {
    return this.state === 'unwinds';
  }

  /** A call that gives BLOCKED is made again, with the same arguments, after the next waking. */
  private waiting(call: Call): Call {
    return (...args) => {
      if (this.state === 'rewinds') {
        this.exports.asyncify_stop_rewind();
        this.state = 'runs';
      } else {
        this.saved = args;
      }
      const result = call(...this.saved);
      if (result !== BLOCKED) return result;
      this.data().setUint32(this.stack, this.stack + 8, true);
      this.data().setUint32(this.stack + 4, this.stack + STACK_BYTES, true);
      this.state = 'unwinds';
      this.exports.asyncify_start_unwind(this.stack);
      return 0;
    };
  }

  private data(): DataView {
    const { buffer } = this.exports.memory;
    if (this.view.buffer !== buffer) this.view = new DataView(buffer);
    return this.view;
  }

  private socket(fd = 0): Socket {
    const found = this.host.fds[fd];
    if (found instanceof Socket) return found;
    throw new Error(`descriptor ${fd} is no socket`);
  }

  private add(socket: Socket, into = 0): number {
    this.data().setUint32(into, this.host.fds.push(socket) - 1, true);
    return 0;
  }

  private sockets(): Record<string, Call> {
    const ports = this.network.listeners;
    return {
      sock_open: (_family, _type, into) => this.add(new Socket(), into),
      sock_setsockopt: () => 0,
      sock_bind: (fd, _address, port = 0) => {
        ports.set(port, this.socket(fd));
        return 0;
      },
      sock_listen: () => 0,
      sock_connect: (fd, _address, port = 0) => {
        const listener = ports.get(port);
        if (listener === undefined) return CONNREFUSED;
        const [near, far] = [this.socket(fd), new Socket()];
        near.input = far.output = new Queue();
        near.output = far.input = new Queue();
        [near.peer, far.peer] = [far, near];
        listener.backlog.push(far);
        listener.wake();
        return 0;
      },
      sock_accept: this.waiting((fd, _flags, into) => {
        const accepted = this.socket(fd).backlog.shift();
        return accepted === undefined ? this.waitFor(fd) : this.add(accepted, into);
      }),
      sock_send: (fd, vectors, count, _flags, into) => this.send(fd, vectors, count, into),
      sock_recv: this.waiting((fd, vectors, _count, _flags, into, outFlags) => {
        return this.receive(fd, vectors, into, outFlags);
      }),
      sock_send_to: () => AGAIN,
      sock_recv_from: () => AGAIN,
      sock_getpeeraddr: () => AGAIN,
      sock_getaddrinfo: () => AGAIN,
      poll_oneoff: this.waiting((from, to, count, into) => this.poll(from, to, count, into)),
    };
  }

  private waitFor(fd = 0): number {
    this.socket(fd).waiter = this;
    return BLOCKED;
  }

  private send(fd = 0, vectors = 0, count = 0, into = 0): number {
    const data = this.data();
    const { output, peer } = this.socket(fd);
    let total = 0;
    for (let index = 0; index < count; index++) {
      const from = data.getUint32(vectors + 8 * index, true);
      const length = data.getUint32(vectors + 8 * index + 4, true);
      output?.chunks.push(new Uint8Array(data.buffer as ArrayBuffer).slice(from, from + length));
      total += length;
    }
    data.setUint32(into, total, true);
    peer?.wake();
    return 0;
  }

  /** Into the first vector: the guests use one. */
  private receive(fd = 0, vectors = 0, into = 0, outFlags = 0): number {
    const input = this.socket(fd).input as Queue;
    const [chunk] = input.chunks;
    if (chunk === undefined && !input.closed) return this.waitFor(fd);
    const data = this.data();
    const taken = chunk?.subarray(0, data.getUint32(vectors + 4, true)) ?? new Uint8Array(0);
    if (chunk !== undefined) {
      if (taken.length === chunk.length) input.chunks.shift();
      else input.chunks[0] = chunk.subarray(taken.length);
    }
    new Uint8Array(data.buffer).set(taken, data.getUint32(vectors, true));
    data.setUint32(into, taken.length, true);
    data.setUint16(outFlags, 0, true);
    return 0;
  }

  /** Readiness to read alone: the guests ask for nothing else. */
  private poll(from = 0, to = 0, count = 0, into = 0): number {
    const data = this.data();
    let ready = 0;
    for (let index = 0; index < count; index++) {
      const at = from + SUBSCRIPTION_BYTES * index;
      if (!this.socket(data.getUint32(at + 16, true)).readable) continue;
      const event = to + EVENT_BYTES * ready++;
      data.setBigUint64(event, data.getBigUint64(at, true), true);
      data.setUint16(event + 8, 0, true);
      data.setUint8(event + 10, data.getUint8(at + 8));
      data.setBigUint64(event + 16, 0n, true);
      data.setUint16(event + 24, 0, true);
    }
    data.setUint32(into, ready, true);
    if (ready > 0) return 0;
    for (let index = 0; index < count; index++) {
      this.waitFor(data.getUint32(from + SUBSCRIPTION_BYTES * index + 16, true));
    }
    return BLOCKED;
  }
}
