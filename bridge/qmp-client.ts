import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { assert, SimError } from '../sim/index.ts';
import {
  disconnectedError,
  limitError,
  protocolError,
  refusedError,
  timeoutError,
} from './qmp/errors.ts';
import { QmpEventQueue } from './qmp/event-queue.ts';
import { LineFramer } from './qmp/framer.ts';
import {
  QMP_COMMANDS,
  QMP_EVENTS,
  qmpGreeting,
  qmpMessage,
  type QmpAnswer,
  type QmpArguments,
  type QmpCommandName,
  type QmpEvent,
  type QmpEventName,
  type QmpKnownEvent,
  type QmpMessage,
  type QmpOutOfBandName,
  type QmpVersion,
} from './qmp/schema.ts';

/** Limits of one connection. Times are of the host's clock. */
export interface QmpOptions {
  /** How long an answer, or the greeting, may take (10 s). */
  readonly timeoutMs?: number;
  /** The longest message that is read (16 MiB; QEMU's whole schema is 0.2 MiB). */
  readonly messageByteCountMax?: number;
  /** Events that wait for a reader (4096). */
  readonly eventCountMax?: number;
}

export interface QmpCallOptions {
  readonly timeoutMs?: number;
}

/** QEMU suspends a monitor with more than so many commands (`QMP_REQ_QUEUE_LEN_MAX`). */
const IN_FLIGHT_MAX = 8;
/** Commands that wait for their turn or their answer. */
const PENDING_MAX = 1024;
/** Answers that were given up and may still come. */
const ABANDONED_MAX = 1024;
const DEFAULTS = { timeoutMs: 10_000, messageByteCountMax: 16 * 1024 * 1024, eventCountMax: 4096 };

interface Request {
  readonly id: number;
  readonly command: QmpCommandName;
  readonly text: string;
  readonly outOfBand: boolean;
  readonly settle: (result: { readonly value: unknown } | { readonly error: SimError }) => void;
}

/**
 * A client of the QEMU Machine Protocol (QEMU's docs/interop/qmp-spec.rst) on one connection.
 *
 * Answers are matched to commands by their id. What we send and what comes back is checked against
 * `QMP_COMMANDS`. Whatever else the other side says ends the connection with
 * `backend/qmp-protocol`; then every open call fails with the same error. Nothing here is exact in
 * virtual time: the monitor serves start-up, migration and inspection, never a run's own effects.
 */
export class QmpClient {
  readonly version: QmpVersion;
  /** Whether out-of-band commands were negotiated. */
  readonly outOfBand: boolean;
  private readonly stream: Duplex;
  private readonly options: Required<QmpOptions>;
  private readonly sent = new Map<number, Request>();
  private readonly queued: Request[] = [];
  private readonly abandoned = new Set<number>();
  private readonly subscribers = new Set<QmpEventQueue>();
  private inBandCount = 0;
  private lastId = 0;
  private failure: SimError | null = null;

  private constructor(greeted: Greeted, options: Required<QmpOptions>) {
    this.stream = greeted.stream;
    this.version = greeted.version;
    this.outOfBand = greeted.capabilities.includes('oob');
    this.options = options;
  }

  /** Connects to the Unix socket at `path` and negotiates. */
  static async connect(path: string, options: QmpOptions = {}): Promise<QmpClient> {
    return QmpClient.over(connect({ path }), options);
  }

  /**
   * Negotiates on a stream that is connected, or about to be; it belongs to the client from now on.
   * Errors: `backend/qmp-disconnected`, `backend/qmp-timeout`, `backend/qmp-protocol`,
   * `backend/qmp-limit`.
   */
  static async over(stream: Duplex, options: QmpOptions = {}): Promise<QmpClient> {
    const all = { ...DEFAULTS, ...options };
    const reader = new Greeter(stream, all);
    const greeted = await reader.greeting();
    const client = new QmpClient(greeted, all);
    reader.handOver({
      line: (line) => client.readLine(line),
      end: (error) => client.fail(error),
    });
    const enable = client.outOfBand ? { enable: ['oob' as const] } : {};
    try {
      await client.execute('qmp_capabilities', enable);
    } catch (error) {
      client.close();
      throw error;
    }
    return client;
  }

  /**
   * Runs a command. Errors: `backend/qmp-refused` when QEMU says no, `backend/qmp-timeout` (the
   * command may still run; its late answer is dropped), and those that end the connection.
   */
  execute<Name extends QmpCommandName>(
    command: Name,
    args: QmpArguments<Name>,
    options: QmpCallOptions = {},
  ): Promise<QmpAnswer<Name>> {
    return this.call('execute', command, args, options);
  }

