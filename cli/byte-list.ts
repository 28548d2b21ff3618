/** Bytes that grow by pieces. */
export class ByteList {
  private pieces: Uint8Array[] = [];
  private length = 0;

  append(bytes: Uint8Array): void {
    this.pieces.push(bytes.slice());
    this.length += bytes.length;
  }

  /** The pieces so far; they are never written again. */
  capture(): readonly Uint8Array[] {
    return this.pieces.slice();
  }

  restore(pieces: readonly Uint8Array[]): void {
    this.pieces = pieces.slice();
    this.length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  /** All bytes, in one new array. */
  bytes(): Uint8Array {
    const all = new Uint8Array(this.length);
    let at = 0;
    for (const piece of this.pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }
}
