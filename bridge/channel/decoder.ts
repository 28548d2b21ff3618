import { SimError } from '../../sim/index.ts';
import { HEADER_BYTES, PAYLOAD_BYTES_MAX, REPORT } from './wire.ts';
import type { Message } from './wire.ts';

const KNOWN_TYPES: ReadonlySet<number> = new Set(Object.values(REPORT));

function malformed(what: string): SimError {
  return new SimError({
    code: 'backend/channel',
    message: `the machine sent ${what}`,
    remedy: 'run `sim doctor`: QEMU and the adapter may not belong together',
  });
}

/**
 * Cuts a stream of bytes into messages. It holds at most one message that is not whole yet, and
 * refuses lengths above the limit and types that no machine sends.
 */
export class Decoder {
  private rest: Buffer = Buffer.alloc(0);
  /** Bytes of a large message, gathered without copying them again for each piece. */
  private pieces: Buffer[] = [];
  private gathered = 0;
  private wanted = 0;

  /** Calls `take` for each whole message, in order. Throws `backend/channel` on garbage. */
  push(bytes: Buffer, take: (message: Message) => void): void {
    let data = this.join(bytes);
    if (data === undefined) return;
    let offset = 0;
    while (data.length - offset >= HEADER_BYTES) {
      const length = data.readUInt32LE(offset);
      const type = data.readUInt32LE(offset + 4);
      if (length > PAYLOAD_BYTES_MAX) {
        throw malformed(`a message of ${length} bytes, at most ${PAYLOAD_BYTES_MAX} are allowed`);
      }
      if (!KNOWN_TYPES.has(type)) throw malformed(`a message of the unknown type ${type}`);
      const end = offset + HEADER_BYTES + length;
      if (end > data.length) {
        this.wanted = end - offset;
        break;
      }
      take({
        type,
        a: data.readBigUInt64LE(offset + 8),
        b: data.readBigUInt64LE(offset + 16),
        payload: data.subarray(offset + HEADER_BYTES, end),
      });
      offset = end;
    }
    data = data.subarray(offset);
    this.rest = data;
  }

  private join(bytes: Buffer): Buffer | undefined {
    if (this.wanted === 0 && this.rest.length === 0) return bytes;
    if (this.pieces.length === 0) {
      this.pieces.push(this.rest);
      this.gathered = this.rest.length;
    }
    this.pieces.push(bytes);
    this.gathered += bytes.length;
    if (this.gathered < Math.max(this.wanted, HEADER_BYTES)) return undefined;
    const joined = Buffer.concat(this.pieces, this.gathered);
    this.pieces = [];
    this.gathered = 0;
    this.wanted = 0;
    return joined;
  }
}
