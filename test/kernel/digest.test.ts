import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeUtf8, encodeUtf8, isUtf8, RollingDigest, sha256 } from '../../sim/index.ts';

function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (index * 7 + (index >> 3)) & 255);
}

describe('digests', () => {
  it('sha256 equals the standard one around each block length', () => {
    for (let length = 0; length < 300; length++) {
      const bytes = bytesOf(length);
      expect(sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
    }
  });

  it('the rolling digest does not depend on how bytes are fed', () => {
    const bytes = bytesOf(257);
    const whole = new RollingDigest();
    whole.update(bytes);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const parts = new RollingDigest();
      parts.update(bytes, 0, cut);
      parts.hex();
      parts.update(bytes, cut);
      expect(parts.hex()).toBe(whole.hex());
    }
  });

  it('the rolling digest tells each single changed bit and each length apart', () => {
    const seen = new Set<string>();
    const bytes = bytesOf(64);
    for (let bit = 0; bit < 512; bit++) {
      const changed = bytes.slice();
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      const digest = new RollingDigest();
      digest.update(changed);
      seen.add(digest.hex());
    }
    for (let length = 0; length < 64; length++) {
      const digest = new RollingDigest();
      digest.update(new Uint8Array(length));
      seen.add(digest.hex());
    }
    expect(seen.size).toBe(512 + 64);
  });

  it('goes on equally after capture and restore at every length', () => {
    const bytes = bytesOf(40);
    const whole = new RollingDigest();
    whole.update(bytes);
    for (let cut = 0; cut < 40; cut++) {
      const first = new RollingDigest();
      first.update(bytes, 0, cut);
      const second = new RollingDigest();
      second.restore(first.capture());
      second.update(bytes, cut);
      expect(second.hex()).toBe(whole.hex());
    }
  });
});

describe('UTF-8', () => {
  it('equals the standard encoder and decoder on samples and on random bytes', () => {
    for (const text of ['', 'abc', 'žluťoučký', '漢字', '🎲🎲', '\u0000', 'a\ud800b']) {
      expect([...encodeUtf8(text)]).toEqual([...new TextEncoder().encode(text)]);
    }
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    for (let start = 0; start < 60_000; start += 4) {
      const bytes = Uint8Array.from([start & 255, (start >> 4) & 255, (start >> 8) & 255, 0x41]);
      const valid = !decoder.decode(bytes).includes('\ufffd');
      expect(isUtf8(bytes)).toBe(valid);
      if (valid) expect(decodeUtf8(bytes)).toBe(decoder.decode(bytes));
    }
  });
});
