import { ERRNO } from '../kernel/errno.ts';
import { timeoutCongestion } from './congestion.ts';
import {
  DATA_RETRIES,
  ORPHAN_RETRIES,
  SYN_ACK_RETRIES,
  SYN_RETRIES,
  TIMEOUT_NS_MAX,
  type TcpBlock,
} from './tcp-block.ts';
import { pump, restartRetransmit, sendProbe, sendSyn } from './tcp-output.ts';
import type { TcpHost, TcpSocket } from './tcp-socket.ts';

/** The peer has not answered in time: asks again more slowly, or gives the connection up. */
export function retransmitRunsOut(host: TcpHost, socket: TcpSocket): void {
  const { block } = socket;
  if (block.retries >= retriesMax(block)) {
    host.failed(socket, ERRNO.TIMEDOUT);
    return;
  }
  const handshake = block.state === 'syn-sent' || block.state === 'syn-received';
  const shut = block.sendWindow === 0 && block.sendUnacknowledged < socket.sendEnd;
  if (!handshake && !shut) timeoutCongestion(block);
  block.retries++;
  block.timeoutNs = Math.min(TIMEOUT_NS_MAX, block.timeoutNs * 2);
  block.timedSequence = -1;
  if (handshake) {
    sendSyn(host, socket);
  } else if (shut) {
    sendProbe(host, socket);
    restartRetransmit(host, socket);
  } else {
    block.sendNext = block.sendUnacknowledged;
    pump(host, socket);
  }
}

function retriesMax(block: TcpBlock): number {
  if (block.state === 'syn-sent') return SYN_RETRIES;
  if (block.state === 'syn-received') return SYN_ACK_RETRIES;
  return block.orphan ? ORPHAN_RETRIES : DATA_RETRIES;
}
