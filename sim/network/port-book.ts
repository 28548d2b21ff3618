import { EPHEMERAL_PORT_MAX, EPHEMERAL_PORT_MIN } from './socket-types.ts';

/** Which ports of one protocol are in use, and which comes next when a program asks for any. */
export class PortBook {
  private readonly counts = new Map<number, number>();
  /** The next port to try; it goes on through crashes, so that old connections rarely return. */
  private next = EPHEMERAL_PORT_MIN;

  /** How many sockets hold the port. */
  users(port: number): number {
    return this.counts.get(port) ?? 0;
  }

  hold(port: number): void {
    this.counts.set(port, this.users(port) + 1);
  }

  release(port: number): void {
    const count = this.users(port) - 1;
    if (count > 0) this.counts.set(port, count);
    else this.counts.delete(port);
  }

  clear(): void {
    this.counts.clear();
  }

  /** A port that nobody uses, or 0 when all are used. */
  free(): number {
    const count = EPHEMERAL_PORT_MAX - EPHEMERAL_PORT_MIN + 1;
    for (let tried = 0; tried < count; tried++) {
      const port = this.next;
      this.next = port === EPHEMERAL_PORT_MAX ? EPHEMERAL_PORT_MIN : port + 1;
      if (!this.counts.has(port)) return port;
    }
    return 0;
  }

  /** Only where to go on; the users are known by their sockets. */
  capture(): number {
    return this.next;
  }

  restore(next: number): void {
    this.counts.clear();
    this.next = next;
  }
}
