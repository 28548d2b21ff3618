import { COST_NS } from '../../preview1/costs.ts';
import { own } from '../abi/handles.ts';
import { BOOL, S32, U32, U64 } from '../abi/primitives.ts';
import { record } from '../abi/products.ts';
import { STRING } from '../abi/sequences.ts';
import type { ValueOf } from '../abi/type.ts';
import { row, type HostInterface } from '../host-table.ts';
import { POLLABLE, type Pollable } from './resources.ts';

export const DATETIME = record({ seconds: U64, nanoseconds: U32 });
export type Datetime = ValueOf<typeof DATETIME>;

const NS_PER_SECOND = 1_000_000_000n;
const INSTANT_MAX = 2n ** 64n - 1n;

export function datetime(ns: bigint): Datetime {
  return { seconds: ns / NS_PER_SECOND, nanoseconds: Number(ns % NS_PER_SECOND) };
}

export function datetimeNs(value: Datetime): bigint {
  return value.seconds * NS_PER_SECOND + BigInt(value.nanoseconds);
}

function atInstant(atNs: bigint): Pollable {
  return { on: 'clock', atNs: atNs < INSTANT_MAX ? atNs : INSTANT_MAX };
}

export const MONOTONIC_CLOCK: HostInterface = {
  name: 'wasi:clocks/monotonic-clock',
  costNs: COST_NS.clock,
  resources: [],
  functions: [
    row('now', {
      params: [],
      result: U64,
      run: (host) => BigInt(host.port.monotonicNs()),
    }),
    row('resolution', { params: [], result: U64, run: () => 1n }),
    row('subscribe-instant', {
      params: [U64],
      result: own(POLLABLE),
      run: (_, when) => atInstant(when),
    }),
    row('subscribe-duration', {
      params: [U64],
      result: own(POLLABLE),
      run: (host, duration) => atInstant(BigInt(host.port.monotonicNs()) + duration),
    }),
  ],
};

export const WALL_CLOCK: HostInterface = {
  name: 'wasi:clocks/wall-clock',
  costNs: COST_NS.clock,
  resources: [],
  functions: [
    row('now', {
      params: [],
      result: DATETIME,
      run: (host) => datetime(host.port.realtimeNs()),
    }),
    row('resolution', { params: [], result: DATETIME, run: () => datetime(1n) }),
  ],
};

/** Every node lives in UTC. */
export const TIMEZONE: HostInterface = {
  name: 'wasi:clocks/timezone',
  costNs: COST_NS.clock,
  resources: [],
  functions: [
    row('display', {
      params: [DATETIME],
      result: record({ 'utc-offset': S32, name: STRING, 'in-daylight-saving-time': BOOL }),
      run: () => ({ 'utc-offset': 0, name: 'UTC', 'in-daylight-saving-time': false }),
    }),
    row('utc-offset', { params: [DATETIME], result: S32, run: () => 0 }),
  ],
};
