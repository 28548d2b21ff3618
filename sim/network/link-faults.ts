import type { Decisions } from '../kernel/decision.ts';
import type { Stream } from '../kernel/stream.ts';
import { MILLION, NS_PER_S, type Millionths, type VirtualNs } from '../kernel/units.ts';
import type { LinkFaultsDef } from '../plan/faults.ts';
import { DROP } from './drop.ts';
import {
  headerBytes,
  ipHeaderBytes,
  PROTOCOL_ETHERNET,
  PROTOCOL_TCP,
  type Packet,
} from './packet.ts';

/** Names of the streams of a link's decisions, after `link/<from>/<to>/`. */
export const LINK_STREAMS = [
  'loss',
  'jitter',
  'burst',
  'burst-loss',
  'red',
  'duplicate',
  'duplicate-gap',
  'reorder',
  'reorder-delay',
  'corrupt',
  'corrupt-undetected',
  'corrupt-bit',
] as const;
export type LinkStream = (typeof LINK_STREAMS)[number];

/** The decisions of one link, each on a stream of its own name; made when first used (CR-60). */
export class LinkDecisions {
  private readonly prefix: string;
  private readonly streams = new Map<LinkStream, Stream>();

  /** `name` is `<from>/<to>` in node names. */
  constructor(name: string) {
    this.prefix = `link/${name}/`;
  }

  chance(decisions: Decisions, name: LinkStream, atNs: VirtualNs, chance: Millionths): boolean {
    return chance > 0 && decisions.decideChance(this.stream(decisions, name), atNs, chance);
  }

  /** One of 0 to `arity` - 1. */
  choose(decisions: Decisions, name: LinkStream, atNs: VirtualNs, arity: number): number {
    return decisions.decide(this.stream(decisions, name), atNs, arity);
  }

  private stream(decisions: Decisions, name: LinkStream): Stream {
    let stream = this.streams.get(name);
    if (stream === undefined) {
      stream = decisions.stream(this.prefix + name);
      this.streams.set(name, stream);
    }
    return stream;
  }
}

/**
 * Into how many pieces a packet goes on a link with this MTU (RFC 791: all but the last carry a
 * multiple of 8 bytes), or 0 if it does not go at all.
 */
export function piecesOf(packet: Packet, mtu: LinkFaultsDef['mtu']): number {
  if (mtu === undefined) return 1;
  const ipBytes = ipHeaderBytes(packet.target);
  const carried = packet.payload.length + headerBytes(packet) - ipBytes;
  if (carried + ipBytes <= mtu.bytes) return 1;
  // TCP never lets its segments be fragmented (RFC 1191); a machine's pieces are frames already.
  const whole = packet.protocol === PROTOCOL_TCP || packet.protocol === PROTOCOL_ETHERNET;
  if (mtu.oversize === 'drop' || whole) return 0;
  const each = Math.floor((mtu.bytes - ipBytes) / 8) * 8;
  return Math.ceil(carried / each);
}

/** The bytes on the wire: each piece has a header of its own. */
export function wireBytes(packet: Packet, pieces: number): number {
  const whole = packet.payload.length + headerBytes(packet);
  return whole + (pieces - 1) * ipHeaderBytes(packet.target);
}

/** How many bytes wait for the bandwidth when the last of them leaves at `busyUntilNs`. */
export function backlogBytes(busyUntilNs: VirtualNs, nowNs: VirtualNs, bandwidth: number): number {
  const leftNs = busyUntilNs - nowNs;
  if (leftNs <= 0) return 0;
  return Number((BigInt(leftNs) * BigInt(bandwidth)) / BigInt(8 * NS_PER_S));
}

/** The chance that RED drops a packet when so many bytes wait: rises evenly to `chance`. */
export function redChance(red: NonNullable<LinkFaultsDef['red']>, bytes: number): Millionths {
  if (bytes < red.fromBytes) return 0;
  if (bytes >= red.toBytes) return MILLION;
  return Math.floor((red.chance * (bytes - red.fromBytes)) / (red.toBytes - red.fromBytes));
}

/** Why the queue of a link refuses a packet of this size, or 0. */
export function queueRefusal(
  faults: LinkFaultsDef,
  waitingBytes: number,
  bytes: number,
  drops: (chance: Millionths) => boolean,
): number {
  const { queueBytes, red } = faults;
  if (queueBytes !== undefined && waitingBytes + bytes > queueBytes) return DROP.QUEUE_FULL;
  return red !== undefined && drops(redChance(red, waitingBytes)) ? DROP.RED : 0;
}

/** A copy of the bytes with one bit flipped: bit 0 is the least of the first byte. */
export function flipBit(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice();
  const at = Math.floor(bit / 8);
  copy[at] = (copy[at] ?? 0) ^ (1 << (bit % 8));
  return copy;
}
