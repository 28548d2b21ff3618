import {
  beginResult,
  ORDER_BRANCHES_MAX,
  digest32,
  encodeUtf8,
  ERRNO,
  errnoName,
  interleavingCount,
  interleavingOrder,
  ORDER_EVENTS,
  ROOT,
  SimError,
  stepResult,
  TOUCH,
  type GuestPort,
  type Interleavings,
} from '../../sim/index.ts';

/** No call of a body moves more bytes at once. */
const PIECE_BYTES_MAX = 64 * 1024;
/** A file that a body reads or writes is at most this long. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
/**
 * Between the starts of `parallel`'s branches: above what a packet takes on a link of the default
 * network, so that an order of launches is also an order of arrivals.
 */
export const PARALLEL_GAP_NS = 2_000_000;
/** A body's choice has at most so many options. */
const OPTIONS_MAX = 1_000_000;
const NAME_LENGTH_MAX = 1_000;

type Operation = (...args: never[]) => unknown;

/** Hears what a body does, for whoever runs it: no run depends on it. */
export interface BodyWatcher {
  /** It asserted something, that holds or not. */
  readonly asserted: () => void;
  /** It looked at a clock, or set a timer; `ordered` within branches whose steps are ordered. */
  readonly timed: (ordered: boolean) => void;
}

/** What the realm throws as an Error in the body. */
class Refusal extends Error {}

/**
 * What a body can do to its world: each operation acts on the guest's port at its present time and
 * answers plain data. Choices and orders are decisions.
 */
export class ModelHost {
  private readonly port: GuestPort;
  private readonly operations: ReadonlyMap<string, Operation>;
  private readonly watcher: BodyWatcher;

  constructor(port: GuestPort, watcher: BodyWatcher) {
    this.port = port;
    this.watcher = watcher;
    this.operations = new Map<string, Operation>([
      [
        'monotonic',
        (ordered: boolean) => {
          this.clock(ordered);
          return port.monotonicNs();
        },
      ],
      [
        'realtime',
        (ordered: boolean) => {
          this.clock(ordered);
          return Number(port.realtimeNs() / 1_000_000n);
        },
      ],
      ['random', () => this.random()],
      [
        'console',
        (descriptor: 1 | 2, text: string) => {
          port.console(descriptor, new TextEncoder().encode(text));
          return null;
        },
      ],
      ['asserted', () => watcher.asserted()],
      [
        'overflow',
        () => {
          throw stackError();
        },
      ],
      ['choose', (name: string, count: number) => this.choose(name, count)],
      [
        'order',
        (number: number, branches: number, policy: unknown) => this.order(number, branches, policy),
      ],
      [
        'group',
        (number: number, branches: number, policy: unknown, shared: readonly number[] | null) =>
          this.group(number, branches, policy, shared),
      ],
      ['cut', () => this.touch('', TOUCH.cut)],
      ['gap', () => PARALLEL_GAP_NS],
      ['connect', (host: string, number: number) => this.connect(host, number)],
      ['connected', (socket: number) => this.connected(socket)],
      ['listen', (number: number, ordered: boolean) => this.listen(number, ordered)],
      ['accept', (socket: number) => this.accept(socket)],
      ['send', (socket: number, data: string) => this.send(socket, data)],
      ['receive', (socket: number) => this.receive(socket)],
      [
        'close',
        (socket: number) => {
          port.sockets.close(socket);
          return null;
        },
      ],
      ['readFile', (path: string, ordered: boolean) => this.readFile(path, ordered)],
      [
        'writeFile',
        (path: string, data: string, ordered: boolean) => this.writeFile(path, data, ordered),
      ],
    ]);
  }

  /** Answers an operation of the realm: JSON of `{ value }` or of `{ error }`. */
  answer(name: string, args: string): string {
    const operation = this.operations.get(name) as (...args: unknown[]) => unknown;
    try {
      return JSON.stringify({ value: operation(...(JSON.parse(args) as unknown[])) ?? null });
    } catch (error) {
      if (error instanceof Refusal) return JSON.stringify({ error: error.message });
      throw error;
    }
  }

