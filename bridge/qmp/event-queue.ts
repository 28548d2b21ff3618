import type { SimError } from '../../sim/index.ts';
import { limitError } from './errors.ts';
import type { QmpEvent } from './schema.ts';

/**
 * Events for one reader, in their order. At most `eventCountMax` wait; a reader that falls further
 * behind gets `backend/qmp-limit` instead of a list with a hole.
 */
export class QmpEventQueue implements AsyncIterableIterator<QmpEvent> {
  private readonly eventCountMax: number;
  private readonly onEnd: (queue: QmpEventQueue) => void;
  private waiting: QmpEvent[] = [];
  private readers: Reader[] = [];
  private end: { readonly error: SimError | null } | null = null;

  constructor(eventCountMax: number, onEnd: (queue: QmpEventQueue) => void) {
    this.eventCountMax = eventCountMax;
    this.onEnd = onEnd;
  }

  push(event: QmpEvent): void {
    if (this.end !== null) return;
    const reader = this.readers.shift();
    if (reader !== undefined) {
      reader.resolve({ done: false, value: event });
    } else if (this.waiting.length < this.eventCountMax) {
      this.waiting.push(event);
    } else {
      this.waiting = [];
      this.finish(limitError('events that nobody read', this.eventCountMax));
    }
  }

  /** No more events: with null readers end once they have read what waits, else they fail. */
  finish(error: SimError | null): void {
    if (this.end !== null) return;
    this.end = { error };
    for (const reader of this.readers.splice(0)) {
      if (error === null) reader.resolve({ done: true, value: undefined });
      else reader.reject(error);
    }
    this.onEnd(this);
  }

  next(): Promise<IteratorResult<QmpEvent>> {
    const event = this.waiting.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.end !== null) {
      const { error } = this.end;
      // A failure is told once; afterwards the sequence has simply ended.
      this.end = { error: null };
      if (error !== null) return Promise.reject(error);
      return Promise.resolve({ done: true, value: undefined });
    }
    return new Promise((resolve, reject) => this.readers.push({ resolve, reject }));
  }

  /** Ends this subscription; called when a `for await` loop is left. */
  return(): Promise<IteratorResult<QmpEvent>> {
    this.waiting = [];
    this.finish(null);
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

interface Reader {
  readonly resolve: (result: IteratorResult<QmpEvent>) => void;
  readonly reject: (error: SimError) => void;
}
