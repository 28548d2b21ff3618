import { isIpv6 } from './address.ts';
import { DROP } from './drop.ts';
import { ETHERNET_MTU_BYTES } from './ethernet.ts';
import {
  ICMP_CODE_FRAGMENTATION,
  ICMP_CODE_PORT,
  ICMP_ECHO_REPLY,
  ICMP_ECHO_REQUEST,
  ICMP_UNREACHABLE,
  parseIcmp,
  quotedEnds,
  serializeIcmp,
  type IcmpMessage,
  type QuotedEnds,
} from './icmp.ts';
import {
  ICMP6_CODE_PORT,
  ICMP6_ECHO_REPLY,
  ICMP6_ECHO_REQUEST,
  ICMP6_TOO_BIG,
  ICMP6_UNREACHABLE,
  parseIcmp6,
  quotedEnds6,
  serializeIcmp6,
} from './icmp6.ts';
import { ipBytes, serializeIp } from './ip.ts';
import { TIME_TO_LIVE, type IpPacket } from './ip-packet.ts';
import { IPV4_HEADER_BYTES } from './ipv4.ts';
import { IPV6_HEADER_BYTES } from './ipv6.ts';
import { PROTOCOL_ICMP, PROTOCOL_ICMP6, PROTOCOL_UDP, type Packet } from './packet.ts';
import { serializeUdp, UDP_HEADER_BYTES } from './udp-datagram.ts';

/** ICMP of either family: echoes, refused ports, packets that are too big. */

interface Ends {
  readonly source: number;
  readonly target: number;
}

const NO_BYTES = new Uint8Array(0);

interface Family {
  readonly protocol: number;
  readonly echoRequest: number;
  readonly echoReply: number;
  readonly unreachable: number;
  readonly portCode: number;
  readonly tooBig: Pick<IcmpMessage, 'type' | 'code'>;
  readonly ipHeaderBytes: number;
  parse(bytes: Uint8Array, ends: Ends): IcmpMessage | number;
  serialize(message: IcmpMessage, ends: Ends): Uint8Array;
  quotedEnds: typeof quotedEnds;
}

const IPV4: Family = {
  protocol: PROTOCOL_ICMP,
  echoRequest: ICMP_ECHO_REQUEST,
  echoReply: ICMP_ECHO_REPLY,
  unreachable: ICMP_UNREACHABLE,
  portCode: ICMP_CODE_PORT,
  tooBig: { type: ICMP_UNREACHABLE, code: ICMP_CODE_FRAGMENTATION },
  ipHeaderBytes: IPV4_HEADER_BYTES,
  parse: parseIcmp,
  serialize: serializeIcmp,
  quotedEnds,
};

const IPV6: Family = {
  protocol: PROTOCOL_ICMP6,
  echoRequest: ICMP6_ECHO_REQUEST,
  echoReply: ICMP6_ECHO_REPLY,
  unreachable: ICMP6_UNREACHABLE,
  portCode: ICMP6_CODE_PORT,
  tooBig: { type: ICMP6_TOO_BIG, code: 0 },
  ipHeaderBytes: IPV6_HEADER_BYTES,
  parse: parseIcmp6,
  serialize: serializeIcmp6,
  quotedEnds: quotedEnds6,
};

function familyOf(address: number): Family {
  return isIpv6(address) ? IPV6 : IPV4;
}

/** What a machine's control message is to a node of sockets; or why it is dropped (see DROP). */
export function readControl(packet: IpPacket): 'echo' | QuotedEnds | number {
  const family = familyOf(packet.target);
  if (packet.protocol !== family.protocol) return DROP.FRAME_PROTOCOL;
  const message = family.parse(packet.payload, packet);
  if (typeof message === 'number') return message;
  if (message.type === family.echoRequest) return 'echo';
  if (message.type !== family.unreachable || message.code !== family.portCode) {
    return DROP.FRAME_PROTOCOL;
  }
  const quoted = family.quotedEnds(message.payload);
  if (typeof quoted === 'number') return quoted;
  if (quoted.source !== packet.target || quoted.target !== packet.source) {
    return DROP.FRAME_ADDRESS;
  }
  return quoted.protocol === PROTOCOL_UDP ? quoted : DROP.FRAME_PROTOCOL;
}

/** The reply to an echo request, or why the packet is dropped. */
export function echoReply(request: IpPacket): IpPacket | number {
  const family = familyOf(request.target);
  const message = family.parse(request.payload, request);
  if (typeof message === 'number') return message;
  if (message.type !== family.echoRequest) return DROP.FRAME_PROTOCOL;
  const ends = { source: request.target, target: request.source };
  const payload = family.serialize({ ...message, type: family.echoReply, code: 0 }, ends);
  return ipPacket(ends, family.protocol, payload, request.identification);
}

/** Tells a sender which size the link carries (RFC 1191, RFC 8201). */
export function tooBig(refused: IpPacket, mtuBytes: number, identification: number): IpPacket {
  const family = familyOf(refused.target);
  const quotedBytes = family.ipHeaderBytes + UDP_HEADER_BYTES;
  const payload = serializeIp(refused).subarray(0, quotedBytes);
  const ends = { source: refused.target, target: refused.source };
  const message = family.serialize({ ...family.tooBig, rest: mtuBytes, payload }, ends);
  return ipPacket(ends, family.protocol, message, identification);
}

/**
 * "Port unreachable" as a machine sees it. It quotes what the refused datagram must have begun
 * with; its length is not known.
 */
export function portUnreachable(packet: Packet, identification: number): IpPacket {
  const family = familyOf(packet.target);
  const quotedOf = { source: packet.target, target: packet.source };
  const datagram = serializeUdp(
    { sourcePort: packet.targetPort, targetPort: packet.sourcePort, payload: NO_BYTES },
    quotedOf,
  );
  const payload = serializeIp(ipPacket(quotedOf, PROTOCOL_UDP, datagram, 0));
  const { unreachable: type, portCode: code } = family;
  const message = family.serialize({ type, code, rest: 0, payload }, packet);
  return ipPacket(packet, family.protocol, message, identification);
}

/** A packet of the world's own. */
export function ipPacket(
  { source, target }: Ends,
  protocol: number,
  payload: Uint8Array,
  identification: number,
): IpPacket {
  const packet: IpPacket = {
    identification,
    dontFragment: true,
    moreFragments: false,
    fragmentOffset: 0,
    timeToLive: TIME_TO_LIVE,
    protocol,
    source,
    target,
    payload,
  };
  return { ...packet, dontFragment: ipBytes(packet) <= ETHERNET_MTU_BYTES };
}
