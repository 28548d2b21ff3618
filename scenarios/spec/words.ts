/**
 * `athanor/spec`: the words of specs, as types. What stands behind them is the realm that `sim test` runs
 * bodies in (see model/realm/words.js); a spec that is run by anything else is told so by its first word.
 */
import { SimError } from '../../sim/index.ts';

/** A service that was declared: what faults, dependencies and connections refer to. */
export interface Service {
  readonly declared: 'service';
  readonly name: string;
}

/** A named set of faults that was declared. */
export interface FaultAssumption {
  readonly declared: 'assumption';
  readonly name: string;
}

/** A scenario that was declared. */
export interface Scenario {
  readonly declared: 'scenario';
  readonly name: string;
}

/** A span such as `10s`, `250ms` or `5us`. */
export type Span = string;

/** What a test or a service does; it may wait. */
export type Body = () => unknown;

/** A full machine (docs/machines.md): its kernel and initial file system are files beside the spec. */
export interface MachineGuest {
  readonly kernel: string;
  readonly initrd?: string;
  readonly command_line?: string;
  readonly memory_mib?: number;
  readonly cpus?: number;
  readonly type?: 'microvm' | 'q35';
  readonly shift?: number;
  readonly disks?: readonly ({ readonly size: string } | { readonly image: string })[];
  readonly ready?: 'bell' | Readonly<Record<string, string | number>>;
  readonly ready_within?: Span;
}

/** The program of a service: one of athanor's own, a file beside the spec, or one of the other kinds. */
export type Guest =
  | { readonly builtin: string }
  | { readonly wasm: string }
  | { readonly machine: MachineGuest }
  | Readonly<Record<string, string | number>>;

export interface ServiceOptions {
  /** A compiled program. Either this or `body` is needed to run. */
  readonly guest?: Guest;
  /** What the service does, in the spec itself. */
  readonly body?: Body;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files on its disk before it starts. */
  readonly file?: readonly {
    readonly path: string;
    readonly text?: string;
    readonly source?: string;
  }[];
  readonly ports?: Readonly<
    Record<string, number | { readonly port?: number; readonly protocol?: string }>
  >;
  readonly dependsOn?: readonly (Service | string)[];
}

/** A fault, as the event of a scenario that it becomes (see docs/scenarios.md); `at` is `0s` if left out. */
export interface FaultRule {
  readonly do?: string;
  readonly at?: Span;
  /** `exhaustive` tries each of the first `max_fires` occurrences both ways: 2^N leaves. */
  readonly mode?: 'exhaustive' | 'stochastic';
  readonly max_fires?: number;
  readonly [option: string]: unknown;
}

export interface FaultAssumptionOptions {
  /** A service, a link `a->b`, or several of them. */
  readonly target: Service | string | readonly (Service | string)[];
  readonly rules: readonly FaultRule[];
}

/** What a body is to come to. */
export type Outcome = 'passes' | 'fails';

export interface ScenarioOptions {
  /** Virtual time after which the run is cut off: `inconclusive`. */
  readonly timeout?: Span;
  /** `fails` where the body is expected to fail. */
  readonly expect?: Outcome;
}

export interface TestOptions extends ScenarioOptions {
  readonly faults?: readonly (FaultAssumption | string)[];
}

export interface FaultScenarioOptions extends TestOptions {
  readonly scenario: Scenario | string;
  readonly faults: readonly (FaultAssumption | string)[];
}

/** One cell of a matrix. */
export interface MatrixCell {
  readonly scenario: Scenario | string;
  readonly fault: FaultAssumption | string;
}

export interface FaultMatrixOptions extends ScenarioOptions {
  readonly scenarios: readonly (Scenario | string)[];
  readonly faults: readonly (FaultAssumption | string)[];
  /** Cells that expect something of their own. */
  readonly overrides?: readonly (MatrixCell & { readonly expect?: Outcome })[];
  /** Cells that are not run. */
  readonly exclude?: readonly MatrixCell[];
}

