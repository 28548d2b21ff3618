import type { EventKind } from '../../sim/index.ts';
import type { HostFunction } from '../runtime/host-set.ts';
import type { FunctionRow } from './functions.ts';
import type { Host } from './host.ts';

type Value = number | bigint;
type Call = (host: Host, ...args: Value[]) => number;

/** The prefix of the kinds of events that calls leave in the log. */
export const EVENT_PREFIX = 'wasi/';

/**
 * Makes a host function of a row: each call is begun, made, logged and paid for. One body for each
 * usual number of parameters, since rest parameters cost more than small calls do.
 */
export function bindFunction(
  host: Host,
  { name, parameters, costNs, method }: FunctionRow,
): HostFunction {
  const kind: EventKind = host.port.eventKind(EVENT_PREFIX + name);
  const call = method as Call;
  switch (parameters.length) {
    case 2:
      return (a, b) => {
        host.begin(kind, fold(fold(0, a as Value), b as Value), costNs);
        return host.end(call(host, a as Value, b as Value));
      };
    case 3:
      return (a, b, c) => {
        host.begin(kind, fold(fold(fold(0, a as Value), b as Value), c as Value), costNs);
        return host.end(call(host, a as Value, b as Value, c as Value));
      };
    case 4:
      return (a, b, c, d) => {
        const half = fold(fold(0, a as Value), b as Value);
        host.begin(kind, fold(fold(half, c as Value), d as Value), costNs);
        return host.end(call(host, a as Value, b as Value, c as Value, d as Value));
      };
    default:
      return (...args) => {
        host.begin(kind, args.reduce<number>(fold, 0), costNs);
        return host.end(call(host, ...args));
      };
  }
}

/** Mixes an argument into the digest of a call's inputs. */
function fold(digest: number, value: Value): number {
  let next = digest;
  if (typeof value === 'bigint') {
    next = mix(next, Number(BigInt.asIntN(32, value >> 32n)));
    return mix(next, Number(BigInt.asIntN(32, value)));
  }
  return mix(next, value);
}

function mix(digest: number, word: number): number {
  const mixed = Math.imul(digest ^ word, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
