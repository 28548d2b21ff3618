import { assert } from '../kernel/assert.ts';
import { encodeCanonical } from '../kernel/canonical.ts';
import { ERRNO } from '../kernel/errno.ts';
import type { Effect, Guest, GuestImage, Interest, Outcome } from '../kernel/guest.ts';
import type { EventKind } from '../kernel/event-log.ts';
import { digest32, RollingDigest } from '../kernel/rolling-digest.ts';
import { EPOCH_SECONDS, type VirtualNs } from '../kernel/units.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import type { GuestPort } from '../world/port.ts';
import type { HandlerTable } from './handler.ts';
import { bodyText, concat, encodeResponse, parseHttp, type HttpMessage } from './http-message.ts';
import { failure, replyHttp, routeHttp, type HttpCall, type HttpReply } from './http-routes.ts';
import type { RecordImage } from './record-image.ts';
import { RecordService, type RecordServiceState } from './record-service.ts';

const IMAGE_KIND = 'record';
const IMAGE_VERSION = 1;
/** Connections that are served at a time; more wait in the listener's queue. */
export const CONNECTIONS_MAX = 256;
const BACKLOG = 1_024;
const READ_BYTES = 64 * 1024;

/** A client's connection, as plain data. */
interface Connection {
  readonly socket: number;
  input: Uint8Array;
  output: Uint8Array;
  /** The call that its latency keeps, or null. */
  call: {
    readonly http: HttpCall;
    readonly dueNs: VirtualNs;
    readonly latencyNs: VirtualNs;
  } | null;
  /** It never gets an answer: the client's own timer ends it. */
  isSilent: boolean;
  /** It is closed once the output is sent. */
  closes: boolean;
}

interface RecordGuestState {
  readonly listener: number;
  readonly connections: readonly Connection[];
  readonly service: RecordServiceState;
}

/**
 * A guest of kind `record`: a record world as an HTTP and JSON-RPC service on the simulated
 * network. It takes no time besides the latency that its profile says; each attempt is a line of
 * JSON on its console, which is the trace (FH-38).
 */
export class RecordGuest implements Guest {
  readonly instructions = 0;
  private readonly port: GuestPort;
  private readonly image: RecordImage;
  private readonly service: RecordService;
  private readonly callKind: EventKind;
  private readonly buffer = new Uint8Array(READ_BYTES);
  private listener = 0;
  private connections: Connection[] = [];

  constructor(image: RecordImage, handlers: HandlerTable, port: GuestPort) {
    this.image = image;
    this.port = port;
    this.callKind = port.eventKind('record/call');
    this.service = new RecordService({
      def: image.def,
      handlers,
      faults: image.faults,
      decisions: port.decisions,
      scope: `node/${port.name}/record`,
      runIndex: 0,
      onCall: (event) => {
        const line = encodeUtf8(`${JSON.stringify(event)}\n`);
        port.effect(this.callKind, digest32(line), event.world_rev);
        port.console(1, line);
      },
    });
  }

  resume(outcome: Outcome): Effect {
    const { port } = this;
    port.nowNs = outcome.atNs;
    port.observedNs = outcome.atNs;
    if (this.listener === 0) this.listen();
    this.accept();
    for (const connection of this.connections) this.read(connection);
    this.answerDue();
    for (const connection of this.connections) this.write(connection);
    this.connections = this.connections.filter((each) => !this.isOver(each));
    return { kind: 'wait', atNs: outcome.atNs, wait: this.wait() };
  }

  capture(): GuestImage {
    const state: RecordGuestState = {
      listener: this.listener,
      connections: this.connections.map((each) => ({ ...each })),
      service: this.service.capture(),
    };
    // Arguments of calls may hold fractions, which canonical data has not: JSON has.
    const calls = this.connections.map(({ call }) => JSON.stringify(call));
    const connections = state.connections.map(({ call, ...rest }, index) => {
      return { ...rest, call: call === null ? null : (calls[index] as string) };
    });
    return {
      kind: IMAGE_KIND,
      version: IMAGE_VERSION,
      pages: new Map(),
      state: { ...state, connections },
    };
  }

  restore(image: GuestImage): void {
    assert(image.kind === IMAGE_KIND && image.version === IMAGE_VERSION, 'an image of this kind');
    const state = image.state as SavedState;
    this.listener = state.listener;
    this.connections = state.connections.map(({ call, ...rest }) => {
      return { ...rest, call: call === null ? null : (JSON.parse(call) as Connection['call']) };
    });
    this.service.restore(state.service);
  }

  digest(): string {
    const digest = new RollingDigest();
    digest.update(encodeCanonical(this.capture().state));
    return digest.hex();
  }

  dispose(): void {
    return;
  }

  private listen(): void {
    const { sockets } = this.port;
    this.listener = sockets.open('tcp');
    assert(this.listener > 0, 'a fresh node has room for a socket');
    sockets.setOption(this.listener, 'reuse-address', 1);
    const bound = sockets.bind(this.listener, 0, this.image.port);
    assert(bound === 0 && sockets.listen(this.listener, BACKLOG) === 0, 'its port is free');
  }