export interface DeterminismOptions {
  readonly level?: 'L0' | 'L1' | 'L2' | 'L3' | 'L4' | 'L5';
  readonly runtime?: string;
  readonly strict?: boolean;
  /** The seed of runs that are given none. */
  readonly seed?: number;
}

/** Which orders of `parallel` are leaves: all, 2N - 1, those that can differ, or the first so many. */
export interface ParallelOptions {
  readonly interleavings?: 'all' | 'critical' | 'dpor' | number;
  /**
   * `launch` orders the starts of branches, 2 ms apart; `event` each of their steps with all that comes of
   * it, for `all` and `dpor`. Left out it is `event` for `dpor`.
   */
  readonly level?: 'launch' | 'event';
}

/** Something that goes on: a function that starts it, or what it promised. */
export type Branch<T> = (() => T | PromiseLike<T>) | PromiseLike<T>;

/** What a branch ends with. */
export type BranchResult<B> = Awaited<B extends () => infer T ? T : B>;

/** What each of several branches ends with, in their order. */
export type BranchResults<B extends readonly unknown[]> = {
  -readonly [index in keyof B]: BranchResult<B[index]>;
};

/** A TCP connection on the simulated network. */
export interface Connection {
  /** Resolves when all has been handed to the network, not when it has arrived. */
  send(data: string | Uint8Array): Promise<void>;
  /** The next bytes that came, or null at the end of the stream. */
  receive(): Promise<Uint8Array | null>;
  /** The next bytes as text, or null at the end of the stream. */
  receiveText(): Promise<string | null>;
  close(): void;
}

/** A port that is listened on. */
export interface Listener {
  /** The next connection that came. */
  accept(): Promise<Connection>;
  close(): void;
}

// ---- Declarations ----

/** What the spec asks of the simulator (FB-68), and its own seed. */
export function determinism(options: DeterminismOptions): void {
  outside('determinism', options);
}

/** Declares a service: a node of every run. */
export function service(name: string, options?: ServiceOptions): Service {
  return outside('service', name, options);
}

/** Declares faults under a name. They happen in the tests that name it. */
export function faultAssumption(name: string, options: FaultAssumptionOptions): FaultAssumption {
  return outside('faultAssumption', name, options);
}

/** Declares a body that runs on its own, and that matrices and fault scenarios run under faults. */
export function scenario(name: string, body: Body): Scenario;
export function scenario(name: string, options: ScenarioOptions, body: Body): Scenario;
export function scenario(name: string, ...rest: readonly unknown[]): Scenario {
  return outside('scenario', name, rest);
}

/** Declares a test. */
export function test(name: string, body: Body): void;
export function test(name: string, options: TestOptions, body: Body): void;
export function test(name: string, ...rest: readonly unknown[]): void {
  outside('test', name, rest);
}

/** Declares a scenario under all of its faults at once. */
export function faultScenario(name: string, options: FaultScenarioOptions): void {
  outside('faultScenario', name, options);
}

/** Declares each scenario under each of the faults. */
export function faultMatrix(options: FaultMatrixOptions): void {
  outside('faultMatrix', options);
}

// ---- Words of bodies ----

/** One of the options; each is a leaf. Without a name it is the first of them. */
export function choose<const T>(name: string, options: readonly T[]): T;
export function choose<const T>(options: readonly T[]): T;
export function choose<T>(...args: readonly unknown[]): T {
  return outside('choose', args);
}

/** Starts branches in an order that is an axis of the leaf, and waits for all of them. */
export function parallel<const B extends readonly Branch<unknown>[]>(
  ...branches: B
): Promise<BranchResults<B>>;
export function parallel<const B extends readonly Branch<unknown>[]>(
  ...args: readonly [...B, ParallelOptions]
): Promise<BranchResults<B>>;
export function parallel(...args: readonly unknown[]): Promise<never> {
  return outside('parallel', args);
}

