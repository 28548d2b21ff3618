import { readBoolean, readBytes, readInteger, readList, readRecord } from '../kernel/shape.ts';
import { NS_PER_S, type VirtualNs } from '../kernel/units.ts';
import { ADDRESS_MAX } from './address.ts';
import { DROP } from './drop.ts';
import type { IpPacket } from './ip-packet.ts';

/** How long fragments wait for the others (Linux: ipfrag_time). */
export const FRAGMENTS_NS: VirtualNs = 30 * NS_PER_S;
/** A sender has at most this many packets in pieces; the oldest goes first. */
export const FRAGMENTED_MAX = 64;
/** A packet comes in at most this many pieces: 65,535 bytes in pieces of 512 are fewer. */
export const FRAGMENTS_MAX = 256;

interface Fragment {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** A packet of which some fragments have come. */
interface Waiting {
  readonly source: number;
  readonly target: number;
  readonly protocol: number;
  readonly identification: number;
  readonly sinceNs: VirtualNs;
  /** The whole payload's size once the last fragment has come, else -1. */
  readonly length: number;
  readonly dontFragment: boolean;
  /** In order of `at`; none overlaps another (RFC 5722 says so of IPv6, Linux does it here too). */
  readonly fragments: readonly Fragment[];
}

const readState = readList(
  readRecord<Waiting>({
    source: readInteger(0, ADDRESS_MAX),
    target: readInteger(0, ADDRESS_MAX),
    protocol: readInteger(0, 255),
    identification: readInteger(0, 0xffff_ffff),
    sinceNs: readInteger(0),
    length: readInteger(-1, 65_535),
    dontFragment: readBoolean,
    fragments: readList(
      readRecord<Fragment>({ at: readInteger(0, 65_535), bytes: readBytes(65_535) }),
      FRAGMENTS_MAX,
    ),
  }),
  FRAGMENTED_MAX,
);

/** Puts fragments of one sender together again (RFC 791 section 3.2, RFC 8200 section 4.5). */
export class IpReassembly {
  /** In order of their first fragments. */
  private waiting: readonly Waiting[] = [];

  /** The whole packet once its last piece is there; null while some lack; or why it is dropped. */
  take(packet: IpPacket, nowNs: VirtualNs): IpPacket | null | number {
    if (!packet.moreFragments && packet.fragmentOffset === 0) return packet;
    const { fragmentOffset: at, payload, moreFragments } = packet;
    if (payload.length === 0 || (moreFragments && payload.length % 8 !== 0)) {
      return DROP.FRAME_FRAGMENT;
    }
    const alive = this.waiting.filter(({ sinceNs }) => nowNs - sinceNs < FRAGMENTS_NS);
    const known = alive.find((each) => isSame(each, packet)) ?? begin(packet, nowNs);
    const others = alive.filter((each) => each !== known);
    const length = moreFragments ? known.length : at + payload.length;
    const fragments = insert(known.fragments, { at, bytes: payload.slice() });
    const fits =
      fragments !== null &&
      fragments.length <= FRAGMENTS_MAX &&
      (known.length < 0 || known.length === length) &&
      (length < 0 || endOf(fragments) <= length);
    if (!fits) {
      // Pieces that contradict each other are all thrown away.
      this.waiting = others;
      return DROP.FRAME_FRAGMENT;
    }
    if (length < 0 || bytesOf(fragments) < length) {
      const kept = others.length < FRAGMENTED_MAX ? others : others.slice(1);
      this.waiting = [...kept, { ...known, length, fragments }];
      return null;
    }
    this.waiting = others;
    const whole = new Uint8Array(length);
    for (const fragment of fragments) whole.set(fragment.bytes, fragment.at);
    return { ...packet, moreFragments: false, fragmentOffset: 0, payload: whole };
  }

  capture(): unknown {
    return this.waiting;
  }

  restore(state: unknown): void {
    this.waiting = readState(state, 'network.fragments');
  }
}

function begin(packet: IpPacket, sinceNs: VirtualNs): Waiting {
  const { source, target, protocol, identification, dontFragment } = packet;
  const key = { source, target, protocol, identification, dontFragment };
  return { ...key, sinceNs, length: -1, fragments: [] };
}

function isSame(waiting: Waiting, packet: IpPacket): boolean {
  return (
    waiting.identification === packet.identification &&
    waiting.source === packet.source &&
    waiting.target === packet.target &&
    waiting.protocol === packet.protocol
  );
}

/** The fragments with this one at its place; equal repeats change nothing; null if it overlaps. */
function insert(fragments: readonly Fragment[], added: Fragment): readonly Fragment[] | null {
  const end = added.at + added.bytes.length;
  const same = fragments.find(({ at, bytes }) => {
    return at === added.at && bytes.length === added.bytes.length;
  });
  if (same !== undefined) return fragments;
  const overlaps = fragments.some(({ at, bytes }) => at < end && added.at < at + bytes.length);
  if (overlaps) return null;
  return [...fragments, added].sort((a, b) => a.at - b.at);
}

function endOf(fragments: readonly Fragment[]): number {
  const last = fragments[fragments.length - 1];
  return last === undefined ? 0 : last.at + last.bytes.length;
}

function bytesOf(fragments: readonly Fragment[]): number {
  return fragments.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