  /** The branch that goes on, of those that can: a decision. */
  step(number: number, branches: readonly number[]): number {
    const place = this.port.choose(`parallel#${number}/step`, branches.length);
    const branch = branches[place] as number;
    this.log(ORDER_EVENTS.step, branch, stepResult(branches, this.port.isSettled()));
    return branch;
  }

  /** A step began because its time had come: what was before it had a part in that. */
  due(): void {
    this.touch('', TOUCH.everything);
  }

  /** The body goes on after its branches. */
  join(number: number): void {
    this.log(ORDER_EVENTS.end, number, stepResult([], this.port.isSettled()));
  }

  private log(kind: string, input: number, result: number): void {
    this.port.effect(this.port.eventKind(kind), input, result);
  }

  /** A body looks at a clock, or sets a timer: `ordered` within branches whose steps are ordered. */
  private clock(ordered: boolean): void {
    this.watcher.timed(ordered);
    if (ordered) this.touch('', TOUCH.everything);
  }

  /** A step touches something that no other event tells of. */
  private touch(what: string, how: number): void {
    this.log(ORDER_EVENTS.touch, digest32(encodeUtf8(what)), how);
  }

  /** Branches whose steps are ordered begin; without `shared` all of them may share memory. */
  private group(
    number: number,
    branches: number,
    policy: unknown,
    shared: readonly number[] | null,
  ): void {
    if (policy !== 'dpor' && policy !== 'all') {
      const shown = JSON.stringify(policy);
      throw new Refusal(
        `interleavings ${shown} is of launches; of events there are "dpor" and "all"`,
      );
    }
    if (branches > ORDER_BRANCHES_MAX) {
      throw new Refusal(
        `parallel() orders the steps of ${branches} branches, more than ${ORDER_BRANCHES_MAX}`,
      );
    }
    const all = Array.from({ length: branches }, (_, branch) => branch);
    this.log(ORDER_EVENTS.begin, number, beginResult(shared ?? all, policy === 'all'));
  }

  private random(): number {
    const bytes = new Uint8Array(8);
    this.port.entropy(bytes);
    const view = new DataView(bytes.buffer);
    return (view.getUint32(0) * 2 ** 21 + (view.getUint32(4) >>> 11)) / 2 ** 53;
  }

