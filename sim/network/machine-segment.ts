import { FLAG_ACK, FLAG_SYN, type Packet } from './packet.ts';
import { SEGMENT_BYTES, type TcpBlock } from './tcp-block.ts';

/**
 * Sequence numbers of a machine count modulo 2^32, and its windows in steps; here connections
 * count bytes to 2^53. What follows turns one into the other.
 */

/** What the world's own SYN offers to a machine: windows in steps of 128 bytes. */
const OWN_WINDOW_SHIFT = 7;
const SEQUENCES = 0x1_0000_0000;
const WINDOW_MAX = 0xffff;

/** What a connection to a machine has agreed on. */
export interface MachineTerms {
  /** The largest segment that the machine takes. */
  readonly segmentBytes: number;
  /** How far the windows that it tells are shifted, and those that it is told. */
  readonly peerShift: number;
  readonly ownShift: number;
  /** The SYN that answers its SYN may offer shifts only if that did. */
  readonly scales: boolean;
}

/** Before the machine has said anything. */
export const UNTOLD_TERMS: MachineTerms = {
  segmentBytes: SEGMENT_BYTES,
  peerShift: 0,
  ownShift: 0,
  scales: true,
};

/** What a machine's SYN says; null for that of another node. */
export function termsOf(syn: Packet): MachineTerms | null {
  const said = syn.wire?.syn;
  if (said === undefined) return null;
  const { segmentBytes, windowShift } = said;
  const scales = windowShift >= 0;
  return {
    segmentBytes: Math.max(1, segmentBytes),
    peerShift: scales ? windowShift : 0,
    ownShift: scales ? OWN_WINDOW_SHIFT : 0,
    scales,
  };
}

/** The number nearest to `near` that is `value` modulo 2^32. */
export function unwrap(value: number, near: number): number {
  const ahead = (((value - near) % SEQUENCES) + SEQUENCES) % SEQUENCES;
  return near + (ahead < SEQUENCES / 2 ? ahead : ahead - SEQUENCES);
}

/** Numbers that segments of one connection are near to. */
interface Near {
  readonly sequence: number;
  readonly acknowledgement: number;
  readonly peerShift: number;
}

/** A machine's segment with the numbers of a connection; another node's as it is. */
export function unwrapped(packet: Packet, near: Near): Packet {
  if (packet.wire === undefined) return packet;
  const { flags, sequence, acknowledgement, window } = packet;
  return {
    ...packet,
    sequence: unwrap(sequence, near.sequence),
    acknowledgement: (flags & FLAG_ACK) === 0 ? 0 : unwrap(acknowledgement, near.acknowledgement),
    window: (flags & FLAG_SYN) === 0 ? window * 2 ** near.peerShift : window,
  };
}

/** What a connection's segments are near to; a first SYN is taken as it is. */
export function nearOf(block: TcpBlock, packet: Packet): Near {
  return {
    sequence: block.state === 'syn-sent' ? packet.sequence : block.receiveNext,
    acknowledgement: block.sendHighest,
    peerShift: block.machine?.peerShift ?? 0,
  };
}

/** What a segment to a machine carries besides; nothing to another node. */
export function wireFields(block: TcpBlock, flags: number): Pick<Packet, 'wire'> {
  const terms = block.machine;
  if (terms === undefined) return {};
  if ((flags & FLAG_SYN) === 0) return { wire: { windowShift: terms.ownShift } };
  const windowShift = terms.scales ? OWN_WINDOW_SHIFT : -1;
  return { wire: { windowShift: 0, syn: { segmentBytes: SEGMENT_BYTES, windowShift } } };
}

/** The window that a segment tells: no more than its field holds. */
export function toldWindow(block: TcpBlock, flags: number): number {
  const window = Math.max(0, block.receiveEdge - block.receiveNext);
  const terms = block.machine;
  if (terms === undefined) return window;
  const shift = (flags & FLAG_SYN) === 0 ? terms.ownShift : 0;
  return Math.min(window, WINDOW_MAX * 2 ** shift);
}
