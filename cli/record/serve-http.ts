import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  failure,
  HTTP_BODY_BYTES_MAX,
  HTTP_HEAD_BYTES_MAX,
  replyHttp,
  routeHttp,
  SimError,
  type HttpReply,
} from '../../sim/index.ts';
import { makeMcpServer } from './mcp.ts';
import type { ServedWorld } from './served-world.ts';

/** A client may take this long for its request, and be silent this long between two. */
const REQUEST_MS_MAX = 30_000;

export interface HttpServing {
  readonly port: number;
  /** Rejects when an operation broke. */
  readonly over: Promise<never>;
  close(): Promise<void>;
}

/**
 * Serves a world over HTTP: MCP (streamable HTTP, without sessions) at `/mcp`, else as
 * `routeHttp` says. Throws `input/address` where the address cannot be had.
 */
export async function serveHttp(
  world: ServedWorld,
  address: { readonly host: string; readonly port: number },
): Promise<HttpServing> {
  let breaks: (error: unknown) => void = () => undefined;
  const over = new Promise<never>((_, reject) => {
    breaks = reject;
  });
  // Somebody may close before he waits for it.
  over.catch(() => undefined);
  const options = { maxHeaderSize: HTTP_HEAD_BYTES_MAX, requestTimeout: REQUEST_MS_MAX };
  const server = createServer(options, (request, response) => {
    answer(world, request, response, breaks).catch((error: unknown) => {
      breaks(error);
      send(response, failure(500, 'internal', 'internal server error'));
    });
  });
  await listen(server, address);
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : address.port,
    over,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? 'nothing';
      const why = code === 'EADDRINUSE' ? 'it is in use' : `the system says ${code}`;
      reject(
        new SimError({
          code: 'input/address',
          message: `cannot listen on ${host}:${port}: ${why}`,
          remedy: 'choose another --port; 0 takes a free one',
          cause: error,
        }),
      );
    });
    server.listen(port, host, resolve);
  });
}

async function answer(
  world: ServedWorld,
  request: IncomingMessage,
  response: ServerResponse,
  breaks: (error: unknown) => void,
): Promise<void> {
  const read = await readBody(request);
  // The client left in the middle of its request: nothing has happened.
  if (read === 'gone') return;
  if (read === 'too long') {
    const why = `a body has at most ${HTTP_BODY_BYTES_MAX} bytes`;
    response.setHeader('connection', 'close');
    send(response, failure(413, 'invalid', why));
    return;
  }
  const body = read.text;
  const { method = '', url = '' } = request;
  if (url === '/mcp') return answerMcp(world, request, response, { body, breaks });
  const routed = routeHttp(world.service.world.def, { method, path: url, body });
  if (routed.kind === 'reply') {
    send(response, routed);
    return;
  }
  const reply = replyHttp(routed, world.call(routed.operation, routed.args), false);
  if (reply !== null) send(response, reply);
}

/** Each request has a server and a transport of its own: there is no session to lose. */
async function answerMcp(
  world: ServedWorld,
  request: IncomingMessage,
  response: ServerResponse,
  { body, breaks }: { readonly body: string; readonly breaks: (error: unknown) => void },
): Promise<void> {
  let message: unknown;
  try {
    message = body === '' ? undefined : (JSON.parse(body) as unknown);
  } catch {
    const error = { code: -32700, message: 'the body is no JSON' };
    const text = JSON.stringify({ jsonrpc: '2.0', id: null, error });
    const headers = [['content-type', 'application/json']] as const;
    send(response, { kind: 'reply', status: 400, headers, body: text });
    return;
  }
  if (request.method !== 'POST') {
    send(response, failure(405, 'invalid', 'expected POST'));
    return;
  }
  const server = makeMcpServer(world, breaks);
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => {
    void server.close();
  });
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  await transport.handleRequest(request, response, message);
}

/** The body, or why there is none: it is too long, or the client is gone. */
function readBody(
  request: IncomingMessage,
): Promise<{ readonly text: string } | 'too long' | 'gone'> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > HTTP_BODY_BYTES_MAX) {
        request.pause();
        resolve('too long');
      } else {
        chunks.push(chunk);
      }
    });
    request.on('end', () => {
      resolve({ text: Buffer.concat(chunks).toString('utf8') });
    });
    request.on('close', () => {
      resolve('gone');
    });
    request.on('error', () => {
      resolve('gone');
    });
  });
}

function send(response: ServerResponse, { status, headers, body }: HttpReply): void {
  if (response.headersSent || response.destroyed) return;
  const length = ['content-length', String(Buffer.byteLength(body))] as const;
  response.writeHead(status, [...headers, length].flat());
  response.end(body);
}
