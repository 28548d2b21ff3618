import {
  readBoolean,
  readBytes,
  readInteger,
  readList,
  readRecord,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import type { ByteQueueState, Meter } from './byte-queue.ts';
import type { MachineTerms } from './machine-segment.ts';
import { PIECES_MAX, type Piece } from './reassembly.ts';
import { readOptions, type OptionValues } from './socket-options.ts';
import { NODE_BUFFER_BYTES_MAX, SOCKETS_MAX, type SocketId } from './socket-types.ts';
import { BACKLOG_MAX, newBlock, TCP_STATES, type TcpBlock } from './tcp-block.ts';
import { TcpSocket } from './tcp-socket.ts';
import type { TimerState } from './tcp-timer.ts';
import { TIME_WAITS_MAX, type TimeWait } from './time-wait.ts';

/** A connection that its program has closed, and when it is given up. */
export interface Orphan {
  readonly id: SocketId;
  readonly expiresNs: number;
}

/** A TCP socket as plain data. */
export interface TcpSocketState {
  readonly id: SocketId;
  readonly options: OptionValues;
  readonly block: TcpBlock;
  readonly ownsPort: boolean;
  readonly backlog: number;
  readonly ready: readonly SocketId[];
  readonly halfOpen: number;
  readonly sendQueue: ByteQueueState;
  readonly receiveQueue: ByteQueueState;
  readonly pieces: readonly Piece[];
  readonly retransmit: TimerState;
  readonly acknowledge: TimerState;
}

/** All TCP sockets of a node as plain data. */
export interface TcpTableState {
  readonly ports: number;
  readonly sockets: readonly TcpSocketState[];
  readonly timeWaits: readonly TimeWait[];
  readonly orphans: readonly Orphan[];
}

const readCount = readInteger(0);
const readQueue = readRecord<ByteQueueState>({
  start: readCount,
  bytes: readBytes(NODE_BUFFER_BYTES_MAX),
});
const readTimer = readRecord<TimerState>({ atNs: readInteger(-1), queuedNs: readInteger(-1) });
const readTerms = readRecord<MachineTerms>({
  segmentBytes: readInteger(1, 0xffff),
  peerShift: readInteger(0, 14),
  ownShift: readInteger(0, 14),
  scales: readBoolean,
});
const readBlock = readRecord<TcpBlock>(
  {
    ...(Object.fromEntries(
      Object.entries(newBlock()).map(([name, value]) => {
        if (typeof value === 'number') return [name, readInteger(-1)];
        return [name, typeof value === 'boolean' ? readBoolean : readWord(TCP_STATES)];
      }),
    ) as { [Field in keyof Required<TcpBlock>]: Read<Required<TcpBlock>[Field]> }),
    machine: readTerms,
  },
  ['machine'],
);

const readSocket = readRecord<TcpSocketState>({
  id: readInteger(1),
  options: readOptions,
  block: readBlock,
  ownsPort: readBoolean,
  backlog: readInteger(0, BACKLOG_MAX),
  ready: readList(readInteger(1), BACKLOG_MAX),
  halfOpen: readInteger(0, BACKLOG_MAX),
  sendQueue: readQueue,
  receiveQueue: readQueue,
  pieces: readList(
    readRecord<Piece>({ sequence: readCount, bytes: readBytes(NODE_BUFFER_BYTES_MAX) }),
    PIECES_MAX,
  ),
  retransmit: readTimer,
  acknowledge: readTimer,
});

/** Reads what `TcpTable.capture` gave. */
export const readTcpState: Read<TcpTableState> = readRecord<TcpTableState>({
  ports: readInteger(0, 0xffff),
  sockets: readList(readSocket, SOCKETS_MAX),
  timeWaits: readList(
    readRecord<TimeWait>({
      key: readCount,
      localPort: readInteger(0, 0xffff),
      sendNext: readCount,
      receiveNext: readCount,
      initialReceive: readCount,
      expiresNs: readCount,
    }),
    TIME_WAITS_MAX,
  ),
  orphans: readList(readRecord<Orphan>({ id: readInteger(1), expiresNs: readCount }), SOCKETS_MAX),
});

export function saveSocket(socket: TcpSocket): TcpSocketState {
  return {
    id: socket.id,
    options: socket.options.values,
    block: { ...socket.block },
    ownsPort: socket.ownsPort,
    backlog: socket.backlog,
    ready: socket.ready.list(),
    halfOpen: socket.halfOpen,
    sendQueue: socket.sendQueue.capture(),
    receiveQueue: socket.receiveQueue.capture(),
    pieces: socket.pieces.capture(),
    retransmit: socket.retransmit.capture(),
    acknowledge: socket.acknowledge.capture(),
  };
}

export function loadSocket(state: TcpSocketState, node: number, meter: Meter): TcpSocket {
  const socket = new TcpSocket(node, state.id, meter);
  socket.options.values = state.options;
  socket.block = { ...state.block };
  socket.ownsPort = state.ownsPort;
  socket.backlog = state.backlog;
  socket.ready.replace(state.ready);
  socket.halfOpen = state.halfOpen;
  socket.sendQueue.restore(state.sendQueue);
  socket.receiveQueue.restore(state.receiveQueue);
  socket.pieces.restore(state.pieces);
  socket.retransmit.restore(state.retransmit);
  socket.acknowledge.restore(state.acknowledge);
  return socket;
}
