import { createServer, type Server, type Socket } from 'node:net';

/** A server on 127.0.0.1 that stands in for QEMU's end of a monitor. */
export interface MonitorServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Calls `serve` with each connection. */
export async function monitorServer(serve: (socket: Socket) => void): Promise<MonitorServer> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // The client hangs up in the middle of things; that is what is tested.
    socket.on('error', () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

export const GREETING =
  '{"QMP":{"version":{"qemu":{"micro":2,"minor":0,"major":10},"package":"test"},' +
  '"capabilities":["oob"]}}\r\n';

/** One command as the client sends it. */
export interface Sent {
  readonly execute?: string;
  readonly 'exec-oob'?: string;
  readonly id: number;
}

/** Greets, then calls `answer` with each command. */
export function serveCommands(
  socket: Socket,
  answer: (command: Sent, write: (message: object) => void) => void,
): void {
  let text = '';
  socket.write(GREETING);
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += String(chunk);
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      answer(JSON.parse(line) as Sent, (message) => {
        socket.write(`${JSON.stringify(message)}\r\n`);
      });
    }
  });
}
