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

/** Protocol numbers as in the IPv4 header (IANA, "Assigned Internet Protocol Numbers"). */
export const PROTOCOL_ICMP = 1;
export const PROTOCOL_TCP = 6;
export const PROTOCOL_UDP = 17;

/** TCP control bits (RFC 9293 section 3.1). */
export const FLAG_FIN = 1;
export const FLAG_SYN = 2;
export const FLAG_RST = 4;
export const FLAG_ACK = 16;

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
  /** IPv4 addresses and ports of the two ends. */
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
}

/** Reads a packet that a checkpoint holds. */
export const readPacket: Read<Packet> = readRecord<Packet>(
  {
    kind: readWord(['packet']),
    from: readInteger(),
    to: readInteger(),
    protocol: readInteger(0, 255),
    source: readInteger(0, 0xffff_ffff),
    sourcePort: readInteger(0, 65_535),
    target: readInteger(0, 0xffff_ffff),
    targetPort: readInteger(0, 65_535),
    flags: readInteger(0, 255),
    sequence: readInteger(),
    acknowledgement: readInteger(),
    window: readInteger(),
    payload: readBytes(65_535),
    digest: readInteger(0, 0xffff_ffff),
    cuts: readInteger(),
    damaged: readBoolean,
  },
  ['damaged'],
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

/** Header bytes: 20 of IPv4 and 20 of TCP, or 8 of UDP or ICMP. */
export function headerBytes(protocol: number): number {
  return protocol === PROTOCOL_TCP ? 40 : 28;
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
  return mix32(hash) >>> 0;
}

function step(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0xcc9e2d51);
  return ((mixed << 15) | (mixed >>> 17)) + 0x52dce729;
}
