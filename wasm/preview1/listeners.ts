import { SimError } from '../../sim/index.ts';
import { RIGHTS_SOCKET } from './abi.ts';
import type { Host } from './host.ts';

/** A socket that is bound (and listens, for TCP) when the program starts. */
export interface Listener {
  readonly kind: 'tcp' | 'udp';
  readonly port: number;
}

/**
 * The environment variable that asks for listeners, such as `tcp:8080 udp:53`. Each becomes a
 * descriptor, in order, after the preopened directories: from 5 on.
 */
export const LISTENERS_VARIABLE = 'ATHANOR_LISTEN';

/** Listeners of one guest at most. */
export const LISTENERS_MAX = 64;
const BACKLOG = 128;

/** Reads the value of the variable. Throws `scenario/listeners` for anything else. */
export function parseListeners(text: string): Listener[] {
  const words = text.split(' ').filter((word) => word !== '');
  if (words.length > LISTENERS_MAX) refuse(`it names more than ${LISTENERS_MAX} sockets`);
  return words.map((word) => {
    const match = /^(tcp|udp):(\d{1,5})$/.exec(word);
    const port = Number(match?.[2]);
    if (match === null || port < 1 || port > 0xffff) refuse(`"${word}" is not such as tcp:8080`);
    return { kind: match[1] === 'udp' ? 'udp' : 'tcp', port };
  });
}

function refuse(why: string): never {
  throw new SimError({
    code: 'scenario/listeners',
    message: `the environment variable ${LISTENERS_VARIABLE} is not understood: ${why}`,
    place: LISTENERS_VARIABLE,
    remedy: 'write tcp:PORT or udp:PORT, separated by spaces',
  });
}

/** A socket that cannot be opened ends the guest, since it would find another in its place. */
export function openListeners(host: Host, listeners: readonly Listener[]): void {
  const { context, descriptors, port } = host;
  for (const { kind, port: number } of listeners) {
    const socket = port.sockets.open(kind);
    let status = socket < 0 ? socket : port.sockets.bind(socket, 0, number);
    if (status >= 0 && kind === 'tcp') status = port.sockets.listen(socket, BACKLOG);
    if (status < 0) context.trap('listener', `the socket ${kind}:${number} cannot be opened`);
    const rights = RIGHTS_SOCKET;
    descriptors.add({ kind: 'socket', socket, type: kind, flags: 0, rights, inheriting: rights });
  }
}
