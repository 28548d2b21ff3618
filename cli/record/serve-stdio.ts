import { Transform, type Readable, type TransformCallback, type Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { SimError } from '../../sim/index.ts';
import { makeMcpServer } from './mcp.ts';
import type { ServedWorld } from './served-world.ts';

/** A message of a client on the standard input has at most this many bytes: 4 MiB. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Serves a world on a pair of streams until the client closes its side or an operation breaks.
 * What is no JSON-RPC message is told on `complain` and left out.
 */
export async function serveStdio(
  world: ServedWorld,
  streams: { readonly input: Readable; readonly output: Writable },
  complain: (line: string) => void,
): Promise<void> {
  const { promise: over, resolve, reject } = withResolvers();
  const server = makeMcpServer(world, reject);
  const lines = new LineLimit();
  lines.on('error', reject);
  // The client is gone: there is nobody left to answer.
  streams.output.on('error', () => resolve());
  streams.input.on('error', () => resolve());
  server.server.onclose = () => resolve();
  server.server.onerror = (error) => {
    complain(`a message was left out: ${whyLeftOut(error)}`);
  };
  lines.on('end', () => resolve());
  // Each answer listens until a slow client has room for it: as many as there are calls, and no leak.
  streams.output.setMaxListeners(0);
  await server.connect(new StdioServerTransport(streams.input.pipe(lines), streams.output));
  try {
    await over;
  } finally {
    streams.input.unpipe(lines);
    await server.close();
  }
}

/** The SDK tells what is JSON and no message as the whole list of what its schema found. */
function whyLeftOut({ name, message }: Error): string {
  if (name === 'ZodError' || message.startsWith('[')) return 'it is no message of JSON-RPC 2.0';
  return (message.split('\n')[0] ?? '').slice(0, 200);
}

/** Lets lines through as they are, up to a length. */
class LineLimit extends Transform {
  private length = 0;

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    const last = chunk.lastIndexOf(10);
    const first = chunk.indexOf(10);
    const longest = this.length + (first < 0 ? chunk.length : first);
    this.length = last < 0 ? longest : chunk.length - last - 1;
    if (longest <= MESSAGE_BYTES_MAX) {
      done(null, chunk);
      return;
    }
    done(
      new SimError({
        code: 'input/limit',
        message: `a message of the client has more than ${MESSAGE_BYTES_MAX} bytes`,
        place: 'standard input',
        remedy: 'send smaller messages, one a line',
      }),
    );
  }
}

interface Resolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function withResolvers(): Resolvers {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
