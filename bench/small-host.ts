import { CONTROL, type Layout } from '../wasm/instrument/layout.ts';

/** Thrown by `proc_exit`. */
class Exit extends Error {}

export interface SmallHostOptions {
  /** How often a wait suspends the guest before it ends; 1 if not given. */
  readonly suspensionsPerWait?: number;
  /** Fills the counter of a module that was not instrumented by us. */
  readonly refuel?: (exports: Readonly<Record<string, unknown>>) => void;
}

/**
 * A minimal preview 1 host for measuring code: the same work for a plain module and for an
 * instrumented one, so that their ratio is the price of the instrumentation alone. Waits end at
 * once; files do not exist.
 */
export class SmallHost {
  output = '';
  suspensions = 0;
  /** Frames of compiled code on the stack, at most at one of the first suspensions. */
  frames = 0;
  private readonly args: readonly string[];
  private readonly layout: Layout | null;
  private readonly options: SmallHostOptions;
  private readonly base: number;
  private readonly suspends: boolean;
  private readonly exports: Readonly<Record<string, unknown>>;
  private readonly memory: WebAssembly.Memory;
  private view = new DataView(new ArrayBuffer(0));
  private control = new Int32Array(0);
  private nowNs = 1_000_000_000n;
  private random = 12345;

  /** `suspends`: whether the module was instrumented so that its waits suspend it. */
  constructor(
    module: WebAssembly.Module,
    args: readonly string[],
    instrumented: { readonly layout: Layout; readonly suspends: boolean } | null,
    options: SmallHostOptions = {},
  ) {
    const layout = instrumented?.layout ?? null;
    this.suspends = instrumented?.suspends ?? false;
    this.args = args;
    this.layout = layout;
    this.options = options;
    this.base = layout?.guestBaseBytes ?? 0;
    const instance = new WebAssembly.Instance(module, this.imports(module));
    this.exports = instance.exports;
    const name = layout?.memory.exportName ?? 'memory';
    this.memory = instance.exports[name] as WebAssembly.Memory;
  }

  /** Runs `_start` to the end; suspensions are resumed at once. */
  run(): void {
    const start = this.exports['_start'] as () => void;
    try {
      start();
      while (this.layout !== null && this.words()[CONTROL.state] === 1) {
        this.words()[CONTROL.state] = 2;
        start();
      }
    } catch (error) {
      if (!(error instanceof Exit)) throw error;
    }
  }

  private words(): Int32Array {
    if (this.control.length === 0) {
      this.control = new Int32Array(this.memory.buffer, this.layout?.controlBase ?? 0, 4);
    }
    return this.control;
  }

  private data(): DataView {
    if (this.view.buffer !== this.memory.buffer) {
      this.view = new DataView(this.memory.buffer, this.base);
    }
    return this.view;
  }

