import { readInteger, readList, readPair, readRecord } from '../kernel/shape.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { ipv4Of, isIpv6, nodeAddress } from './address.ts';
import { ARP_REPLY, ARP_REQUEST, parseArp, serializeArp } from './arp.ts';
import { echoReply, ipPacket, portUnreachable, readControl, tooBig } from './control-message.ts';
import { DROP } from './drop.ts';
import {
  ETHER_ARP,
  ETHER_IPV4,
  ETHER_IPV6,
  ETHERNET_MTU_BYTES,
  isGroupMac,
  macOfAddress,
  parseEthernet,
  serializeEthernet,
} from './ethernet.ts';
import { fragmentIp, ipBytes, serializeIp } from './ip.ts';
import type { IpPacket } from './ip-packet.ts';
import { IpReassembly } from './ip-reassembly.ts';
import { parseIpv4 } from './ipv4.ts';
import { parseIpv6 } from './ipv6.ts';
import { parseSolicitation, serializeAdvertisement, type Solicitation } from './neighbour.ts';
import {
  FLAG_ACK,
  FLAG_FIN,
  FLAG_PSH,
  FLAG_RST,
  FLAG_SYN,
  PROTOCOL_ETHERNET,
  PROTOCOL_ICMP,
  PROTOCOL_TCP,
  PROTOCOL_UDP,
  type Draft,
  type Packet,
} from './packet.ts';
import { parseTcp, serializeTcp, type TcpOptions, type TcpSegment } from './tcp-segment.ts';
import { parseUdp, serializeUdp } from './udp-datagram.ts';

/** What a machine's wire needs of the network. */
export interface MachineWireNetwork {
  nodeOf(address: number): number;
  hasRoute(from: number, to: number): boolean;
  isMachine(node: number): boolean;
  /** The least time after which anything comes back for what the node sends. */
  roundTripNs(node: number): VirtualNs;
  mtuBytes(from: number, to: number): number;
  transmit(packet: Draft, nowNs: VirtualNs, notBeforeNs: VirtualNs): VirtualNs;
}

interface MachineWireState {
  readonly identification: number;
  readonly arrivals: readonly (readonly [node: number, atNs: VirtualNs])[];
  readonly fragments: unknown;
}

const readState = readRecord<MachineWireState>({
  identification: readInteger(0, 65_535),
  arrivals: readList(readPair(readInteger(0), readInteger(0)), 65_536),
  fragments: (value) => value,
});

const KNOWN_FLAGS = FLAG_FIN | FLAG_SYN | FLAG_RST | FLAG_ACK;
/** The largest segment of a peer that does not say (RFC 9293 section 3.7.1). */
const SEGMENT_BYTES_DEFAULT = 536;
const NO_BYTES = new Uint8Array(0);

/**
 * The network card of one machine, where Ethernet frames meet the network's packets. What goes to
 * another machine stays the frame that it is; what goes to a node of sockets becomes a packet, and
 * the other way round. ARP is answered from the world's table of addresses, for the nodes to which
 * a link leads.
 */
export class MachineWire {
  private readonly network: MachineWireNetwork;
  private readonly node: number;
  private readonly address: number;
  private readonly fragments = new IpReassembly();
  /** Names the packets that go to the machine in pieces. */
  private identification = 0;
  /** When the last TCP segment to each node arrives: one connection's segments keep their order. */
  private readonly arrivals = new Map<number, VirtualNs>();

  constructor(network: MachineWireNetwork, node: number) {
    this.network = network;
    this.node = node;
    this.address = nodeAddress(node);
  }

  /** The machine has sent a frame; returns why it goes nowhere (see DROP), or 0. Never throws. */
  send(frame: Uint8Array, nowNs: VirtualNs): number {
    const ethernet = parseEthernet(frame);
    if (typeof ethernet === 'number') return ethernet;
    if (ethernet.source !== macOfAddress(this.address)) return DROP.FRAME_ADDRESS;
    if (ethernet.type === ETHER_ARP) return this.answerArp(ethernet.payload, nowNs);
    if (ethernet.type === ETHER_IPV6) {
      const solicitation = parseSolicitation(ethernet.payload);
      if (typeof solicitation === 'number') return solicitation;
      if (solicitation !== null) return this.advertise(solicitation, nowNs);
    }
    if (isGroupMac(ethernet.target)) return DROP.FRAME_GROUP;
    const packet = parseIp(ethernet.type, ethernet.payload);
    if (typeof packet === 'number') return packet;
    const to = this.network.nodeOf(packet.target);
    const own = ipv4Of(packet.source) === this.address && to !== this.node;
    if (!own || ethernet.target !== macOfAddress(packet.target)) return DROP.FRAME_ADDRESS;
    if (to < 0 || !this.network.hasRoute(this.node, to)) return DROP.NO_ROUTE;
    return this.sendTo(to, packet, nowNs);
  }

