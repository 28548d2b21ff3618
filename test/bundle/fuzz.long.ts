import { describe, expect, it } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { sha256Hex, unpackZip } from '../../cli/zip.ts';
import { draw32, SimError, streamKey } from '../../sim/index.ts';
import { sampleBundle } from './parts.ts';

const CASES = 100_000;

/** Cuts, flips, overwrites, and moves bytes of a bundle. */
function damaged(whole: Buffer, round: number): Buffer {
  const key = streamKey(1, 'bundle-fuzz');
  const draw = (lane: number, below: number): number => draw32(key, round, lane) % below;
  const file = Buffer.from(whole);
  switch (draw(0, 5)) {
    case 0:
      return file.subarray(0, draw(1, whole.length));
    case 1:
      for (let flip = 0; flip <= draw(1, 8); flip++) {
        const at = draw(10 + flip, file.length);
        file[at] = (file[at] as number) ^ (1 << draw(30 + flip, 8));
      }
      return file;
    case 2: {
      const at = draw(1, file.length - 8);
      file.writeUInt32LE([0, 0xffff_ffff, 0x7fff_ffff, 1][draw(2, 4)] as number, at);
      return file;
    }
    case 3: {
      const at = draw(1, file.length);
      return Buffer.concat([file.subarray(0, at), file.subarray(at + 1 + draw(2, 64))]);
    }
    default: {
      const from = draw(1, file.length);
      const piece = file.subarray(from, from + draw(2, 512));
      const at = draw(3, file.length);
      return Buffer.concat([file.subarray(0, at), piece, file.subarray(at)]);
    }
  }
}

/** Puts the right digest at the end, as somebody would who means it. */
function resealed(file: Buffer): Buffer {
  const body = file.subarray(0, Math.max(0, file.length - 64));
  return Buffer.concat([body, Buffer.from(sha256Hex(body), 'latin1')]);
}

/** True if the file was refused; the content is right otherwise. */
function refused(file: Buffer, whole: Buffer): boolean {
  try {
    openBundle(file);
  } catch (error) {
    expect(error).toBeInstanceOf(SimError);
    expect((error as SimError).code).toMatch(/^(bundle|scenario)\//);
    expect((error as SimError).exitCode).toBe(5);
    return true;
  }
  expect(unpackZip(file)).toStrictEqual(unpackZip(whole));
  return false;
}

describe('a bundle under damage', () => {
  it(`gives one coded error for each of ${CASES} damaged files`, () => {
    const whole = Buffer.from(sampleBundle());
    for (let round = 0; round < CASES; round++) {
      const file = damaged(whole, round);
      if (file.compare(whole) !== 0) expect(refused(file, whole)).toBe(true);
    }
  });

  it(`gives one coded error, or the right content, for ${CASES} forged files`, () => {
    const whole = Buffer.from(sampleBundle());
    let refusals = 0;
    for (let round = 0; round < CASES; round++) {
      if (refused(resealed(damaged(whole, round)), whole)) refusals++;
    }
    expect(refusals).toBeGreaterThan(CASES * 0.9);
  });
});
