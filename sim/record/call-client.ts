import { assert } from '../kernel/assert.ts';
import { ERRNO } from '../kernel/errno.ts';
import type { EventKind } from '../kernel/event-log.ts';
import type { Readiness, Wait } from '../kernel/guest.ts';
import {
  readBoolean,
  readBytes,
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { digest32 } from '../kernel/rolling-digest.ts';
import { NS_PER_MS, VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import { DIRECTIVE_KINDS, type DirectiveKind } from '../plan/directives.ts';
import type { GuestPort } from '../world/port.ts';
import { concat, encodeRequest, parseHttp } from './http-message.ts';

/** One attempt to call an operation of a service: `<node>.<operation>`. */
export interface CallRequest {
  readonly target: string;
  /** JSON: an object of arguments. */
  readonly body: Uint8Array;
  /** When the caller gives up, from now on; 0 for never. */
  readonly timeoutNs: VirtualNs;
  /**
   * Which call this is an attempt of, from 1. 0 for who does not say: then an attempt that follows
   * a failed one on the same target counts as the same call.
   */
  readonly call: number;
}

/** There is no connection, or it broke. */
export const CALL_CONNECTION = -1;
/** The caller's own time is up. */
export const CALL_TIMEOUT = -2;

export interface CallAnswer {
  /** The status of HTTP, or CALL_CONNECTION or CALL_TIMEOUT. */
  readonly status: number;
  /** What a retry-after header said, or 0. */
  readonly retryAfterMs: number;
  readonly body: Uint8Array;
}

/** The port on which services listen that are called by their operation. */
export const CALL_PORT = 80;

interface Pending {
  readonly request: CallRequest;
  readonly attempt: number;
  readonly callNumber: number;
  readonly directive: DirectiveKind;
  readonly status: number;
  readonly retryAfterMs: number;
  /** When the caller gives up; -1 for never. */
  readonly deadlineNs: VirtualNs;
  /** Nothing happens before this time. */
  readonly beginsNs: VirtualNs;
  phase: 'begin' | 'connect' | 'send' | 'receive' | 'lost' | 'hang';
  socket: number;
  sent: number;
  input: Uint8Array;
}

interface Counter {
  readonly target: string;
  call: number;
  attempt: number;
  hasFailed: boolean;
}

/** All that a client keeps, as plain data. */
export interface CallClientState {
  readonly pending: Readonly<Pending> | null;
  readonly counters: readonly Readonly<Counter>[];
}

/** Targets that one guest calls at most; the attempts of each are counted. */
const TARGETS_MAX = 1_000;
/** Arguments and answers, with their heads. */
const REQUEST_BYTES_MAX = 2 * 1024 * 1024;
const whole = readInteger(-1, VIRTUAL_NS_MAX);

/** Reads what `capture` gave; anything else is refused with `bundle/shape`. */
export const readCallClient: Read<CallClientState> = readRecord<CallClientState>({
  pending: readNullable(
    readRecord<Pending>({
      request: readRecord<CallRequest>({
        target: readText(),
        body: readBytes(REQUEST_BYTES_MAX),
        timeoutNs: whole,
        call: whole,
      }),
      attempt: whole,
      callNumber: whole,
      directive: readWord(DIRECTIVE_KINDS),
      status: whole,
      retryAfterMs: whole,
      deadlineNs: whole,
      beginsNs: whole,
      phase: readWord(['begin', 'connect', 'send', 'receive', 'lost', 'hang']),
      socket: whole,
      sent: whole,
      input: readBytes(REQUEST_BYTES_MAX * 2),
    }),
  ),
  counters: readList(
    readRecord<Counter>({
      target: readText(),
      call: whole,
      attempt: whole,
      hasFailed: readBoolean,
    }),
    TARGETS_MAX,
  ),
});

const READ_BYTES = 64 * 1024;
const NOTHING = new Uint8Array(0);

/**
 * The calling side of record worlds, for guests that call through the host: one attempt at a time,
 * over TCP and HTTP of the simulated network. What the plan's directives inject comes in here,
 * below any retrying of the guest (KS-10). Each attempt leaves a marker for who judges the run.
 */
export class CallClient {
  private readonly port: GuestPort;
  private readonly attemptKind: EventKind;
  private readonly crashKind: EventKind;
  private readonly counters = new Map<string, Counter>();
  private pending: Pending | null = null;

  constructor(port: GuestPort) {
    this.port = port;
    this.attemptKind = port.eventKind('call/attempt');
    this.crashKind = port.eventKind(CRASH_EFFECT);
  }

  get isPending(): boolean {
    return this.pending !== null;
  }

  /** Begins an attempt; `poll` carries it on. */
  begin(request: CallRequest): void {
    assert(this.pending === null, 'a guest makes one call at a time');
    const { port } = this;
    const { nowNs } = port;
    const { callNumber, attempt } = this.count(request);
    const directive = port.directive(request.target);
    this.pending = {
      request,
      attempt,
      callNumber,
      directive: directive?.kind ?? 'ok',
      status: directive?.status ?? 0,
      retryAfterMs: directive?.retryAfterMs ?? 0,
      deadlineNs: request.timeoutNs === 0 ? -1 : nowNs + request.timeoutNs,
      beginsNs: nowNs + (directive?.delayNs ?? 0),
      phase: 'begin',
      socket: 0,
      sent: 0,
      input: NOTHING,
    };
  }

  /** The answer, or what to wait for before this is called again. */
  poll(): { readonly answer: CallAnswer } | { readonly wait: Wait } {
    const { pending } = this;
    assert(pending !== null, 'a call is under way');
    const { deadlineNs } = pending;
    if (deadlineNs >= 0 && this.port.nowNs >= deadlineNs && pending.phase !== 'hang') {
      return this.end({ status: CALL_TIMEOUT, retryAfterMs: 0, body: NOTHING });
    }
    switch (pending.phase) {
      case 'begin':
        return this.start(pending);
      case 'connect':
        return this.connect(pending);
      case 'send':
        return this.send(pending);
      case 'receive':
        return this.receive(pending);
      case 'lost':
        return this.lose(pending);
      case 'hang':
        return { wait: { deadlineNs: null, interests: [] } };
    }
  }

  capture(): CallClientState {
    const { pending } = this;
    return {
      pending: pending === null ? null : { ...pending, request: { ...pending.request } },
      counters: [...this.counters.values()].map((each) => ({ ...each })),
    };
  }

  restore({ pending, counters }: CallClientState): void {
    this.pending = pending === null ? null : { ...pending };
    this.counters.clear();
    for (const counter of counters) this.counters.set(counter.target, { ...counter });
  }

  private start(pending: Pending): ReturnType<CallClient['poll']> {
    const { beginsNs, directive, status, retryAfterMs, deadlineNs } = pending;
    if (this.port.nowNs < beginsNs) return { wait: this.until(pending, beginsNs, []) };
    switch (directive) {
      case 'conn':
        return this.end({ status: CALL_CONNECTION, retryAfterMs: 0, body: NOTHING });
      case '5xx':
      case '429':
      case 'http':
        return this.end({ status, retryAfterMs, body: INJECTED_BODY });
      case 'timeout-before':
        if (deadlineNs >= 0) return { wait: this.until(pending, deadlineNs, []) };
        return this.end({ status: CALL_TIMEOUT, retryAfterMs: 0, body: NOTHING });
      case 'crash':
        // Whoever watches for this effect ends the node before it goes on.
        this.tell(pending, 'crash');
        this.port.effect(this.crashKind, digest32(encodeUtf8(pending.request.target)), 0);
        pending.phase = 'hang';
        return { wait: { deadlineNs: null, interests: [] } };
      case 'ok':
      case 'timeout-after':
        return this.open(pending);
    }
  }

  private open(pending: Pending): ReturnType<CallClient['poll']> {
    const { sockets } = this.port;
    const [node, operation] = splitTarget(pending.request.target);
    const [address] = sockets.resolve(node);
    const socket = address === undefined || operation === '' ? -1 : sockets.open('tcp');
    if (socket <= 0) return this.broken();
    pending.socket = socket;
    const result = sockets.connect(socket, address as number, CALL_PORT);
    if (result < 0 && result !== -ERRNO.INPROGRESS) return this.broken();
    pending.phase = 'connect';
    return this.connect(pending);
  }

  private connect(pending: Pending): ReturnType<CallClient['poll']> {
    const result = this.port.sockets.connectResult(pending.socket);
    if (result === -ERRNO.INPROGRESS) return this.waitFor(pending, 'write');
    if (result < 0) return this.broken();
    pending.phase = 'send';
    return this.send(pending);
  }

  private send(pending: Pending): ReturnType<CallClient['poll']> {
    const { target, body } = pending.request;
    const [host, operation] = splitTarget(target);
    const bytes = encodeRequest({ path: `/${operation}`, host, body });
    while (pending.sent < bytes.length) {
      const sent = this.port.sockets.send(pending.socket, bytes.subarray(pending.sent));
      if (sent === -ERRNO.AGAIN) return this.waitFor(pending, 'write');
      if (sent < 0) return this.broken();
      pending.sent += sent;
    }
    pending.phase = 'receive';
    return this.receive(pending);
  }

  private receive(pending: Pending): ReturnType<CallClient['poll']> {
    const buffer = new Uint8Array(READ_BYTES);
    for (;;) {
      const count = this.port.sockets.receive(pending.socket, buffer, false);
      if (count === -ERRNO.AGAIN) return this.waitFor(pending, 'read');
      if (count <= 0) return this.broken();
      pending.input = concat(pending.input, buffer.subarray(0, count));
      const parsed = parseHttp(pending.input);
      if (parsed.kind === 'bad') return this.broken();
      if (parsed.kind === 'partial') continue;
      const { startLine, headers, body } = parsed.message;
      const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(startLine)?.[1] ?? '0');
      if (status === 0) return this.broken();
      if (pending.directive === 'timeout-after') return this.lose(pending);
      const seconds = Number(/^\d{1,5}$/.exec(headers.get('retry-after') ?? '')?.[0] ?? '0');
      return this.end({ status, retryAfterMs: seconds * 1_000, body: body.slice() });
    }
  }

  /** The answer has come and is lost on the way: the caller's own timer ends the attempt. */
  private lose(pending: Pending): ReturnType<CallClient['poll']> {
    const { deadlineNs } = pending;
    pending.phase = 'lost';
    if (deadlineNs >= 0) return { wait: this.until(pending, deadlineNs, []) };
    return this.end({ status: CALL_TIMEOUT, retryAfterMs: 0, body: NOTHING });
  }

  private broken(): ReturnType<CallClient['poll']> {
    return this.end({ status: CALL_CONNECTION, retryAfterMs: 0, body: NOTHING });
  }

  private end(answer: CallAnswer): ReturnType<CallClient['poll']> {
    const { pending, port } = this;
    assert(pending !== null, 'a call that ends was under way');
    if (pending.socket > 0) port.sockets.close(pending.socket);
    const counter = this.counters.get(pending.request.target);
    if (counter !== undefined) {
      counter.hasFailed = answer.status < 0 || answer.status >= 500 || answer.status === 429;
    }
    port.effect(this.attemptKind, digest32(answer.body), answer.status);
    this.tell(pending, answer.status);
    this.pending = null;
    return { answer };
  }

  private count({ target, call }: CallRequest): { callNumber: number; attempt: number } {
    let counter = this.counters.get(target);
    if (counter === undefined) {
      counter = { target, call: 0, attempt: 0, hasFailed: false };
      if (this.counters.size < TARGETS_MAX) this.counters.set(target, counter);
    }
    const isAgain = call === 0 ? counter.hasFailed : call === counter.call;
    counter.attempt = isAgain ? counter.attempt + 1 : 1;
    counter.call = call === 0 ? counter.call + (isAgain ? 0 : 1) : call;
    return { callNumber: counter.call, attempt: counter.attempt };
  }

  private tell(
    { request, attempt, callNumber, directive }: Pending,
    status: number | string,
  ): void {
    const details = { target: request.target, call: callNumber, attempt, directive, status };
    const line = JSON.stringify({ kind: 'log', name: ATTEMPT_MARKER, details });
    this.port.marker(encodeUtf8(line));
  }

  private waitFor(pending: Pending, readiness: Readiness): { readonly wait: Wait } {
    const interests = [{ socket: pending.socket, readiness }];
    return { wait: this.until(pending, Infinity, interests) };
  }

  private until({ deadlineNs }: Pending, atNs: VirtualNs, interests: Wait['interests']): Wait {
    const least = deadlineNs < 0 ? atNs : Math.min(atNs, deadlineNs);
    return { deadlineNs: least === Infinity ? null : least, interests };
  }
}

/** The effect that a directive `crash` leaves: a plan kills the node when it comes. */
export const CRASH_EFFECT = 'call/crash';
/** The name of the marker that each attempt leaves. */
export const ATTEMPT_MARKER = 'call/attempt';

/** What an injected status carries; a client reads it as any other error. */
const INJECTED_BODY = encodeUtf8('{"error":{"kind":"internal","message":"injected"}}');

/** `shop.issue_refund` is the operation `issue_refund` of the node `shop`. */
function splitTarget(target: string): [node: string, operation: string] {
  const dot = target.indexOf('.');
  return dot < 0 ? [target, ''] : [target.slice(0, dot), target.slice(dot + 1)];
}

/** A span in milliseconds as guests give it; negative or none is no limit. */
export function timeoutOfMs(ms: unknown): VirtualNs {
  return typeof ms === 'number' && ms > 0 ? Math.floor(ms) * NS_PER_MS : 0;
}