  private imports(module: WebAssembly.Module): WebAssembly.Imports {
    const functions = this.functions();
    const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      const group = (imports[from] ??= {});
      if (from === 'athanor') {
        group[name] = name === 'preempt' ? () => this.preempt() : () => undefined;
        continue;
      }
      const call = functions.get(name);
      const suspends = name === 'poll_oneoff' && this.suspends;
      if (call === undefined) group[name] = () => 52;
      else group[name] = suspends ? this.suspending(call) : call;
    }
    return imports;
  }

  /** Makes a call that suspends the guest first, as a wait does. */
  private suspending(call: (...args: number[]) => number): (...args: number[]) => number {
    const times = this.options.suspensionsPerWait ?? 1;
    let saved: number[] = [];
    let left = 0;
    return (...args) => {
      const words = this.words();
      if (words[CONTROL.state] === 2) {
        words[CONTROL.state] = 0;
      } else {
        saved = args;
        left = times;
      }
      if (left === 0) return call(...saved);
      left--;
      if (this.suspensions < 32) this.frames = Math.max(this.frames, countFrames());
      this.suspensions++;
      words[CONTROL.state] = 1;
      return 0;
    };
  }

  private preempt(): void {
    if (this.layout === null) return this.options.refuel?.(this.exports);
    const words = this.words();
    if (words[CONTROL.state] === 2) words[CONTROL.state] = 0;
    words[CONTROL.fuel] = (words[CONTROL.fuel] as number) + 2 ** 30;
  }

  private functions(): Map<string, (...args: number[]) => number> {
    return new Map<string, (...args: number[]) => number>([
      [
        'args_sizes_get',
        (count, size) => this.pair(count, size, this.args.length, this.argBytes()),
      ],
      ['args_get', (pointers, bytes) => this.putArgs(pointers as number, bytes as number)],
      ['environ_sizes_get', (count, size) => this.pair(count, size, 0, 0)],
      ['environ_get', () => 0],
      [
        'clock_time_get',
        (_id, _precision, into) => {
          this.nowNs += 1000n;
          this.data().setBigUint64(into as number, this.nowNs, true);
          return 0;
        },
      ],
      ['random_get', (into, length) => this.putRandom(into as number, length as number)],
      ['fd_write', (fd, iovs, count, into) => this.write(fd, iovs, count, into)],
      ['fd_fdstat_get', (fd, into) => this.status(fd as number, into as number)],
      ['fd_prestat_get', () => 8],
      ['sched_yield', () => 0],
      [
        'proc_exit',
        () => {
          throw new Exit('exit');
        },
      ],
      ['poll_oneoff', (from, to, count, into) => this.poll(from, to, count, into)],
    ]);
  }

  private argBytes(): number {
    return this.args.reduce((sum, arg) => sum + arg.length + 1, 0);
  }

  private pair(first = 0, second = 0, a = 0, b = 0): number {
    this.data().setUint32(first, a, true);
    this.data().setUint32(second, b, true);
    return 0;
  }

  private putArgs(pointers: number, bytes: number): number {
    const data = this.data();
    let at = bytes;
    this.args.forEach((arg, index) => {
      data.setUint32(pointers + 4 * index, at, true);
      for (const byte of Buffer.from(`${arg}\0`)) data.setUint8(at++, byte);
    });
    return 0;
  }

  private putRandom(into: number, length: number): number {
    for (let index = 0; index < length; index++) {
      this.random = (Math.imul(this.random, 1103515245) + 12345) >>> 0;
      this.data().setUint8(into + index, this.random >>> 16);
    }
    return 0;
  }

  private write(fd = 0, iovs = 0, count = 0, into = 0): number {
    const data = this.data();
    let total = 0;
    for (let index = 0; index < count; index++) {
      const from = data.getUint32(iovs + 8 * index, true);
      const length = data.getUint32(iovs + 8 * index + 4, true);
      if (fd < 3)
        this.output += Buffer.from(this.memory.buffer, this.base + from, length).toString();
      total += length;
    }
    data.setUint32(into, total, true);
    return 0;
  }

  private status(fd: number, into: number): number {
    if (fd > 2) return 8;
    for (let index = 0; index < 24; index++) this.data().setUint8(into + index, 0);
    this.data().setUint8(into, 2);
    this.data().setBigUint64(into + 8, 0xffffffffn, true);
    return 0;
  }

  private poll(from = 0, to = 0, count = 0, into = 0): number {
    const data = this.data();
    for (let index = 0; index < count; index++) {
      const subscription = from + 48 * index;
      const event = to + 32 * index;
      const type = data.getUint8(subscription + 8);
      data.setBigUint64(event, data.getBigUint64(subscription, true), true);
      data.setUint16(event + 8, 0, true);
      data.setUint8(event + 10, type);
      if (type === 0) this.nowNs += data.getBigUint64(subscription + 24, true);
    }
    data.setUint32(into, count, true);
    return 0;
  }
}

/** Frames of compiled code under the caller, up to 200. */
function countFrames(): number {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 200;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = limit;
  return stack.split('\n').filter((line) => line.includes('wasm://')).length;
}