  /** The frames that a packet becomes when it reaches the machine. */
  framesOf(packet: Packet): readonly Uint8Array[] {
    switch (packet.protocol) {
      case PROTOCOL_ETHERNET:
        return [packet.payload];
      case PROTOCOL_TCP:
        return this.frames(packet, serializeTcp(segmentOf(packet), packet));
      case PROTOCOL_UDP:
        return this.frames(packet, serializeUdp(packet, packet));
      default:
        return [frameOf(portUnreachable(packet, this.nextIdentification()))];
    }
  }

  /** Power loss: what the card held is gone. */
  reset(): void {
    this.fragments.restore([]);
    this.arrivals.clear();
  }

  capture(): unknown {
    const state: MachineWireState = {
      identification: this.identification,
      arrivals: [...this.arrivals],
      fragments: this.fragments.capture(),
    };
    return state;
  }

  /** Takes what `capture` gave; anything else is refused (`bundle/shape`). */
  restore(state: unknown): void {
    const { identification, arrivals, fragments } = readState(state, 'network.machine');
    this.identification = identification;
    this.arrivals.clear();
    for (const [node, atNs] of arrivals) this.arrivals.set(node, atNs);
    this.fragments.restore(fragments);
  }

  private sendTo(to: number, packet: IpPacket, nowNs: VirtualNs): number {
    const mtuBytes = this.network.mtuBytes(this.node, to);
    const fits = ipBytes(packet) <= mtuBytes;
    if (!fits && packet.dontFragment) {
      this.answer(frameOf(tooBig(packet, mtuBytes, this.identification)), nowNs);
      return DROP.TOO_BIG;
    }
    if (!this.network.isMachine(to)) return this.sendToHost(to, packet, nowNs);
    for (const piece of fragmentIp(packet, mtuBytes)) {
      this.transmit(this.envelope(to, frameOf(piece)), packet.protocol, nowNs);
    }
    return 0;
  }

  /** To a node of sockets: what its sockets understand becomes a packet of theirs. */
  private sendToHost(to: number, piece: IpPacket, nowNs: VirtualNs): number {
    const packet = this.fragments.take(piece, nowNs);
    if (packet === null) return 0;
    if (typeof packet === 'number') return packet;
    const draft = this.draftOf(to, packet);
    if (typeof draft === 'number') return draft;
    this.transmit(draft, packet.protocol, nowNs);
    return 0;
  }

  private draftOf(to: number, packet: IpPacket): Draft | number {
    const { payload } = packet;
    if (packet.protocol === PROTOCOL_TCP) {
      const segment = parseTcp(payload, packet);
      return typeof segment === 'number' ? segment : this.segmentDraft(to, packet, segment);
    }
    if (packet.protocol === PROTOCOL_UDP) {
      const datagram = parseUdp(payload, packet);
      if (typeof datagram === 'number') return datagram;
      const { sourcePort, targetPort } = datagram;
      const ends = { source: packet.source, target: packet.target, sourcePort, targetPort };
      return this.draft(to, { ...ends, protocol: PROTOCOL_UDP, payload: datagram.payload.slice() });
    }
    return this.controlDraft(to, packet);
  }

  private segmentDraft(to: number, packet: IpPacket, segment: TcpSegment): Draft {
    const { sourcePort, targetPort, sequence, acknowledgement, window, options } = segment;
    const flags = segment.flags & KNOWN_FLAGS;
    const { segmentBytes = SEGMENT_BYTES_DEFAULT, windowShift = -1 } = options;
    const syn = (flags & FLAG_SYN) === 0 ? {} : { syn: { segmentBytes, windowShift } };
    return {
      ...this.draft(to, {
        protocol: PROTOCOL_TCP,
        source: packet.source,
        target: packet.target,
        sourcePort,
        targetPort,
        payload: segment.payload.slice(),
      }),
      flags,
      sequence,
      acknowledgement: (flags & FLAG_ACK) === 0 ? 0 : acknowledgement,
      window,
      wire: { windowShift: 0, ...syn },
    };
  }

  /** An echo request goes on as it is; "port unreachable" becomes what sockets make of it. */
  private controlDraft(to: number, packet: IpPacket): Draft | number {
    const control = readControl(packet);
    if (typeof control === 'number') return control;
    if (control === 'echo') return this.envelope(to, frameOf(packet));
    return this.draft(to, {
      protocol: PROTOCOL_ICMP,
      source: control.target,
      sourcePort: control.targetPort,
      target: control.source,
      targetPort: control.sourcePort,
      payload: NO_BYTES,
    });
  }

  private transmit(draft: Draft, protocol: number, nowNs: VirtualNs): void {
    if (protocol !== PROTOCOL_TCP) {
      this.network.transmit(draft, nowNs, 0);
      return;
    }
    const arrivalNs = this.network.transmit(draft, nowNs, this.arrivals.get(draft.to) ?? 0);
    this.arrivals.set(draft.to, arrivalNs);
  }