  /** As `execute`, past the queue: answered even while QEMU's main loop is busy. */
  executeOutOfBand<Name extends QmpOutOfBandName>(
    command: Name,
    args: QmpArguments<Name>,
    options: QmpCallOptions = {},
  ): Promise<QmpAnswer<Name>> {
    if (!this.outOfBand) {
      return Promise.reject(refusedError(command, 'NoOutOfBand', 'this QEMU does not offer it'));
    }
    return this.call('exec-oob', command, args, options);
  }

  /** Events from now on, for one reader. Ends when the connection does. */
  events(): AsyncIterableIterator<QmpEvent> {
    return this.subscribe();
  }

  /** The next event of this name. Subscribe before what causes it: call this, then `execute`. */
  async nextEvent<Name extends QmpEventName>(
    name: Name,
    options: QmpCallOptions = {},
  ): Promise<QmpKnownEvent<Name>> {
    const events = this.subscribe();
    const timeoutMs = options.timeoutMs ?? this.options.timeoutMs;
    const timer = setTimeout(() => {
      events.finish(timeoutError(`with the event ${name}`, timeoutMs));
    }, timeoutMs);
    try {
      for await (const event of events) {
        if (event.name === name) return event as QmpKnownEvent<Name>;
      }
      throw disconnectedError(`no event ${name} can come any more`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the connection; open calls fail with `backend/qmp-disconnected`. QEMU goes on. */
  close(): void {
    this.fail(disconnectedError('it was closed on this side'));
  }

  private call<Name extends QmpCommandName>(
    verb: 'execute' | 'exec-oob',
    command: Name,
    args: QmpArguments<Name>,
    options: QmpCallOptions,
  ): Promise<QmpAnswer<Name>> {
    assert(QMP_COMMANDS[command].takes.safeParse(args).success, `${command} takes these arguments`);
    if (this.failure !== null) return Promise.reject(this.failure);
    if (this.queued.length + this.sent.size >= PENDING_MAX) {
      return Promise.reject(limitError('commands without an answer', PENDING_MAX));
    }
    const id = ++this.lastId;
    const timeoutMs = options.timeoutMs ?? this.options.timeoutMs;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.giveUp(request, timeoutMs), timeoutMs);
      const request: Request = {
        id,
        command,
        text: `${JSON.stringify({ [verb]: command, arguments: args, id })}\n`,
        outOfBand: verb === 'exec-oob',
        settle: (result) => {
          clearTimeout(timer);
          if ('error' in result) reject(result.error);
          else this.resolveAnswer(command, result.value, resolve, reject);
        },
      };
      if (request.outOfBand) this.send(request);
      else this.queued.push(request);
      this.sendQueued();
    });
  }

  private resolveAnswer<Name extends QmpCommandName>(
    command: Name,
    value: unknown,
    resolve: (answer: QmpAnswer<Name>) => void,
    reject: (error: SimError) => void,
  ): void {
    const read = QMP_COMMANDS[command].answers.safeParse(value);
    // The schema was looked up by the command's own name.
    if (read.success) return resolve(read.data as QmpAnswer<Name>);
    const error = protocolError(`the answer to ${command} has another form`, read.error);
    reject(error);
    this.fail(error);
  }

  private subscribe(): QmpEventQueue {
    const queue = new QmpEventQueue(this.options.eventCountMax, (ended) => {
      this.subscribers.delete(ended);
    });
    if (this.failure !== null) queue.finish(this.failure);
    else this.subscribers.add(queue);
    return queue;
  }

  private sendQueued(): void {
    while (this.failure === null && this.inBandCount < IN_FLIGHT_MAX) {
      const request = this.queued.shift();
      if (request === undefined) return;
      this.send(request);
    }
  }

  private send(request: Request): void {
    this.sent.set(request.id, request);
    if (!request.outOfBand) this.inBandCount++;
    this.stream.write(request.text);
  }

  private giveUp(request: Request, timeoutMs: number): void {
    const index = this.queued.indexOf(request);
    if (index >= 0) this.queued.splice(index, 1);
    // It still counts as in flight: QEMU holds it until it answers.
    if (this.sent.delete(request.id)) this.abandoned.add(request.id);
    request.settle({ error: timeoutError(request.command, timeoutMs) });
    if (this.abandoned.size > ABANDONED_MAX) {
      this.fail(limitError('answers that never came', ABANDONED_MAX));
    }
  }

  private readLine(line: string): void {
    if (this.failure !== null || line.trim() === '') return;
    const message = parseMessage(line);
    if ('event' in message) this.readEvent(message);
    else this.readAnswer(message);
  }