/** Waits for all branches; rejects with the first that fails. */
export function waitAll<const B extends readonly Branch<unknown>[]>(
  ...branches: B
): Promise<BranchResults<B>> {
  return outside('waitAll', branches);
}

/** Waits for the first branch that ends, well or not. */
export function waitFirst<const B extends readonly Branch<unknown>[]>(
  ...branches: B
): Promise<BranchResult<B[number]>> {
  return outside('waitFirst', branches);
}

/** Waits for `count` branches to end well, in the order in which they do; rejects when too many fail. */
export function waitN<const B extends readonly Branch<unknown>[]>(
  count: number,
  ...branches: B
): Promise<BranchResult<B[number]>[]> {
  return outside('waitN', count, branches);
}

/** Ends the leaf without a verdict: `halted`. */
export function halt(reason: string): never {
  return outside('halt', reason);
}

/** Ends the leaf without a verdict, `filtered`, unless it is what the test assumes. */
export function assume(holds: unknown): asserts holds {
  outside('assume', holds);
}

/** Fails the leaf unless the condition holds. */
export function assert(holds: unknown, message?: string): asserts holds {
  outside('assert', holds, message);
}

/** Fails the leaf unless both are the same, or have the same JSON whatever the order of keys. */
export function assertEqual<T>(actual: T, expected: NoInfer<T>, message?: string): void {
  outside('assertEqual', actual, expected, message);
}

/** Waits for so many milliseconds of the node's clock. */
export function sleep(ms: number): Promise<void> {
  return outside('sleep', ms);
}

/** Connects to a service, or to a node by its name. Throws an Error when it is refused. */
export function connect(host: Service | string, port: number): Promise<Connection> {
  return outside('connect', host, port);
}

/** Listens on a port of the node. */
export function listen(port: number): Listener {
  return outside('listen', port);
}

/** One answer of a scripted server. */
export interface FaultAnswer {
  /** 200 if left out. */
  readonly status?: number;
  /** A text, or what is sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Passes before anything is done. */
  readonly delay_ms?: number;
  /** Closes the connection without an answer. */
  readonly reset?: boolean;
  /** So many requests get it; 1 if left out. */
  readonly repeat?: number;
  /** Hands the request to the upstream, and its answer back. */
  readonly forward?: boolean;
}

export interface FaultServerOptions {
  readonly port: number;
  /** `host:port` of the server behind. */
  readonly upstream?: string;
  /** For paths without a queue, and behind spent ones; if left out the upstream, else 404. */
  readonly default?: FaultAnswer;
  /** A queue of answers for each exact path; a request takes the next one. */
  readonly paths?: Readonly<Record<string, readonly FaultAnswer[]>>;
}

/**
 * The body of a service that answers HTTP by a script. `GET /__faults/log` is what it was asked and did, as JSON,
 * any request to `/__faults/reset` begins the script and the log anew. Throws a TypeError for a wrong script.
 */
export function faultServer(options: FaultServerOptions): Body {
  return outside('faultServer', options);
}

/** A file of the node's disk, at most 16 MiB. Throws an Error when there is none. */
export function readFile(path: string): Uint8Array {
  return outside('readFile', path);
}

/** Writes a file of the node's disk whole; it is not synced. */
export function writeFile(path: string, data: string | Uint8Array): void {
  outside('writeFile', path, data);
}

/** What every word does in a process that is not the simulator's. Throws `usage/spec`. */
function outside(word: string, ...args: readonly unknown[]): never {
  const name = typeof args[0] === 'string' ? JSON.stringify(args[0]) : '';
  throw new SimError({
    code: 'usage/spec',
    message: `${word}(${name}) of athanor/spec was called outside the simulator: specs are run by sim test`,
    remedy: 'run the spec with sim test FILE, see its leaves with sim plan FILE',
  });
}
