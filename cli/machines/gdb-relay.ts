import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * Lets one debugger at a time in to QEMU's stub for gdb: a port of 127.0.0.1 stands for the stub's
 * socket in the host's folder.
 */
export class GdbRelay {
  readonly port: number;
  /** Ends when the stub has answered a debugger: the machine stands still for it then. */
  readonly attached: Promise<void>;
  private readonly server: Server;
  private client: Socket | null = null;

  private constructor(server: Server, stub: string) {
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    this.attached = new Promise((resolve) => {
      server.on('connection', (client) => {
        // A second debugger would break the talk of the first.
        if (this.client !== null) client.destroy();
        else this.join(client, connect({ path: stub }), resolve);
      });
    });
  }

  static async listen(stub: string): Promise<GdbRelay> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new GdbRelay(server, stub);
  }

  close(): void {
    this.server.close();
    this.client?.destroy();
  }

  private join(client: Socket, stub: Socket, answered: () => void): void {
    this.client = client;
    const part = (): void => {
      client.destroy();
      stub.destroy();
      if (this.client === client) this.client = null;
    };
    for (const socket of [client, stub]) socket.once('error', part).once('close', part);
    stub.once('data', answered);
    client.pipe(stub).pipe(client);
  }
}
