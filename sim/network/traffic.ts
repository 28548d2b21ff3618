/**
 * The result of a `net/send` or `net/deliver` event: the other node and the payload's size in
 * bytes. Packets that look alike differ in the event's input, their digest.
 */
export function trafficResult(peer: number, bytes: number): number {
  return peer * 0x2_0000 + bytes;
}

/** Takes apart what `trafficResult` made. */
export function readTraffic(result: number): { readonly peer: number; readonly bytes: number } {
  return { peer: Math.trunc(result / 0x2_0000), bytes: result % 0x2_0000 };
}
