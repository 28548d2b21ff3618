import { describe, expect, it } from 'vitest';
import { ByteQueue, Meter } from '../../sim/network/byte-queue.ts';
import { Fifo } from '../../sim/network/fifo.ts';
import { PIECES_MAX, Reassembly } from '../../sim/network/reassembly.ts';
import { drawUniform, streamKey } from '../../sim/index.ts';

/** Numbers that a test draws, the same in each run. */
function draws(name: string): (arity: number) => number {
  const key = streamKey(7, name);
  let ordinal = 0;
  return (arity) => drawUniform(key, ordinal++, arity);
}

function bytesFrom(start: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (start + index) % 251);
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

describe('ByteQueue', () => {
  it('holds the same bytes as a plain array whatever is done to it', () => {
    const draw = draws('byte-queue');
    const meter = new Meter(1 << 20);
    let queue = new ByteQueue(meter, 5);
    let first = 5;
    let last = 5;
    for (let round = 0; round < 2_000; round++) {
      const length = draw(round % 7 === 0 ? 9_000 : 40);
      switch (draw(5)) {
        case 0:
          queue.append(bytesFrom(last, length));
          last += length;
          break;
        case 1:
          queue.appendShared(bytesFrom(last, length));
          last += length;
          break;
        case 2: {
          const count = Math.min(last - first, 2 * length);
          first += count;
          queue.dropTo(first);
          break;
        }
        case 3: {
          const at = first + draw(last - first + 1);
          const count = Math.min(last - at, length);
          expect(same(queue.slice(at, count), bytesFrom(at, count))).toBe(true);
          break;
        }
        default: {
          const into = new Uint8Array(length);
          const count = queue.peek(into);
          expect(count).toBe(Math.min(length, last - first));
          expect(same(into.subarray(0, count), bytesFrom(first, count))).toBe(true);
        }
      }
      expect([queue.start, queue.end, queue.length]).toEqual([first, last, last - first]);
      expect(meter.used).toBe(last - first);
      if (round % 500 === 0) {
        const saved = queue.capture();
        queue.reset(0);
        queue = new ByteQueue(meter, 0);
        queue.restore(saved);
      }
    }
  });

  it('never writes into bytes that it gave out', () => {
    const queue = new ByteQueue(new Meter(1 << 20), 0);
    queue.append(bytesFrom(0, 10));
    queue.append(bytesFrom(10, 10));
    const view = queue.slice(10, 10);
    queue.append(bytesFrom(20, 100));
    queue.dropTo(20);
    queue.append(bytesFrom(120, 5_000));
    expect(view).toEqual(bytesFrom(10, 10));
  });

  it('gathers small writes in few chunks', () => {
    const queue = new ByteQueue(new Meter(1 << 20), 0);
    for (let at = 0; at < 20_000; at++) queue.append(bytesFrom(at, 1));
    const view = queue.slice(1, 4_096);
    expect(view.byteLength).toBe(4_096);
    expect(view.buffer.byteLength).toBe(16_384);
    expect(queue.slice(0, 20_000)).toEqual(bytesFrom(0, 20_000));
  });
});

describe('Reassembly', () => {
  it('gives each byte once and in order whatever overlaps and repeats', () => {
    const draw = draws('reassembly');
    for (let round = 0; round < 60; round++) {
      const meter = new Meter(1 << 20);
      const pieces = new Reassembly(meter);
      const total = 1 + draw(2_000);
      let next = 0;
      const out: number[] = [];
      for (let tries = 0; next < total && tries < 10_000; tries++) {
        const from = draw(total);
        const length = Math.min(total - from, 1 + draw(200));
        pieces.insert(from, bytesFrom(from, length));
        pieces.drain(next, (bytes) => {
          out.push(...bytes);
          next += bytes.length;
        });
      }
      expect(Uint8Array.from(out)).toEqual(bytesFrom(0, total));
      pieces.clear();
      expect(meter.used).toBe(0);
    }
  });

  it('keeps a bounded number of pieces and bytes', () => {
    const meter = new Meter(3_000);
    const pieces = new Reassembly(meter);
    let kept = 0;
    for (let at = 0; at < 2 * PIECES_MAX; at++) if (pieces.insert(3 * at, bytesFrom(0, 1))) kept++;
    expect(kept).toBe(PIECES_MAX);
    expect(pieces.insert(0, bytesFrom(0, 1))).toBe(true);
    pieces.clear();
    expect(pieces.insert(9, bytesFrom(0, 3_001))).toBe(false);
  });
});

describe('Fifo', () => {
  it('gives items back in order', () => {
    const draw = draws('fifo');
    const fifo = new Fifo<number>();
    let pushed = 0;
    let taken = 0;
    for (let round = 0; round < 10_000; round++) {
      if (draw(2) === 0) fifo.push(pushed++);
      else if (taken < pushed) expect(fifo.shift()).toBe(taken++);
      else expect(fifo.shift()).toBe(undefined);
      expect(fifo.length).toBe(pushed - taken);
      expect(fifo.peek()).toBe(taken < pushed ? taken : undefined);
    }
    expect(fifo.list()).toEqual(Array.from({ length: pushed - taken }, (_, i) => taken + i));
  });
});
