import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

import { SimError } from '../sim/index.ts';

const CONNECT_MS = 10_000;

interface Expected {
  readonly resolve: (socket: Socket) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Where the forks of one machine call: a socket under an abstract name (no file, nothing to leave
 * behind) that is there from the first fork on. It takes a call only while one is expected.
 */
export class ForkDoor {
  /** 128 random bits: nobody else on the host can guess it. */
  readonly name = `athanor-${randomBytes(16).toString('hex')}`;
  private readonly server: Server;
  private expected: Expected | undefined;

  private constructor() {
    this.server = createServer({ pauseOnConnect: true }, (socket) => {
      this.take(socket);
    });
    // A door that nobody knocks at keeps no process alive.
    this.server.unref();
  }

  static async open(): Promise<ForkDoor> {
    const door = new ForkDoor();
    await new Promise<void>((resolve, reject) => {
      door.server.once('error', reject);
      door.server.listen({ path: `\0${door.name}` }, resolve);
    });
    return door;
  }

  /** The socket of the child that `request` lets call. */
  async admit(request: () => Promise<unknown>): Promise<Socket> {
    const called = new Promise<Socket>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(notCalled());
      }, CONNECT_MS);
      this.expected = { resolve, timer };
    });
    try {
      const [socket] = await Promise.all([called, request()]);
      socket.resume();
      return socket;
    } finally {
      clearTimeout(this.expected?.timer);
      this.expected = undefined;
    }
  }

  close(): void {
    this.server.close();
  }

  private take(socket: Socket): void {
    const { expected } = this;
    this.expected = undefined;
    if (expected === undefined) {
      socket.destroy();
      return;
    }
    clearTimeout(expected.timer);
    expected.resolve(socket);
  }
}

function notCalled(): SimError {
  return new SimError({
    code: 'backend/timeout',
    message: `a forked machine did not call within ${CONNECT_MS} ms`,
    remedy: 'the host may be out of memory or processes; free some and repeat the run',
  });
}
