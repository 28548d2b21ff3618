import { assert } from './assert.ts';
import { streamKey, type StreamKey } from './draw.ts';

/**
 * A named sequence of decisions. A decision's address is (stream, ordinal); the ordinal counts
 * within the stream. Names look like `node/n2/net/send`. A handle may be kept: it stays valid
 * when a checkpoint is restored.
 */
export interface Stream {
  readonly name: string;
  /** The place among the streams that have decided, or -1 before the first decision. */
  index: number;
  key: StreamKey;
  /** The ordinal of the next decision. */
  ordinal: number;
  /** The arity of the last decision, to leave it out of the log while it does not change. */
  arity: number;
}

export interface StreamTableState {
  readonly seed: number;
  readonly streams: readonly {
    readonly name: string;
    readonly ordinal: number;
    readonly arity: number;
  }[];
}

/** All streams of one run; those that have decided are numbered in order of first use. */
export class StreamTable {
  private seedNow: number;
  private readonly byName = new Map<string, Stream>();
  private used: Stream[] = [];

  constructor(seed: number) {
    this.seedNow = seed;
  }

  /** The seed that present draws come from. */
  get seed(): number {
    return this.seedNow;
  }

  /** The stream of that name; it is made if there is none. */
  get(name: string): Stream {
    let stream = this.byName.get(name);
    if (stream === undefined) {
      const key = streamKey(this.seedNow, name);
      stream = { name, index: -1, key, ordinal: 0, arity: 0 };
      this.byName.set(name, stream);
    }
    return stream;
  }

  /** Numbers a stream at its first decision. */
  register(stream: Stream): void {
    assert(stream.index === -1, 'a stream is numbered once');
    stream.index = this.used.length;
    this.used.push(stream);
  }

  /** From here on all draws come from another seed; ordinals go on. */
  reseed(seed: number): void {
    this.seedNow = seed;
    for (const stream of this.byName.values()) stream.key = streamKey(seed, stream.name);
  }

  capture(): StreamTableState {
    const streams = this.used.map(({ name, ordinal, arity }) => ({ name, ordinal, arity }));
    return { seed: this.seedNow, streams };
  }

  restore(state: StreamTableState): void {
    this.seedNow = state.seed;
    for (const stream of this.byName.values()) {
      stream.key = streamKey(state.seed, stream.name);
      stream.index = -1;
      stream.ordinal = 0;
      stream.arity = 0;
    }
    this.used = [];
    for (const saved of state.streams) {
      const stream = this.get(saved.name);
      this.register(stream);
      stream.ordinal = saved.ordinal;
      stream.arity = saved.arity;
    }
  }
}
