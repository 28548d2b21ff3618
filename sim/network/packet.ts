import { mix32 } from '../kernel/draw.ts';
import { digest32 } from '../kernel/rolling-digest.ts';
import {
  readBoolean,
  readBytes,
  readInteger,
  readRecord,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { ADDRESS_MAX, isIpv6 } from './address.ts';

/** Protocol numbers as in the IPv4 header (IANA, "Assigned Internet Protocol Numbers"). */
export const PROTOCOL_ICMP = 1;
export const PROTOCOL_TCP = 6;
export const PROTOCOL_UDP = 17;
export const PROTOCOL_ICMP6 = 58;
/** A machine's whole Ethernet frame, as it is. */
export const PROTOCOL_ETHERNET = 143;

/** TCP control bits (RFC 9293 section 3.1). */
export const FLAG_FIN = 1;
export const FLAG_SYN = 2;
export const FLAG_RST = 4;
/** Only on the wire of machines; here everything is pushed. */
export const FLAG_PSH = 8;
export const FLAG_ACK = 16;

/** What a TCP segment to or from a machine says besides. */
export interface WireFields {
  /** To a machine: how far its window is shifted. */
  readonly windowShift: number;
  /** Of a SYN: the largest segment that its sender takes, and its shift or -1 for none. */
  readonly syn?: { readonly segmentBytes: number; readonly windowShift: number };
}

/**
 * A packet under way: plain data that nobody changes after it was sent. Sequence numbers count
 * bytes up to 2^53 and never wrap. An ICMP packet is a "port unreachable" and names the two ends
 * of the datagram that it answers, the other way round.
 */
export interface Packet {
  readonly kind: 'packet';
  /** Node indexes. */
  readonly from: number;
  readonly to: number;
  readonly protocol: number;
  /** Addresses and ports of the two ends. */
  readonly source: number;
  readonly sourcePort: number;
  readonly target: number;
  readonly targetPort: number;
  /** TCP only; zero otherwise. */
  readonly flags: number;
  readonly sequence: number;
  readonly acknowledgement: number;
  readonly window: number;
  readonly payload: Uint8Array;
  /** 32 bits over header and payload. */
  readonly digest: number;
  /** How often the link had been cut when the packet was sent: a further cut loses it (CR-89). */
  readonly cuts: number;
  /** It was damaged on the way, and its checksum tells. */
  readonly damaged?: boolean;
  /**
   * A TCP segment to or from a machine. One that comes from there has sequence numbers of 32 bits
   * and a window that is not shifted yet: its connection turns them into its own.
   */
  readonly wire?: WireFields;
}

/** Reads a packet that a checkpoint holds. */
export const readPacket: Read<Packet> = readRecord<Packet>(
  {
    kind: readWord(['packet']),
    from: readInteger(),
    to: readInteger(),
    protocol: readInteger(0, 255),
    source: readInteger(0, ADDRESS_MAX),
    sourcePort: readInteger(0, 65_535),
    target: readInteger(0, ADDRESS_MAX),
    targetPort: readInteger(0, 65_535),
    flags: readInteger(0, 255),
    sequence: readInteger(),
    acknowledgement: readInteger(),
    window: readInteger(),
    payload: readBytes(65_535),
    digest: readInteger(0, 0xffff_ffff),
    cuts: readInteger(),
    damaged: readBoolean,
    wire: readRecord<WireFields>(
      {
        windowShift: readInteger(0, 14),
        syn: readRecord<NonNullable<WireFields['syn']>>({
          segmentBytes: readInteger(0, 65_535),
          windowShift: readInteger(-1, 14),
        }),
      },
      ['syn'],
    ),
  },
  ['damaged', 'wire'],
);

/** A packet that is being made: the network fills in the last two fields when it takes it. */
export type Draft = { -readonly [Field in keyof Packet]: Packet[Field] };

export type TimerKind = 'retransmit' | 'acknowledge';

/** A timer of one connection; stale ones are ignored when they fire. */
export interface TimerEvent {
  readonly kind: 'timer';
  readonly node: number;
  readonly socket: number;
  readonly timer: TimerKind;
}

/** What the network has the world's queue keep: plain data. */
export type NetworkEvent = Packet | TimerEvent;

/** Bytes of an IP header: 20, or 40 with IPv6. */
export function ipHeaderBytes(target: number): number {
  return isIpv6(target) ? 40 : 20;
}

/**
 * Bytes that an IP packet has besides the payload: those of IP and 20 of TCP, or 8 of UDP or ICMP.
 * A frame has its own, and 14 before them that links do not count.
 */
export function headerBytes({ protocol, target }: Pick<Packet, 'protocol' | 'target'>): number {
  if (protocol === PROTOCOL_ETHERNET) return -14;
  return ipHeaderBytes(target) + (protocol === PROTOCOL_TCP ? 20 : 8);
}

/** 32 bits over all fields that make the packet what it is. */
export function packetDigest(packet: Packet): number {
  let hash = digest32(packet.payload);
  hash = step(hash, packet.protocol + 256 * packet.flags);
  hash = step(hash, packet.source);
  hash = step(hash, packet.target);
  hash = step(hash, packet.sourcePort * 65_536 + packet.targetPort);
  hash = step(hash, packet.sequence);
  hash = step(hash, Math.trunc(packet.sequence / 0x1_0000_0000));
  hash = step(hash, packet.acknowledgement);
  hash = step(hash, Math.trunc(packet.acknowledgement / 0x1_0000_0000));
  hash = step(hash, packet.window);
  if (isIpv6(packet.target)) hash = step(hash, 6);
  return mix32(hash) >>> 0;
}

function step(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0xcc9e2d51);
  return ((mixed << 15) | (mixed >>> 17)) + 0x52dce729;
}
