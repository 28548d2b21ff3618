import { ERRNO, mix32 } from '../../sim/index.ts';
import type { NetProgram, NetStacks } from './net-loop.ts';

const TABLE_BYTES = 1 << 18;
const TABLE = Uint8Array.from({ length: TABLE_BYTES }, (_, place) => mix32(place) & 255);

/** The byte at a place of a stream, which tells places and streams apart. */
export function patternByte(stream: number, place: number): number {
  return TABLE[(place + stream * 7_919) % TABLE_BYTES] as number;
}

/** The bytes of a stream from a place on. */
export function pattern(stream: number, from: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let filled = 0; filled < length;) {
    const start = (from + filled + stream * 7_919) % TABLE_BYTES;
    const part = Math.min(length - filled, TABLE_BYTES - start);
    bytes.set(TABLE.subarray(start, start + part), filled);
    filled += part;
  }
  return bytes;
}

/** Whether the bytes are those of a stream from a place on. */
export function isPattern(bytes: Uint8Array, stream: number, from: number): boolean {
  return Buffer.compare(bytes, pattern(stream, from, bytes.length)) === 0;
}

interface EchoState {
  listener: number;
  connections: { socket: number; held: Uint8Array; ended: boolean }[];
}

/** Sends back whatever comes, on every connection; closes when the peer has ended its side. */
export class EchoServer implements NetProgram {
  readonly node: number;
  readonly port: number;
  errors: number[] = [];
  private state: EchoState = { listener: 0, connections: [] };
  private readonly buffer = new Uint8Array(8_192);

  constructor(node: number, port: number) {
    this.node = node;
    this.port = port;
  }

  act(loop: NetStacks): void {
    const stack = loop.stack(this.node);
    const { state } = this;
    if (state.listener === 0) {
      state.listener = stack.open('tcp');
      stack.setOption(state.listener, 'reuse-address', 1);
      stack.bind(state.listener, 0, this.port);
      stack.listen(state.listener, 64);
    }
    for (let socket = stack.accept(state.listener); socket > 0;) {
      state.connections.push({ socket, held: new Uint8Array(0), ended: false });
      socket = stack.accept(state.listener);
    }
    state.connections = state.connections.filter((connection) => {
      return !this.serve(loop, connection);
    });
  }

  /** True when the connection is over. */
  private serve(loop: NetStacks, connection: EchoState['connections'][number]): boolean {
    const stack = loop.stack(this.node);
    for (;;) {
      if (connection.held.length > 0) {
        const sent = stack.send(connection.socket, connection.held);
        if (sent === -ERRNO.AGAIN) return false;
        if (sent < 0) return this.fail(loop, connection.socket, sent);
        connection.held = connection.held.slice(sent);
        continue;
      }
      const count = stack.receive(connection.socket, this.buffer, false);
      if (count === -ERRNO.AGAIN) return false;
      if (count < 0) return this.fail(loop, connection.socket, count);
      if (count === 0) {
        stack.close(connection.socket);
        return true;
      }
      connection.held = this.buffer.slice(0, count);
    }
  }

  private fail(loop: NetStacks, socket: number, error: number): true {
    this.errors.push(-error);
    loop.stack(this.node).close(socket);
    return true;
  }

  capture(): unknown {
    return {
      listener: this.state.listener,
      connections: this.state.connections.map((connection) => ({ ...connection })),
      errors: this.errors.slice(),
    };
  }

  restore(state: unknown): void {
    const saved = state as EchoState & { errors: number[] };
    this.state = {
      listener: saved.listener,
      connections: saved.connections.map((connection) => ({ ...connection })),
    };
    this.errors = saved.errors.slice();
  }
}

export interface TransferPlan {
  readonly node: number;
  readonly address: number;
  readonly port: number;
  readonly bytes: number;
  /** Bytes a call. */
  readonly chunk: number;
  readonly stream: number;
  /** When it begins. */
  readonly atNs?: number;
}

interface TransferState {
  socket: number;
  phase: 'idle' | 'connecting' | 'open' | 'done';
  sent: number;
  received: number;
  /** Reads whose bytes were not those that were sent. */
  wrong: number;
  error: number;
}

/** Sends a pattern to an echo server, ends its side, and compares what comes back. */
export class TransferClient implements NetProgram {
  readonly plan: TransferPlan;
  state: TransferState = { socket: 0, phase: 'idle', sent: 0, received: 0, wrong: 0, error: 0 };
  private readonly buffer = new Uint8Array(4_096);

  constructor(plan: TransferPlan) {
    this.plan = plan;
  }

  act(loop: NetStacks): void {
    const { state, plan } = this;
    const stack = loop.stack(plan.node);
    if (state.phase === 'idle' && loop.nowNs >= (plan.atNs ?? 0)) {
      state.socket = stack.open('tcp');
      stack.connect(state.socket, plan.address, plan.port);
      state.phase = 'connecting';
    }
    if (state.phase === 'connecting') {
      const result = stack.connectResult(state.socket);
      if (result === -ERRNO.INPROGRESS) return;
      if (result < 0) return this.end(loop, -result);
      state.phase = 'open';
    }
    if (state.phase === 'open') {
      this.write(loop);
      this.read(loop);
    }
  }

  private write(loop: NetStacks): void {
    const { state, plan } = this;
    const stack = loop.stack(plan.node);
    while (state.sent < plan.bytes) {
      const length = Math.min(plan.chunk, plan.bytes - state.sent);
      const sent = stack.send(state.socket, pattern(plan.stream, state.sent, length));
      if (sent === -ERRNO.AGAIN) return;
      if (sent < 0) return this.end(loop, -sent);
      state.sent += sent;
      if (state.sent === plan.bytes) stack.shutdown(state.socket, 'write');
    }
  }

  private read(loop: NetStacks): void {
    const { state, plan, buffer } = this;
    const stack = loop.stack(plan.node);
    while (state.phase === 'open') {
      const count = stack.receive(state.socket, buffer, false);
      if (count === -ERRNO.AGAIN) return;
      if (count <= 0) return this.end(loop, Math.abs(count));
      if (!isPattern(buffer.subarray(0, count), plan.stream, state.received)) state.wrong++;
      state.received += count;
    }
  }

  private end(loop: NetStacks, error: number): void {
    this.state.error = error;
    this.state.phase = 'done';
    loop.stack(this.plan.node).close(this.state.socket);
  }

  capture(): unknown {
    return { ...this.state };
  }

  restore(state: unknown): void {
    this.state = { ...(state as TransferState) };
  }
}