  private choose(name: string, count: number): number {
    if (name.length > NAME_LENGTH_MAX) {
      throw new Refusal(`the name of a choice has more than ${NAME_LENGTH_MAX} letters`);
    }
    // Where the text does not tell it: the orders of `parallel` have these names.
    if (/^parallel#/.test(name)) throw new Refusal(`choose("${name}") has the name of an order`);
    if (!(Number.isInteger(count) && count >= 1 && count <= OPTIONS_MAX)) {
      throw new Refusal(`choose("${name}") has ${count} options, expected 1 to ${OPTIONS_MAX}`);
    }
    return this.port.choose(name, count);
  }

  /** The order in which branches start, first to last. */
  private order(number: number, branches: number, policy: unknown): readonly number[] {
    const name = `parallel#${number}`;
    const plain = Array.from({ length: branches }, (_, branch) => branch);
    if (policy === 1) return plain;
    if (!isPolicy(policy))
      throw new Refusal(`interleavings ${JSON.stringify(policy)} is no policy`);
    const count = interleavingCount(branches, policy);
    if (count > OPTIONS_MAX)
      throw new Refusal(`${name} has ${count} orders, more than ${OPTIONS_MAX}`);
    return interleavingOrder(branches, policy, this.port.choose(name, count));
  }

  private connect(host: string, number: number): number {
    const { sockets } = this.port;
    checkText(host, 'the host of connect()');
    checkPort(number, 'connect()');
    const [address] = sockets.resolve(host);
    if (address === undefined) throw new Refusal(`no node is called "${host}"`);
    const socket = this.check(sockets.open('tcp'), 'open a socket');
    const result = sockets.connect(socket, address, number);
    if (result < 0 && result !== -ERRNO.INPROGRESS)
      this.fail(result, `connect to ${host}:${number}`);
    return socket;
  }

  private connected(socket: number): boolean {
    const result = this.port.sockets.connectResult(socket);
    if (result === -ERRNO.INPROGRESS) return false;
    this.check(result, 'connect');
    return true;
  }

  private listen(number: number, ordered: boolean): number {
    const { sockets } = this.port;
    checkPort(number, 'listen()');
    if (ordered) this.touch(`port ${number}`, TOUCH.write);
    const socket = this.check(sockets.open('tcp'), 'open a socket');
    this.check(sockets.bind(socket, 0, number), `listen on port ${number}`);
    this.check(sockets.listen(socket, 128), `listen on port ${number}`);
    return socket;
  }

  private accept(socket: number): number | null {
    const result = this.port.sockets.accept(socket);
    return result === -ERRNO.AGAIN ? null : this.check(result, 'accept');
  }

  private send(socket: number, data: string): number {
    const bytes = Buffer.from(data.slice(0, PIECE_BYTES_MAX), 'latin1');
    const result = this.port.sockets.send(socket, bytes);
    return result === -ERRNO.AGAIN ? 0 : this.check(result, 'send');
  }

  private receive(socket: number): string | null {
    const bytes = Buffer.alloc(PIECE_BYTES_MAX);
    const result = this.port.sockets.receive(socket, bytes, false);
    if (result === -ERRNO.AGAIN) return null;
    return bytes.subarray(0, this.check(result, 'receive')).toString('latin1');
  }

  private readFile(path: string, ordered: boolean): string {
    const { files } = this.port;
    checkText(path, 'the path of readFile()');
    if (ordered) this.touch(parts(path).join('/'), TOUCH.read);
    const inode = this.check(this.lookUp(parts(path)), `read ${path}`);
    const { size } = files.stat(inode);
    if (size > FILE_BYTES_MAX) throw new Refusal(`${path} has ${size} bytes`);
    const bytes = Buffer.alloc(size);
    this.check(files.read(inode, 0, bytes), `read ${path}`);
    return bytes.toString('latin1');
  }

  private writeFile(path: string, data: string, ordered: boolean): null {
    const { files } = this.port;
    checkText(path, 'the path of writeFile()');
    if (data.length > FILE_BYTES_MAX) throw new Refusal(`${path} has ${data.length} bytes`);
    if (ordered) this.touch(parts(path).join('/'), TOUCH.write);
    const names = parts(path);
    const name = names.pop() ?? '';
    const folder = this.check(this.lookUp(names), `write ${path}`);
    const nowNs = this.port.realtimeNs();
    let inode = files.lookup(folder, name);
    if (inode < 0) inode = this.check(files.createFile(folder, name, nowNs), `write ${path}`);
    this.check(files.truncate(inode, 0, nowNs), `write ${path}`);
    this.check(files.write(inode, 0, Buffer.from(data, 'latin1'), nowNs), `write ${path}`);
    return null;
  }

  private lookUp(names: readonly string[]): number {
    let inode: number = ROOT;
    for (const name of names) {
      if (inode >= 0) inode = this.port.files.lookup(inode, name);
    }
    return inode;
  }

  private check(result: number, what: string): number {
    return result < 0 ? this.fail(result, what) : result;
  }

  private fail(result: number, what: string): never {
    throw new Refusal(`cannot ${what}: ${errnoName(-result)}`);
  }
}

/** How deep calls can nest is decided by the host's stack, so it can be no result of the run. */
export function stackError(): SimError {
  return new SimError({
    code: 'guest/stack',
    message: "calls of a body nest deeper than the host's stack, which decides nothing here",
    remedy: 'end the recursion, or turn it into a loop',
  });
}

function checkText(value: unknown, what: string): void {
  if (typeof value !== 'string') throw new Refusal(`${what} is no text`);
}

function checkPort(value: unknown, what: string): void {
  const isPort = typeof value === 'number' && Number.isInteger(value) && value >= 1;
  if (!isPort || value > 65_535) throw new Refusal(`${what} takes a port from 1 to 65535`);
}

function parts(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

function isPolicy(policy: unknown): policy is Interleavings {
  if (policy === 'all' || policy === 'critical') return true;
  return typeof policy === 'number' && Number.isInteger(policy) && policy >= 1;
}
