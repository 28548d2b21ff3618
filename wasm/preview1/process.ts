import { ERRNO } from '../../sim/index.ts';
import { CLOCK } from './abi.ts';
import { bytesNs } from './costs.ts';
import type { Host } from './host.ts';

/** Clocks count nanoseconds. The clocks of processor time do not exist (errno INVAL). */
export function clockResGet(host: Host, id: number, result: number): number {
  if (id !== CLOCK.REALTIME && id !== CLOCK.MONOTONIC) return ERRNO.INVAL;
  if (!host.memory.holds(result, 8)) return ERRNO.FAULT;
  host.memory.setSize(result, 1);
  return ERRNO.SUCCESS;
}

/** The log keeps the lowest 51 bits of a time: results have fewer than 53. */
const LOGGED_NS_MAX = 2 ** 51;

/** The time is exact, whatever precision is asked for. */
export function clockTimeGet(host: Host, id: number, _precision: bigint, result: number): number {
  const { memory, port } = host;
  if (!memory.holds(result, 8)) return ERRNO.FAULT;
  if (id === CLOCK.MONOTONIC) {
    const ns = port.monotonicNs();
    memory.setSize(result, ns);
    host.value = ns % LOGGED_NS_MAX;
  } else if (id === CLOCK.REALTIME) {
    const ns = port.realtimeNs();
    memory.setU64(result, ns);
    host.value = Number(BigInt.asUintN(51, ns));
  } else {
    return ERRNO.INVAL;
  }
  return ERRNO.SUCCESS;
}

export function randomGet(host: Host, buffer: number, length: number): number {
  const { memory, port } = host;
  if (!memory.holds(buffer, length)) return ERRNO.FAULT;
  if (length === 0) return ERRNO.SUCCESS;
  port.entropy(memory.view(buffer, length));
  memory.touched(buffer, length);
  host.digest = memory.digest(buffer, length);
  host.value = length >>> 0;
  host.charge(bytesNs(length >>> 0));
  return ERRNO.SUCCESS;
}

/** Other guests run by virtual time anyway: all it does is to take some. */
export function schedYield(): number {
  return ERRNO.SUCCESS;
}

/** Signals of preview 1 whose default action is to do nothing: none, chld, cont, urg, winch. */
const IGNORED: ReadonlySet<number> = new Set([0, 16, 17, 22, 27]);
/** Those that stop a process: stop, tstp, ttin, ttou. Nobody could let it go on. */
const STOPPING: ReadonlySet<number> = new Set([18, 19, 20, 21]);
const SIGNAL_LAST = 30;

/** A signal that ends the guest gives the exit code 128 + its number, as a shell reports it. */
export function procRaise(host: Host, signal: number): number {
  if (signal < 0 || signal > SIGNAL_LAST) return ERRNO.INVAL;
  if (IGNORED.has(signal)) return ERRNO.SUCCESS;
  if (STOPPING.has(signal)) return ERRNO.NOTSUP;
  host.descriptors.closeAll();
  host.log();
  return host.context.exit(128 + signal);
}

export function procExit(host: Host, code: number): number {
  host.descriptors.closeAll();
  host.log();
  return host.context.exit(code >>> 0);
}
