import { assert } from './assert.ts';
import type { VirtualNs } from './units.ts';

/** What the queue orders by, in this order; `sequence` is unique, so the order is total. */
export interface QueueKey {
  readonly atNs: VirtualNs;
  /** Who receives: a guest index, or -1 for the world itself (which comes first at equal times). */
  readonly consumer: number;
  /** Who sent: a guest index, or -1 for the world itself. */
  readonly producer: number;
}

export interface QueuedEvent<Payload> extends QueueKey {
  readonly sequence: number;
  readonly payload: Payload;
}

/** The queue as plain data: events in heap order, and the next sequence number. */
export interface QueueState<Payload> {
  readonly next: number;
  readonly events: readonly QueuedEvent<Payload>[];
}

/** At most this many events wait at once: 2^22 of about 100 bytes stay below half a GiB. */
export const QUEUE_LENGTH_MAX = 1 << 22;

/**
 * The event queue: a 4-ary heap over (time, consumer, producer, sequence) (CR-112). Keys stand in
 * parallel arrays so that sifting touches no objects.
 */
export class EventQueue<Payload> {
  private times: Float64Array = new Float64Array(64);
  private sequences: Float64Array = new Float64Array(64);
  private consumers: Int32Array = new Int32Array(64);
  private producers: Int32Array = new Int32Array(64);
  private payloads: (Payload | undefined)[] = [];
  private count = 0;
  private nextSequence = 0;

  get length(): number {
    return this.count;
  }

  /** The time of the first event; `Infinity` when the queue is empty. */
  peekNs(): VirtualNs {
    return this.count === 0 ? Infinity : (this.times[0] as number);
  }

  /** What the first event carries; `undefined` when the queue is empty. */
  peekPayload(): Payload | undefined {
    return this.payloads[0];
  }

  /** The first event, which stays where it is. */
  peek(): QueuedEvent<Payload> {
    assert(this.count > 0, 'the queue has a first event');
    return this.at(0);
  }

  /** Whether any event carries something of that kind. */
  some(holds: (payload: Payload) => boolean): boolean {
    for (let index = 0; index < this.count; index++) {
      if (holds(this.payloads[index] as Payload)) return true;
    }
    return false;
  }

  /** Adds an event and returns its sequence number. */
  push(atNs: VirtualNs, consumer: number, producer: number, payload: Payload): number {
    assert(Number.isSafeInteger(atNs) && atNs >= 0, 'an event has a representable time');
    assert(this.count < QUEUE_LENGTH_MAX, 'the event queue is within its limit');
    if (this.count === this.times.length) this.grow();
    const sequence = this.nextSequence++;
    this.siftUp(this.count++, atNs, consumer, producer, sequence, payload);
    return sequence;
  }

  /** Takes the first event out. */
  pop(): QueuedEvent<Payload> {
    assert(this.count > 0, 'the queue has a first event');
    const event = this.at(0);
    const last = --this.count;
    const payload = this.payloads[last] as Payload;
    this.payloads[last] = undefined;
    if (last > 0) {
      this.siftDown(
        this.times[last] as number,
        this.consumers[last] as number,
        this.producers[last] as number,
        this.sequences[last] as number,
        payload,
      );
    }
    return event;
  }

  capture(): QueueState<Payload> {
    const events: QueuedEvent<Payload>[] = [];
    for (let index = 0; index < this.count; index++) events.push(this.at(index));
    events.sort((a, b) => compareQueued(a, b));
    return { next: this.nextSequence, events };
  }

  restore(state: QueueState<Payload>): void {
    this.count = 0;
    this.payloads = [];
    while (this.times.length < state.events.length) this.grow();
    for (const event of state.events) {
      this.siftUp(
        this.count++,
        event.atNs,
        event.consumer,
        event.producer,
        event.sequence,
        event.payload,
      );
    }
    this.nextSequence = state.next;
  }

  private at(index: number): QueuedEvent<Payload> {
    return {
      atNs: this.times[index] as number,
      consumer: this.consumers[index] as number,
      producer: this.producers[index] as number,
      sequence: this.sequences[index] as number,
      payload: this.payloads[index] as Payload,
    };
  }

  private grow(): void {
    const length = this.times.length * 2;
    const times = new Float64Array(length);
    times.set(this.times);
    const sequences = new Float64Array(length);
    sequences.set(this.sequences);
    const consumers = new Int32Array(length);
    consumers.set(this.consumers);
    const producers = new Int32Array(length);
    producers.set(this.producers);
    this.times = times;
    this.sequences = sequences;
    this.consumers = consumers;
    this.producers = producers;
  }

  private place(
    index: number,
    atNs: number,
    consumer: number,
    producer: number,
    sequence: number,
    payload: Payload,
  ): void {
    this.times[index] = atNs;
    this.consumers[index] = consumer;
    this.producers[index] = producer;
    this.sequences[index] = sequence;
    this.payloads[index] = payload;
  }

  private move(from: number, to: number): void {
    this.times[to] = this.times[from] as number;
    this.consumers[to] = this.consumers[from] as number;
    this.producers[to] = this.producers[from] as number;
    this.sequences[to] = this.sequences[from] as number;
    this.payloads[to] = this.payloads[from];
  }

  /** Whether the key comes before the event at `index`. */
  private before(
    atNs: number,
    consumer: number,
    producer: number,
    sequence: number,
    index: number,
  ): boolean {
    const otherNs = this.times[index] as number;
    if (atNs !== otherNs) return atNs < otherNs;
    const otherConsumer = this.consumers[index] as number;
    if (consumer !== otherConsumer) return consumer < otherConsumer;
    const otherProducer = this.producers[index] as number;
    if (producer !== otherProducer) return producer < otherProducer;
    return sequence < (this.sequences[index] as number);
  }

  private siftUp(
    start: number,
    atNs: number,
    consumer: number,
    producer: number,
    sequence: number,
    payload: Payload,
  ): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 2;
      if (!this.before(atNs, consumer, producer, sequence, parent)) break;
      this.move(parent, index);
      index = parent;
    }
    this.place(index, atNs, consumer, producer, sequence, payload);
  }

  private siftDown(
    atNs: number,
    consumer: number,
    producer: number,
    sequence: number,
    payload: Payload,
  ): void {
    let index = 0;
    for (;;) {
      const first = 4 * index + 1;
      if (first >= this.count) break;
      const end = Math.min(first + 4, this.count);
      let least = first;
      for (let child = first + 1; child < end; child++) {
        if (this.childBefore(child, least)) least = child;
      }
      if (this.before(atNs, consumer, producer, sequence, least)) break;
      this.move(least, index);
      index = least;
    }
    this.place(index, atNs, consumer, producer, sequence, payload);
  }

  private childBefore(child: number, other: number): boolean {
    return this.before(
      this.times[child] as number,
      this.consumers[child] as number,
      this.producers[child] as number,
      this.sequences[child] as number,
      other,
    );
  }
}

/** The total order of events (CR-112). */
export function compareQueued(
  a: QueueKey & { readonly sequence: number },
  b: QueueKey & { readonly sequence: number },
): number {
  return (
    a.atNs - b.atNs || a.consumer - b.consumer || a.producer - b.producer || a.sequence - b.sequence
  );
}
