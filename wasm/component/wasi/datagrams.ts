import { ERRNO } from '../../../sim/index.ts';
import { record } from '../abi/products.ts';
import { BYTES } from '../abi/sequences.ts';
import { option, success } from '../abi/sums.ts';
import type { ValueOf } from '../abi/type.ts';
import { networkError } from './error-codes.ts';
import { SOCKET_ADDRESS, refused, remoteEndpoint, socketAddress } from './network.ts';
import type { Outcome } from './network.ts';
import type { IncomingDatagrams, OutgoingDatagrams } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

export const INCOMING_DATAGRAM = record({ data: BYTES, 'remote-address': SOCKET_ADDRESS });
export const OUTGOING_DATAGRAM = record({ data: BYTES, 'remote-address': option(SOCKET_ADDRESS) });

type Incoming = ValueOf<typeof INCOMING_DATAGRAM>;
type Outgoing = ValueOf<typeof OUTGOING_DATAGRAM>;

/** The most datagrams that one call receives or may send. */
const BATCH_MAX = 16;
/** The longest UDP payload over IPv4, and one byte more would not exist. */
const DATAGRAM_BYTES_MAX = 65_507;

/** The datagrams that are there: at most `countMax`, none if none is. */
export function receive(
  host: WasiHost,
  stream: IncomingDatagrams,
  countMax: bigint,
): Outcome<readonly Incoming[]> {
  const limit = Number(countMax < BigInt(BATCH_MAX) ? countMax : BATCH_MAX);
  const datagrams: Incoming[] = [];
  while (datagrams.length < limit) {
    const into = new Uint8Array(DATAGRAM_BYTES_MAX);
    const got = host.sockets.receiveFrom(stream.socket, into, false);
    if (typeof got !== 'number') {
      datagrams.push({ data: into.slice(0, got.count), 'remote-address': socketAddress(got) });
      continue;
    }
    if (got === -ERRNO.AGAIN || datagrams.length > 0) break;
    return refused(networkError(got));
  }
  return success(datagrams);
}

/** How many datagrams the next `send` may have; 0 when the guest must wait. */
export function checkSend(host: WasiHost, stream: OutgoingDatagrams): Outcome<bigint> {
  const interest = { socket: stream.socket, readiness: 'write' } as const;
  stream.permit = host.sockets.isReady([interest]) ? BATCH_MAX : 0;
  return success(BigInt(stream.permit));
}

/** Sends in order until one cannot be sent; an error is told only if it is the first one's. */
export function send(
  host: WasiHost,
  stream: OutgoingDatagrams,
  datagrams: readonly Outgoing[],
): Outcome<bigint> {
  if (datagrams.length > stream.permit) {
    host.trap(`${datagrams.length} datagrams are sent, where ${stream.permit} were permitted`);
  }
  stream.permit -= datagrams.length;
  let sent = 0;
  for (const datagram of datagrams) {
    const status = sendOne(host, stream.socket, datagram);
    if (status < 0) {
      if (sent > 0 || status === -ERRNO.AGAIN) break;
      return refused(networkError(status));
    }
    sent++;
  }
  return success(BigInt(sent));
}

/** 0 or more, or a negated errno. */
function sendOne(host: WasiHost, socket: number, datagram: Outgoing): number {
  const { sockets } = host;
  const given = datagram['remote-address'];
  if (datagram.data.length > DATAGRAM_BYTES_MAX) return -ERRNO.MSGSIZE;
  const connected = host.socket(socket).state === 'connected';
  if (given === null) {
    return connected ? sockets.send(socket, datagram.data) : -ERRNO.INVAL;
  }
  const end = remoteEndpoint(given);
  if (end === null) return -ERRNO.INVAL;
  if (!connected) return sockets.sendTo(socket, datagram.data, end.address, end.port);
  const peer = sockets.peerAddress(socket);
  const same = typeof peer !== 'number' && peer.address === end.address && peer.port === end.port;
  return same ? sockets.send(socket, datagram.data) : -ERRNO.INVAL;
}
