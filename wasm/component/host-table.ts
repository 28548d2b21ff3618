import { functionType, type Blocked, type FunctionType } from './abi/function.ts';
import type { Resource } from './abi/handles.ts';
import type { HandleValue } from './abi/handle-table.ts';
import type { Type, ValueOf } from './abi/type.ts';
import type { WasiHost } from './wasi/wasi-host.ts';

/** A function that the host offers, with its signature. */
export interface HostFunctionRow {
  /** As in the component: `get-stdin`, `[method]pollable.ready`. */
  readonly name: string;
  readonly type: FunctionType;
  /** Whether it can make the guest wait. */
  readonly blocks: boolean;
  /** What a call takes; null for what its interface's calls take. */
  readonly costNs: number | null;
  run(host: WasiHost, values: readonly unknown[]): unknown;
}

/** A resource that the host offers, with what happens when the guest drops its last handle. */
export interface HostResourceRow {
  readonly name: string;
  drop(host: WasiHost, value: HandleValue): void;
}

export interface HostInterface {
  /** Without version: `wasi:io/streams`. */
  readonly name: string;
  /** What a call takes unless its row says otherwise; moving bytes comes on top. */
  readonly costNs: number;
  /** Versions that are offered, if they are not those of WASI. */
  readonly versions?: RegExp;
  readonly functions: readonly HostFunctionRow[];
  readonly resources: readonly HostResourceRow[];
}

type Values<P extends readonly Type<unknown>[]> = { [K in keyof P]: ValueOf<P[K]> };

interface RowOptions<P extends readonly Type<unknown>[], R> {
  readonly params: P;
  readonly result: Type<R>;
  readonly costNs?: number | null;
  readonly run: (host: WasiHost, ...values: Values<P>) => R;
}

interface BlockingRowOptions<P extends readonly Type<unknown>[], R> {
  readonly params: P;
  readonly result: Type<R>;
  readonly run: (host: WasiHost, ...values: Values<P>) => R | Blocked;
}

interface VoidRowOptions<P extends readonly Type<unknown>[]> {
  readonly params: P;
  readonly run: (host: WasiHost, ...values: Values<P>) => void;
}

interface BlockingVoidRowOptions<P extends readonly Type<unknown>[]> {
  readonly params: P;
  readonly run: (host: WasiHost, ...values: Values<P>) => Blocked | undefined;
}

type AnyRun = (host: WasiHost, ...values: readonly unknown[]) => unknown;

function makeRow<P extends readonly Type<unknown>[]>(
  name: string,
  type: FunctionType,
  run: (host: WasiHost, ...values: Values<P>) => unknown,
  { blocks = false, costNs = null }: { blocks?: boolean; costNs?: number | null },
): HostFunctionRow {
  // The values come from lifting by `type`, whose parameters are those of `run`.
  const anyRun = run as unknown as AnyRun;
  return { name, type, blocks, costNs, run: (host, values) => anyRun(host, ...values) };
}

/** A function that never waits. */
export function row<const P extends readonly Type<unknown>[], R>(
  name: string,
  { params, result, costNs = null, run }: RowOptions<P, R>,
): HostFunctionRow {
  return makeRow(name, functionType(params, result), run, { costNs });
}

/** A function that may wait: it returns `BLOCKED` and is then called again. */
export function blockingRow<const P extends readonly Type<unknown>[], R>(
  name: string,
  { params, result, run }: BlockingRowOptions<P, R>,
): HostFunctionRow {
  return makeRow(name, functionType(params, result), run, { blocks: true });
}

/** A function without result. */
export function voidRow<const P extends readonly Type<unknown>[]>(
  name: string,
  { params, run }: VoidRowOptions<P>,
): HostFunctionRow {
  return makeRow(name, functionType(params, null), run, {});
}

/** A function without result that may wait. */
export function blockingVoidRow<const P extends readonly Type<unknown>[]>(
  name: string,
  { params, run }: BlockingVoidRowOptions<P>,
): HostFunctionRow {
  return makeRow(name, functionType(params, null), run, { blocks: true });
}

/** A resource; most hold nothing that must be given back. */
export function resourceRow<T extends HandleValue>(
  of: Resource<T>,
  drop?: (host: WasiHost, value: T) => void,
): HostResourceRow {
  return { name: of.name, drop: (host, value) => drop?.(host, value as T) };
}
