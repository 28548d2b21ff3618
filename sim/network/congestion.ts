import type { TcpBlock } from './tcp-block.ts';

/** Duplicate acknowledgements that stand for a loss (RFC 5681 section 3.2). */
const DUPLICATES_OF_LOSS = 3;

/** The initial window (RFC 6928 section 2). */
export function startCongestion(block: TcpBlock): void {
  const { segmentBytes } = block;
  block.congestionWindow = Math.min(10 * segmentBytes, Math.max(2 * segmentBytes, 14_600));
  block.recover = block.initialSend;
}

/** Half of what is in flight, at least two segments (RFC 5681, equation 4). */
function lowerThreshold(block: TcpBlock): void {
  const inFlight = block.sendHighest - block.sendUnacknowledged;
  block.slowStartThreshold = Math.max(inFlight >> 1, 2 * block.segmentBytes);
}

/** The retransmission timer ran out (RFC 5681 section 3.1). */
export function timeoutCongestion(block: TcpBlock): void {
  if (block.retries === 0) lowerThreshold(block);
  block.congestionWindow = block.segmentBytes;
  block.duplicates = 0;
  block.recover = block.sendHighest - 1;
  block.recovering = false;
}

/**
 * `count` more bytes are acknowledged; `sendUnacknowledged` already counts them. Returns whether
 * the next hole must be sent again at once (RFC 6582 section 3.2, partial acknowledgement).
 */
export function advanceCongestion(block: TcpBlock, count: number): boolean {
  const { segmentBytes } = block;
  block.duplicates = 0;
  if (block.recovering) {
    if (block.sendUnacknowledged <= block.recover) {
      const deflated = block.congestionWindow - count + (count >= segmentBytes ? segmentBytes : 0);
      block.congestionWindow = Math.max(deflated, segmentBytes);
      return true;
    }
    const inFlight = block.sendHighest - block.sendUnacknowledged;
    block.recovering = false;
    block.congestionWindow = Math.min(
      block.slowStartThreshold,
      Math.max(inFlight, segmentBytes) + segmentBytes,
    );
    return false;
  }
  if (block.congestionWindow < block.slowStartThreshold) {
    block.congestionWindow += Math.min(count, 2 * segmentBytes);
  } else {
    const step = Math.trunc((segmentBytes * segmentBytes) / block.congestionWindow);
    block.congestionWindow += Math.max(1, step);
  }
  return false;
}

/** A duplicate acknowledgement came. Returns whether the first hole must be sent again now. */
export function duplicateCongestion(block: TcpBlock): boolean {
  block.duplicates++;
  if (block.recovering) {
    block.congestionWindow += block.segmentBytes;
    return false;
  }
  if (block.duplicates !== DUPLICATES_OF_LOSS) return false;
  if (block.sendUnacknowledged <= block.recover) return false;
  lowerThreshold(block);
  block.recover = block.sendHighest - 1;
  block.recovering = true;
  block.congestionWindow = block.slowStartThreshold + DUPLICATES_OF_LOSS * block.segmentBytes;
  return true;
}
