import type { VirtualNs } from '../kernel/units.ts';
import { ByteQueue, type Meter } from './byte-queue.ts';
import { Fifo } from './fifo.ts';
import { Reassembly } from './reassembly.ts';
import { SocketOptions } from './socket-options.ts';
import { newBlock, type TcpBlock } from './tcp-block.ts';
import { Timer, type Wake } from './tcp-timer.ts';

/** A TCP socket: new, listening, or one end of a connection. */
export class TcpSocket {
  readonly id: number;
  readonly options = new SocketOptions();
  readonly sendQueue: ByteQueue;
  readonly receiveQueue: ByteQueue;
  readonly pieces: Reassembly;
  readonly retransmit: Timer;
  readonly acknowledge: Timer;
  block: TcpBlock = newBlock();
  /** It was bound or connected by its program, not made for an arriving connection. */
  ownsPort = false;
  /** Listening: how many connections may wait, those ready to be accepted, those half open. */
  backlog = 0;
  readonly ready = new Fifo<number>();
  halfOpen = 0;

  constructor(node: number, id: number, meter: Meter) {
    this.id = id;
    this.sendQueue = new ByteQueue(meter, 0);
    this.receiveQueue = new ByteQueue(meter, 0);
    this.pieces = new Reassembly(meter);
    this.retransmit = new Timer(node, id, 'retransmit');
    this.acknowledge = new Timer(node, id, 'acknowledge');
  }

  /** The sequence number after the last byte to send: that of our FIN. */
  get sendEnd(): number {
    return this.sendQueue.end;
  }

  /** Whether our FIN was sent at least once. */
  get finSent(): boolean {
    return this.block.writeShut && this.block.sendHighest > this.sendQueue.end;
  }

  /** Whether the peer has acknowledged our FIN. */
  get finAcknowledged(): boolean {
    return this.block.writeShut && this.block.sendUnacknowledged > this.sendQueue.end;
  }

  /** Frees what the queues hold and stops the timers. */
  release(): void {
    this.sendQueue.reset(0);
    this.receiveQueue.reset(0);
    this.stopSending();
  }

  /** The connection sends no more; what was received may still be read. */
  stopSending(): void {
    this.sendQueue.reset(this.sendQueue.end);
    this.pieces.clear();
    this.retransmit.disarm();
    this.acknowledge.disarm();
  }
}

/** What a connection asks of its node. */
export interface TcpHost {
  readonly wake: Wake;
  readonly meter: Meter;
  nowNs(): VirtualNs;
  /** Sends a segment with the block's acknowledgement and window if `flags` has FLAG_ACK. */
  transmit(socket: TcpSocket, flags: number, sequence: number, payload: Uint8Array): void;
  /** The handshake of a connection is complete. */
  established(socket: TcpSocket): void;
  /** Both directions have ended well; TIME-WAIT begins where it is due. */
  finished(socket: TcpSocket, timeWait: boolean): void;
  /** The connection has failed with an errno constant, or ends without one (0). */
  failed(socket: TcpSocket, error: number): void;
}