  private accept(): void {
    const { sockets } = this.port;
    while (this.connections.length < CONNECTIONS_MAX) {
      const socket = sockets.accept(this.listener);
      if (socket <= 0) return;
      this.connections.push({
        socket,
        input: NOTHING,
        output: NOTHING,
        call: null,
        isSilent: false,
        closes: false,
      });
    }
  }

  /** Reads while there is nothing to answer, so that a client's haste fills no memory here. */
  private read(connection: Connection): void {
    while (this.wantsInput(connection)) {
      const count = this.port.sockets.receive(connection.socket, this.buffer, false);
      if (count === -ERRNO.AGAIN) return;
      if (count <= 0) {
        connection.closes = true;
        connection.input = NOTHING;
        connection.isSilent = false;
        if (count < 0) connection.output = NOTHING;
        return;
      }
      if (connection.isSilent) continue;
      connection.input = concat(connection.input, this.buffer.slice(0, count));
      this.take(connection);
    }
  }

  /** Takes the next request out of the input, if one is whole. */
  private take(connection: Connection): void {
    if (connection.call !== null || connection.closes || connection.isSilent) return;
    const parsed = parseHttp(connection.input);
    if (parsed.kind === 'partial') return;
    if (parsed.kind === 'bad') {
      connection.closes = true;
      connection.input = NOTHING;
      this.put(connection, failure(parsed.status, 'invalid', parsed.why));
      return;
    }
    const { message } = parsed;
    connection.input = connection.input.slice(message.byteCount);
    this.route(connection, message);
  }

  private route(connection: Connection, message: HttpMessage): void {
    const [method = '', path = '', version = ''] = message.startLine.split(' ');
    const keeps = version === 'HTTP/1.1' && message.headers.get('connection') !== 'close';
    connection.closes = !keeps;
    if (!/^HTTP\/1\.[01]$/.test(version) || !path.startsWith('/')) {
      connection.closes = true;
      this.put(connection, failure(400, 'invalid', 'the request line is malformed'));
      return;
    }
    const routed = routeHttp(this.image.def, { method, path, body: bodyText(message) });
    if (routed.kind === 'reply') {
      this.put(connection, routed);
      return;
    }
    const latencyNs = this.service.arrive(routed.operation, this.port.nowNs);
    connection.call = { http: routed, dueNs: this.port.nowNs + latencyNs, latencyNs };
  }

  /** Decides the calls whose latency has passed, in the order of their times. */
  private answerDue(): void {
    for (;;) {
      let next: Connection | null = null;
      for (const each of this.connections) {
        if (each.call === null || each.call.dueNs > this.port.nowNs) continue;
        if (next === null || each.call.dueNs < (next.call?.dueNs ?? 0)) next = each;
      }
      if (next === null) return;
      this.answer(next);
      // The client may have sent the next request behind this one.
      this.take(next);
    }
  }

  private answer(connection: Connection): void {
    const { call } = connection;
    assert(call !== null, 'a call that is due exists');
    connection.call = null;
    const { http, latencyNs } = call;
    const clockNs = Number(this.port.realtimeNs() - EPOCH_NS);
    const when = { atNs: this.port.nowNs, clockNs, latencyNs };
    const outcome = this.service.serve(http.operation, http.args, when);
    const reply = replyHttp(http, outcome, true);
    if (reply === null) connection.isSilent = true;
    else this.put(connection, reply);
  }

  private put(connection: Connection, { status, headers, body }: HttpReply): void {
    const bytes = encodeResponse({ status, headers, body, close: connection.closes });
    connection.output = concat(connection.output, bytes);
  }

  private write(connection: Connection): void {
    while (connection.output.length > 0) {
      const sent = this.port.sockets.send(connection.socket, connection.output);
      if (sent === -ERRNO.AGAIN) return;
      if (sent < 0) {
        connection.closes = true;
        connection.output = NOTHING;
        return;
      }
      connection.output = connection.output.slice(sent);
    }
  }

  private isOver({ socket, closes, call, output, isSilent }: Connection): boolean {
    if (!closes || call !== null || output.length > 0 || isSilent) return false;
    this.port.sockets.close(socket);
    return true;
  }

  private wantsInput({ call, output, closes, isSilent }: Connection): boolean {
    return isSilent || (call === null && output.length === 0 && !closes);
  }

  private wait(): {
    readonly deadlineNs: VirtualNs | null;
    readonly interests: readonly Interest[];
  } {
    const interests: Interest[] = [];
    if (this.connections.length < CONNECTIONS_MAX) {
      interests.push({ socket: this.listener, readiness: 'read' });
    }
    let deadlineNs: VirtualNs | null = null;
    for (const connection of this.connections) {
      const { socket, call, output } = connection;
      if (call !== null) deadlineNs = Math.min(deadlineNs ?? Infinity, call.dueNs);
      if (output.length > 0) interests.push({ socket, readiness: 'write' });
      if (this.wantsInput(connection)) interests.push({ socket, readiness: 'read' });
    }
    return { deadlineNs, interests };
  }
}

const EPOCH_NS = BigInt(EPOCH_SECONDS) * 1_000_000_000n;
const NOTHING = new Uint8Array(0);

interface SavedState {
  readonly listener: number;
  readonly connections: readonly (Omit<Connection, 'call'> & { readonly call: string | null })[];
  readonly service: RecordServiceState;
}
