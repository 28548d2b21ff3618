import { describe, expect, it } from 'vitest';
import { drawUniform, EventQueue, streamKey } from '../../sim/index.ts';

const key = streamKey(3, 'queue-test');

function filled(count: number): EventQueue<number> {
  const queue = new EventQueue<number>();
  for (let index = 0; index < count; index++) {
    const draw = (lane: number, arity: number): number => drawUniform(key, index * 4 + lane, arity);
    queue.push(draw(0, 50), draw(1, 4) - 1, draw(2, 4) - 1, index);
  }
  return queue;
}

function drain(queue: EventQueue<number>): number[] {
  const order: number[] = [];
  while (queue.length > 0) order.push(queue.pop().payload);
  return order;
}

describe('event queue', () => {
  it('CR-112: orders by time, consumer, producer, sequence, whatever the order of pushing', () => {
    const queue = filled(2_000);
    const events = queue.capture().events;
    const sorted = [...events].sort((a, b) => {
      return (
        a.atNs - b.atNs ||
        a.consumer - b.consumer ||
        a.producer - b.producer ||
        a.sequence - b.sequence
      );
    });
    expect(drain(queue)).toEqual(sorted.map((event) => event.payload));
  });

  it('CR-112: the world (-1) comes before guests at equal times', () => {
    const queue = new EventQueue<string>();
    queue.push(5, 0, -1, 'guest');
    queue.push(5, -1, -1, 'world');
    expect(queue.pop().payload).toBe('world');
  });

  it('goes on equally after capture and restore in the middle', () => {
    const queue = filled(500);
    for (let index = 0; index < 100; index++) queue.pop();
    const other = new EventQueue<number>();
    other.restore(queue.capture());
    queue.push(0, 0, 0, -1);
    other.push(0, 0, 0, -1);
    expect(drain(other)).toEqual(drain(queue));
  });

  it('refuses times that are not representable', () => {
    const queue = new EventQueue<number>();
    for (const atNs of [-1, 0.5, Infinity, NaN, 2 ** 53]) {
      expect(() => queue.push(atNs, 0, 0, 0)).toThrow('representable');
    }
  });
});
