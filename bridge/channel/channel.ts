import type { Duplex } from 'node:stream';

import { SimError, assert } from '../../sim/index.ts';
import { Decoder } from './decoder.ts';
import { PAYLOAD_BYTES_MAX, REPORT, encodeMessage } from './wire.ts';
import type { Message } from './wire.ts';

/** Types below this one are events of a run; those from it on answer a command. */
const ANSWER_FIRST = REPORT.HASHED;

interface Waiting {
  readonly answer: number;
  readonly resolve: (message: Message) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * One machine's channel: commands out, events and answers in. One command with an answer is under
 * way at a time. The first failure (garbage, a refusal, a closed socket, a wait that is too long)
 * is kept: every later call fails with it.
 */
export class Channel {
  private readonly stream: Duplex;
  private readonly decoder = new Decoder();
  private readonly onEvent: (message: Message) => void;
  private waiting: Waiting | undefined;
  private failure: Error | undefined;
  private early: Message | undefined;

  /** `onEvent` is called for each event, in order, before the answer that follows it. */
  constructor(stream: Duplex, onEvent: (message: Message) => void) {
    this.stream = stream;
    this.onEvent = onEvent;
    stream.on('data', (bytes: Buffer) => {
      this.receive(bytes);
    });
    stream.on('error', () => {
      this.fail(closed());
    });
    stream.on('close', () => {
      this.fail(closed());
    });
  }

  /** Sends a command that has no answer. Throws what the channel has failed with. */
  send(type: number, a: bigint, b: bigint, payload?: Uint8Array): void {
    if (this.failure !== undefined) throw this.failure;
    assert((payload?.length ?? 0) <= PAYLOAD_BYTES_MAX, 'a message fits the channel');
    this.stream.write(encodeMessage(type, a, b, payload));
  }

  /**
   * The next answer of type `answer`. Errors: `backend/refused`, `backend/channel`,
   * `backend/timeout`, or what `fail` was called with.
   */
  receiveAnswer(answer: number, timeoutMs: number): Promise<Message> {
    assert(this.waiting === undefined, 'one command is under way at a time');
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const early = this.early;
    if (early?.type === answer) {
      this.early = undefined;
      return Promise.resolve(early);
    }
    return new Promise<Message>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.fail(late(timeoutMs));
      }, timeoutMs);
      this.waiting = { answer, resolve, reject, timer };
    });
  }

  /** Ends all waiting with `error`; the first call decides, later ones change nothing. */
  fail(error: Error): void {
    this.failure ??= error;
    const waiting = this.waiting;
    this.waiting = undefined;
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    waiting.reject(this.failure);
  }

  /** Closes the socket, which ends the machine behind it. */
  close(): void {
    this.fail(closed());
    this.stream.destroy();
  }

  private receive(bytes: Buffer): void {
    if (this.failure !== undefined) return;
    try {
      this.decoder.push(bytes, (message) => {
        this.take(message);
      });
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private take(message: Message): void {
    if (message.type === REPORT.REFUSED) {
      this.fail(refused(message));
    } else if (message.type < ANSWER_FIRST && message.type !== REPORT.STOPPED) {
      this.onEvent(message);
    } else if (this.waiting?.answer === message.type) {
      const waiting = this.waiting;
      this.waiting = undefined;
      clearTimeout(waiting.timer);
      waiting.resolve(message);
    } else if (message.type === REPORT.HELLO && this.early === undefined) {
      this.early = { ...message, payload: Buffer.from(message.payload) };
    } else {
      this.fail(
        new SimError({
          code: 'backend/channel',
          message: `the machine sent message ${message.type} when nobody had asked for it`,
          remedy: 'run `sim doctor`: QEMU and the adapter may not belong together',
        }),
      );
    }
  }
}

function closed(): SimError {
  return new SimError({
    code: 'backend/machine-ended',
    message: 'the machine closed its channel',
    remedy: 'run `sim doctor`, then repeat the run: a machine must not end by itself',
  });
}

function late(timeoutMs: number): SimError {
  return new SimError({
    code: 'backend/timeout',
    message: `the machine did not answer within ${timeoutMs} ms`,
    remedy: 'allow more time for a step, or a shorter step, if the host is slow or busy',
  });
}

function refused(message: Message): SimError {
  return new SimError({
    code: 'backend/refused',
    message: `the machine refused command ${message.a}: ${message.payload.toString('utf8', 0, 400)}`,
    remedy: 'this is a defect of the controller unless the host ran out of something',
  });
}