  private readAnswer(message: Exclude<QmpMessage, { event: string }>): void {
    const { id } = message;
    // QEMU refuses what it cannot parse without an id; what we send can be parsed.
    if (id === undefined) throw protocolError('it refused a command that has no id');
    const request = this.sent.get(id);
    if (request === undefined) {
      if (!this.abandoned.delete(id)) throw protocolError('an answer to no command of ours');
      this.inBandCount--;
      return this.sendQueued();
    }
    this.sent.delete(id);
    if (!request.outOfBand) this.inBandCount--;
    if ('error' in message) {
      const { class: className, desc } = message.error;
      request.settle({ error: refusedError(request.command, className, desc) });
    } else {
      request.settle({ value: message.return });
    }
    this.sendQueued();
  }

  private readEvent(message: Extract<QmpMessage, { event: string }>): void {
    const event = toEvent(message);
    for (const subscriber of [...this.subscribers]) subscriber.push(event);
  }

  private fail(error: SimError): void {
    if (this.failure !== null) return;
    this.failure = error;
    const open = [...this.sent.values(), ...this.queued];
    this.sent.clear();
    this.queued.length = 0;
    for (const request of open) request.settle({ error });
    for (const subscriber of [...this.subscribers]) subscriber.finish(error);
    this.stream.destroy();
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw protocolError('a message is not JSON', error);
  }
}

function parseMessage(line: string): QmpMessage {
  const read = qmpMessage.safeParse(parseJson(line));
  if (!read.success) throw protocolError('a message of an unknown form', read.error);
  return read.data;
}

function toEvent(message: Extract<QmpMessage, { event: string }>): QmpEvent {
  const { seconds, microseconds } = message.timestamp;
  const hostMicroseconds = seconds * 1_000_000 + microseconds;
  const name = message.event;
  if (!Object.hasOwn(QMP_EVENTS, name)) {
    return { name: 'other', event: name, data: message.data, hostMicroseconds };
  }
  const read = QMP_EVENTS[name as QmpEventName].safeParse(message.data ?? {});
  if (!read.success) throw protocolError(`the event ${name} has another form`, read.error);
  // The schema was looked up by the event's own name.
  return { name, data: read.data, hostMicroseconds } as QmpEvent;
}

interface Greeted {
  readonly stream: Duplex;
  readonly version: QmpVersion;
  readonly capabilities: readonly string[];
}

interface Receiver {
  readonly line: (line: string) => void;
  readonly end: (error: SimError) => void;
}

/** Reads lines from the stream: first the greeting, then for the client. */
class Greeter {
  private readonly stream: Duplex;
  private readonly framer: LineFramer;
  private readonly timeoutMs: number;
  private receiver: Receiver | null = null;
  /** Why the stream ended while nobody listened: between the greeting and the client. */
  private ended: SimError | null = null;

  constructor(stream: Duplex, options: Required<QmpOptions>) {
    this.stream = stream;
    this.framer = new LineFramer(options.messageByteCountMax);
    this.timeoutMs = options.timeoutMs;
    stream.on('data', (chunk: Uint8Array) => this.read(chunk));
    stream.on('error', (error) => this.receiver?.end(disconnectedError('an error', error)));
    stream.on('end', () => this.receiver?.end(disconnectedError('QEMU ended it')));
    stream.on('close', () => this.receiver?.end(disconnectedError('QEMU ended it')));
  }

  greeting(): Promise<Greeted> {
    return new Promise((resolve, reject) => {
      const end = (error: SimError): void => {
        clearTimeout(timer);
        this.receiver = null;
        this.ended = error;
        this.stream.destroy();
        reject(error);
      };
      const timer = setTimeout(() => {
        end(timeoutError('with its greeting', this.timeoutMs));
      }, this.timeoutMs);
      const line = (text: string): void => {
        if (text.trim() === '') return;
        const read = qmpGreeting.safeParse(parseJson(text));
        if (!read.success) throw protocolError('its first message is no greeting', read.error);
        clearTimeout(timer);
        // Until the client takes over, anything that comes is out of turn.
        this.receiver = { line: outOfTurn, end };
        resolve({ stream: this.stream, ...read.data.QMP });
      };
      this.receiver = { line, end };
    });
  }

  handOver(receiver: Receiver): void {
    this.receiver = receiver;
    if (this.ended !== null) receiver.end(this.ended);
  }

  private read(chunk: Uint8Array): void {
    try {
      for (const line of this.framer.push(chunk)) this.receiver?.line(line);
    } catch (error) {
      this.receiver?.end(error instanceof SimError ? error : protocolError('unexpected', error));
    }
  }
}

function outOfTurn(): never {
  throw protocolError('it spoke before the negotiation');
}
