import type { Meter } from './byte-queue.ts';

export interface Piece {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/** A connection keeps at most this many pieces that arrived before what precedes them. */
export const PIECES_MAX = 1_024;

/** Segments that arrived out of order, by sequence number; they may overlap. */
export class Reassembly {
  private readonly meter: Meter;
  private pieces: Piece[] = [];

  constructor(meter: Meter) {
    this.meter = meter;
  }

  get isEmpty(): boolean {
    return this.pieces.length === 0;
  }

  /** Keeps a piece if there is room; returns whether it did or already had it. */
  insert(sequence: number, bytes: Uint8Array): boolean {
    const { pieces } = this;
    let index = pieces.length;
    while (index > 0 && (pieces[index - 1] as Piece).sequence > sequence) index--;
    const before = pieces[index - 1];
    if (before !== undefined && before.sequence + before.bytes.length >= sequence + bytes.length) {
      return true;
    }
    if (pieces.length >= PIECES_MAX || bytes.length > this.meter.free) return false;
    pieces.splice(index, 0, { sequence, bytes });
    this.meter.used += bytes.length;
    return true;
  }

  /** Takes out every piece that begins at or before `next` once those before it are appended. */
  drain(next: number, append: (bytes: Uint8Array) => void): void {
    let taken = 0;
    let at = next;
    for (const piece of this.pieces) {
      if (piece.sequence > at) break;
      const known = at - piece.sequence;
      this.meter.used -= piece.bytes.length;
      taken++;
      if (known >= piece.bytes.length) continue;
      append(known === 0 ? piece.bytes : piece.bytes.subarray(known));
      at = piece.sequence + piece.bytes.length;
    }
    if (taken > 0) this.pieces.splice(0, taken);
  }

  clear(): void {
    for (const piece of this.pieces) this.meter.used -= piece.bytes.length;
    this.pieces = [];
  }

  capture(): readonly Piece[] {
    return this.pieces.slice();
  }

  restore(pieces: readonly Piece[]): void {
    this.clear();
    this.pieces = pieces.slice();
    for (const piece of pieces) this.meter.used += piece.bytes.length;
  }
}
