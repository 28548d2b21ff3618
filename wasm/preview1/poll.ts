import {
  ERRNO,
  MONOTONIC_START_NS,
  READINESS,
  type Interest,
  type Readiness,
  type VirtualNs,
} from '../../sim/index.ts';
import {
  CLOCK,
  EVENT_BYTES,
  EVENT_HANGUP,
  EVENTTYPE,
  RIGHT,
  SUBSCRIPTION_BYTES,
  SUBSCRIPTION_CLOCK_ABSTIME,
} from './abi.ts';
import type { Descriptor } from './descriptors.ts';
import type { Host } from './host.ts';

/** Subscriptions of one call at most: more than there can be descriptors. */
export const SUBSCRIPTIONS_MAX = 2 ** 17;

/** Where the fields of a subscription are. */
const SUBSCRIPTION = { userdata: 0, tag: 8, clock: 16, fd: 16, timeout: 24, flags: 40 } as const;
const EVENT = { userdata: 0, error: 8, type: 10, bytes: 16, flags: 24 } as const;

/** What a subscription has come to: an event (`errno` 0 or not), or what it still waits for. */
type State =
  | {
      readonly ready: true;
      readonly errno: number;
      readonly bytes: number;
      readonly hangup: boolean;
    }
  | { readonly ready: false; readonly atNs: VirtualNs | null; readonly interest: Interest | null };

/**
 * Events in the order of their subscriptions. Waits until at least one subscription has an event:
 * a clock has reached its time, a descriptor is ready, or the subscription itself is wrong.
 * Relative timeouts count from the call.
 */
export function pollOneoff(
  host: Host,
  subscriptions: number,
  events: number,
  count: number,
  result: number,
): number {
  const { memory } = host;
  const total = count >>> 0;
  if (total === 0 || total > SUBSCRIPTIONS_MAX) return ERRNO.INVAL;
  const held =
    memory.holds(subscriptions, total * SUBSCRIPTION_BYTES) &&
    memory.holds(events, total * EVENT_BYTES) &&
    memory.holds(result, 4);
  if (!held) return ERRNO.FAULT;
  let written = 0;
  let deadlineNs: VirtualNs | null = null;
  const interests: Interest[] = [];
  for (let index = 0; index < total; index++) {
    const at = (subscriptions >>> 0) + index * SUBSCRIPTION_BYTES;
    const type = memory.u16(at + SUBSCRIPTION.tag) & 255;
    if (type > EVENTTYPE.FD_WRITE) return ERRNO.INVAL;
    const state = type === EVENTTYPE.CLOCK ? clockState(host, at) : descriptorState(host, at, type);
    if (state.ready) {
      writeEvent(host, (events >>> 0) + written * EVENT_BYTES, at, type, state);
      written++;
      continue;
    }
    if (state.atNs !== null && (deadlineNs === null || state.atNs < deadlineNs)) {
      deadlineNs = state.atNs;
    }
    if (state.interest !== null) interests.push(state.interest);
  }
  if (written === 0) return host.block({ deadlineNs, interests });
  memory.setU32(result, written);
  host.value = written;
  host.digest = memory.digest(events, written * EVENT_BYTES);
  return ERRNO.SUCCESS;
}

function failed(errno: number): State {
  return { ready: true, errno, bytes: 0, hangup: false };
}

const DUE: State = { ready: true, errno: ERRNO.SUCCESS, bytes: 0, hangup: false };

function clockState(host: Host, at: number): State {
  const { context, memory, port } = host;
  const id = memory.u32(at + SUBSCRIPTION.clock);
  const flags = memory.u16(at + SUBSCRIPTION.flags);
  if (id !== CLOCK.REALTIME && id !== CLOCK.MONOTONIC) return failed(ERRNO.INVAL);
  if ((flags & ~SUBSCRIPTION_CLOCK_ABSTIME) !== 0) return failed(ERRNO.INVAL);
  const timeout = memory.u64(at + SUBSCRIPTION.timeout);
  let atNs: VirtualNs;
  if (flags !== SUBSCRIPTION_CLOCK_ABSTIME) {
    atNs = port.deadlineFromMonotonic(BigInt(context.waitStartNs + MONOTONIC_START_NS) + timeout);
  } else if (id === CLOCK.MONOTONIC) {
    atNs = port.deadlineFromMonotonic(timeout);
  } else {
    atNs = port.deadlineFromRealtime(timeout);
  }
  if (atNs <= context.localNs()) return DUE;
  // The end of time never comes.
  return { ready: false, atNs: atNs === Number.MAX_SAFE_INTEGER ? null : atNs, interest: null };
}

function descriptorState(host: Host, at: number, type: number): State {
  const fd = host.memory.u32(at + SUBSCRIPTION.fd);
  const descriptor = host.descriptors.get(fd);
  if (descriptor === null) return failed(ERRNO.BADF);
  const reads = type === EVENTTYPE.FD_READ;
  const rights = RIGHT.POLL_FD_READWRITE | (reads ? RIGHT.FD_READ : RIGHT.FD_WRITE);
  if (descriptor.kind !== 'directory' && (descriptor.rights & rights) !== rights) {
    return failed(ERRNO.NOTCAPABLE);
  }
  return descriptor.kind === 'socket'
    ? socketState(host, descriptor.socket, reads ? 'read' : 'write')
    : {
        ready: true,
        errno: ERRNO.SUCCESS,
        bytes: readable(host, descriptor, reads),
        hangup: false,
      };
}

/** Files and consoles never make anybody wait; standard input is at its end. */
function readable(host: Host, descriptor: Descriptor, reads: boolean): number {
  if (!reads || descriptor.kind !== 'file') return 0;
  return Math.max(0, host.port.files.stat(descriptor.inode).size - descriptor.offset);
}

/** An end of stream makes a socket readable, an error ready for both. */
function socketState(host: Host, socket: number, readiness: Readiness): State {
  const { sockets } = host.port;
  const { READABLE, WRITABLE, HANGUP, ERROR } = READINESS;
  const bits = sockets.readiness(socket);
  const reads = readiness === 'read';
  const wanted = reads ? READABLE | HANGUP | ERROR : WRITABLE | ERROR;
  if ((bits & wanted) === 0) return { ready: false, atNs: null, interest: { socket, readiness } };
  let bytes = reads ? sockets.readableBytes(socket) : sockets.writableBytes(socket);
  if (reads && bytes <= 0) bytes = sockets.pendingConnections(socket);
  const hangup = (bits & (HANGUP | ERROR)) !== 0;
  return { ready: true, errno: ERRNO.SUCCESS, bytes: Math.max(0, bytes), hangup };
}

function writeEvent(
  { memory }: Host,
  address: number,
  subscription: number,
  type: number,
  state: State & { readonly ready: true },
): void {
  memory.view(address, EVENT_BYTES).fill(0);
  memory.setU64(address + EVENT.userdata, memory.u64(subscription + SUBSCRIPTION.userdata));
  memory.setU16(address + EVENT.error, state.errno);
  memory.setU8(address + EVENT.type, type);
  if (state.bytes > 0) memory.setSize(address + EVENT.bytes, state.bytes);
  if (state.hangup) memory.setU16(address + EVENT.flags, EVENT_HANGUP);
  memory.touched(address, EVENT_BYTES);
}
