import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

import { SimError } from '../sim/index.ts';
import { adoptProcess } from './machine-process.ts';
import type { MachineProcess, StderrTail } from './machine-process.ts';

const CONNECT_MS = 10_000;

/**
 * Offers a socket under an abstract name (no file, nothing to leave behind), calls `request` with
 * the name, and takes the child that calls it. `request` resolves to the child's process number.
 */
export async function acceptFork(
  stderr: StderrTail,
  request: (socketName: string) => Promise<number>,
): Promise<MachineProcess> {
  // 128 random bits: nobody else on the host can guess the name in the milliseconds it exists.
  const name = `athanor-${randomBytes(16).toString('hex')}`;
  const server = createServer({ pauseOnConnect: true });
  try {
    await listening(server, name);
    const connected = connection(server);
    const [pid, socket] = await Promise.all([request(name), connected]);
    socket.resume();
    return adoptProcess(pid, socket, stderr);
  } finally {
    server.close();
  }
}

function listening(server: Server, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path: `\0${name}` }, resolve);
  });
}

function connection(server: Server): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(
        new SimError({
          code: 'backend/timeout',
          message: `a forked machine did not call within ${CONNECT_MS} ms`,
          remedy: 'the host may be out of memory or processes; free some and repeat the run',
        }),
      );
    }, CONNECT_MS);
    server.once('connection', (socket) => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}