  /** The world's table answers for every node to which a link leads. */
  private answerArp(payload: Uint8Array, nowNs: VirtualNs): number {
    const message = parseArp(payload);
    if (typeof message === 'number') return message;
    // What a machine tells of itself changes nothing: the table knows.
    if (message.operation !== ARP_REQUEST) return 0;
    const { targetAddress, senderAddress, senderMac } = message;
    const node = this.network.nodeOf(targetAddress);
    if (node < 0 || node === this.node || !this.network.hasRoute(this.node, node)) return 0;
    const mac = macOfAddress(targetAddress);
    const reply = serializeArp({
      operation: ARP_REPLY,
      senderMac: mac,
      senderAddress: targetAddress,
      targetMac: senderMac,
      targetAddress: senderAddress,
    });
    this.answer(
      serializeEthernet({ target: senderMac, source: mac, type: ETHER_ARP, payload: reply }),
      nowNs,
    );
    return 0;
  }

  /** The same for IPv6; nobody answers a machine that asks whether its own address is free. */
  private advertise(solicitation: Solicitation, nowNs: VirtualNs): number {
    const { asker, wanted } = solicitation;
    if (asker.every((byte) => byte === 0)) return 0;
    const node = this.network.nodeOf(wanted);
    if (node < 0 || node === this.node || !this.network.hasRoute(this.node, node)) return 0;
    const macs = { mac: macOfAddress(wanted), askerMac: macOfAddress(this.address) };
    this.answer(serializeAdvertisement(solicitation, macs), nowNs);
    return 0;
  }

  /**
   * What the wire itself says to the machine takes the machine's loopback, where nothing loses it,
   * and as long as the nearest other node would take for an answer.
   */
  private answer(frame: Uint8Array, nowNs: VirtualNs): void {
    const notBeforeNs = nowNs + this.network.roundTripNs(this.node);
    if (notBeforeNs === Infinity) return;
    this.network.transmit(this.envelope(this.node, frame), nowNs, notBeforeNs);
  }

  /** A frame as a packet. */
  private envelope(to: number, frame: Uint8Array): Draft {
    const ends = { source: 0, sourcePort: 0, target: 0, targetPort: 0 };
    return this.draft(to, { ...ends, protocol: PROTOCOL_ETHERNET, payload: frame });
  }

  private draft(
    to: number,
    fields: Pick<Draft, 'protocol' | 'source' | 'sourcePort' | 'target' | 'targetPort' | 'payload'>,
  ): Draft {
    return {
      kind: 'packet',
      from: this.node,
      to,
      ...fields,
      flags: 0,
      sequence: 0,
      acknowledgement: 0,
      window: 0,
      digest: 0,
      cuts: 0,
    };
  }

  private frames(packet: Packet, payload: Uint8Array): readonly Uint8Array[] {
    const whole = ipPacket(packet, packet.protocol, payload, this.nextIdentification());
    return fragmentIp(whole, ETHERNET_MTU_BYTES).map(frameOf);
  }

  private nextIdentification(): number {
    this.identification = (this.identification + 1) % 65_536;
    return this.identification;
  }
}

/**
 * What the host of a node of sockets answers to a frame by itself: an echo for an echo request.
 * Gives the reply as a packet, or why the frame is dropped.
 */
export function hostAnswer(packet: Packet): Draft | number {
  const ethernet = parseEthernet(packet.payload);
  if (typeof ethernet === 'number') return ethernet;
  const request = parseIp(ethernet.type, ethernet.payload);
  if (typeof request === 'number') return request;
  const reply = echoReply(request);
  if (typeof reply === 'number') return reply;
  const ends = { from: packet.to, to: packet.from };
  return { ...packet, ...ends, payload: frameOf(reply), digest: 0, cuts: 0 };
}

function parseIp(type: number, payload: Uint8Array): IpPacket | number {
  if (type === ETHER_IPV4) return parseIpv4(payload);
  return type === ETHER_IPV6 ? parseIpv6(payload) : DROP.FRAME_PROTOCOL;
}

function frameOf(packet: IpPacket): Uint8Array {
  return serializeEthernet({
    target: macOfAddress(packet.target),
    source: macOfAddress(packet.source),
    type: isIpv6(packet.target) ? ETHER_IPV6 : ETHER_IPV4,
    payload: serializeIp(packet),
  });
}

/** A segment as the machine sees it: numbers modulo 2^32, the window in its steps. */
function segmentOf(packet: Packet): TcpSegment {
  const { flags, sequence, acknowledgement, window, wire, payload } = packet;
  const shift = (flags & FLAG_SYN) === 0 ? (wire?.windowShift ?? 0) : 0;
  return {
    sourcePort: packet.sourcePort,
    targetPort: packet.targetPort,
    sequence: sequence % 0x1_0000_0000,
    acknowledgement: acknowledgement % 0x1_0000_0000,
    flags: payload.length > 0 ? flags | FLAG_PSH : flags,
    window: Math.min(Math.floor(window / 2 ** shift), 0xffff),
    urgent: 0,
    options: synOptions(wire?.syn),
    payload,
  };
}

function synOptions(syn: NonNullable<Packet['wire']>['syn']): TcpOptions {
  if (syn === undefined) return {};
  const { segmentBytes, windowShift } = syn;
  return windowShift < 0 ? { segmentBytes } : { segmentBytes, windowShift };
}
