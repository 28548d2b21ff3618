/** The time to live, or hop limit, of what the world sends (Linux: ip_default_ttl). */
export const TIME_TO_LIVE = 64;

/**
 * An IP packet, or one fragment of it, of the family that its addresses have. Options and extension
 * headers are skipped when read and never written.
 */
export interface IpPacket {
  /** Names the fragments of a packet: 16 bits, or 32 with IPv6. */
  readonly identification: number;
  /** Always so with IPv6: only its sender makes fragments. */
  readonly dontFragment: boolean;
  readonly moreFragments: boolean;
  /** Where the fragment's payload begins, in bytes; a multiple of 8. */
  readonly fragmentOffset: number;
  readonly timeToLive: number;
  readonly protocol: number;
  readonly source: number;
  readonly target: number;
  /** Shared with the packet's bytes. */
  readonly payload: Uint8Array;
}

/** Cuts a payload into pieces of at most so many bytes, a multiple of 8. */
export function cutPayload(packet: IpPacket, eachBytes: number): readonly IpPacket[] {
  const { payload } = packet;
  const pieces: IpPacket[] = [];
  for (let at = 0; at < payload.length; at += eachBytes) {
    const end = Math.min(payload.length, at + eachBytes);
    pieces.push({
      ...packet,
      fragmentOffset: packet.fragmentOffset + at,
      moreFragments: packet.moreFragments || end < payload.length,
      payload: payload.subarray(at, end),
    });
  }
  return pieces;
}
