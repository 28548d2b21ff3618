import { FAULT_MESSAGES, MALFORMED_JSON, type CallOutcome } from './call.ts';
import type { HandlerArgs } from './handler.ts';
import type { RefusalKind } from './refusal.ts';
import type { RecordWorldDef } from './world-def.ts';
import { parametersOf, toolSchema } from './operations.ts';

/** A call as it came over HTTP: by its own path, or as JSON-RPC 2.0 with this id. */
export interface HttpCall {
  readonly kind: 'call';
  readonly operation: string;
  readonly args: HandlerArgs;
  readonly rpc: { readonly id: RpcId } | null;
}

type RpcId = string | number | null;

export interface HttpReply {
  readonly kind: 'reply';
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON, or what is left of it. */
  readonly body: string;
}

/** Heads and bodies of requests have at most this many bytes. */
export const HTTP_HEAD_BYTES_MAX = 16 * 1024;
export const HTTP_BODY_BYTES_MAX = 1024 * 1024;

/**
 * What a request asks for: `POST /<operation>` with a JSON object of arguments, `POST /rpc` with a
 * JSON-RPC 2.0 request, `GET /` for what there is. What is none of these is answered at once.
 */
export function routeHttp(
  def: RecordWorldDef,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body: string },
): HttpCall | HttpReply {
  const plain = path.replace(/\?.*$/, '');
  if (plain === '/') return method === 'GET' ? overview(def) : notAllowed('GET');
  if (method !== 'POST') return notAllowed('POST');
  const value = body === '' ? {} : parse(body);
  if (plain === '/rpc') return routeRpc(value);
  const operation = plain.slice(1);
  if (!def.operations.some(({ name }) => name === operation)) {
    return failure(404, 'unknown_operation', `there is no operation "${operation.slice(0, 64)}"`);
  }
  if (value === undefined) return failure(400, 'invalid', 'the body is no JSON');
  if (!isObject(value)) return failure(400, 'invalid', 'the body is no JSON object');
  return { kind: 'call', operation, args: value, rpc: null };
}

/**
 * The answer to a call. A timeout has none where the client waits in virtual time and its own
 * timer fires (null); `waits` false gives 504 instead.
 */
export function replyHttp(call: HttpCall, outcome: CallOutcome, waits: boolean): HttpReply | null {
  if (outcome.kind === 'fault' && outcome.fault === 'timeout' && waits) return null;
  if (call.rpc !== null && !isTransport(outcome)) return replyRpc(call.rpc.id, outcome);
  switch (outcome.kind) {
    case 'result':
      return reply(200, JSON.stringify(outcome.value));
    case 'refusal':
      return failure(STATUS[outcome.refusal], outcome.refusal, outcome.message);
    case 'fault':
      break;
  }
  const { fault, retryAfterSeconds, empty } = outcome;
  switch (fault) {
    case 'empty_result':
      return reply(200, JSON.stringify(empty));
    case 'malformed_json':
      return reply(200, MALFORMED_JSON);
    case 'timeout':
      return failure(504, 'timeout', FAULT_MESSAGES.timeout);
    case 'http_500':
      return failure(500, 'internal', FAULT_MESSAGES.http_500);
    case 'not_found':
      return failure(404, 'not_found', FAULT_MESSAGES.not_found);
    case 'http_429': {
      const { headers, ...rest } = failure(429, 'too_many_requests', FAULT_MESSAGES.http_429);
      return { ...rest, headers: [...headers, ['retry-after', String(retryAfterSeconds)]] };
    }
  }
}

/** An error that the server itself answers with. */
export function failure(status: number, kind: string, message: string): HttpReply {
  return reply(status, JSON.stringify({ error: { kind, message } }));
}

/** What is an answer of HTTP also where the call is one of JSON-RPC. */
function isTransport(outcome: CallOutcome): boolean {
  if (outcome.kind !== 'fault') return false;
  return outcome.fault !== 'empty_result' && outcome.fault !== 'not_found';
}

const STATUS: Readonly<Record<RefusalKind, number>> = {
  not_found: 404,
  invalid: 400,
  refused: 422,
  unknown_operation: 404,
};

function reply(status: number, body: string): HttpReply {
  return { kind: 'reply', status, headers: [['content-type', 'application/json']], body };
}

function notAllowed(allowed: string): HttpReply {
  const { headers, ...rest } = failure(405, 'invalid', `expected ${allowed}`);
  return { ...rest, headers: [...headers, ['allow', allowed]] };
}

function overview(def: RecordWorldDef): HttpReply {
  const operations = def.operations.map((operation) => {
    const { name, description } = operation;
    return { name, description, input_schema: toolSchema(parametersOf(def, operation)) };
  });
  return reply(200, JSON.stringify({ name: def.name, operations }));
}

/** JSON-RPC 2.0, one request at a time (section 4 of its specification). */
function routeRpc(value: unknown): HttpCall | HttpReply {
  if (value === undefined) return rpcError(null, -32700, 'the body is no JSON');
  if (!isObject(value)) return rpcError(null, -32600, 'expected one request object');
  const { jsonrpc, id, method, params = {} } = value;
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !isId(id)) {
    return rpcError(isId(id) ? id : null, -32600, 'expected jsonrpc "2.0", a method and an id');
  }
  if (!isObject(params)) return rpcError(id, -32602, 'expected params by name');
  return { kind: 'call', operation: method, args: params, rpc: { id } };
}

function replyRpc(id: RpcId, outcome: CallOutcome): HttpReply {
  if (outcome.kind === 'result') {
    return reply(200, JSON.stringify({ jsonrpc: '2.0', id, result: outcome.value }));
  }
  if (outcome.kind === 'refusal') {
    const codes = {
      unknown_operation: -32601,
      invalid: -32602,
      not_found: -32001,
      refused: -32000,
    };
    return rpcError(id, codes[outcome.refusal], outcome.message);
  }
  if (outcome.fault === 'not_found') return rpcError(id, -32001, FAULT_MESSAGES.not_found);
  return reply(200, JSON.stringify({ jsonrpc: '2.0', id, result: outcome.empty }));
}

function rpcError(id: RpcId, code: number, message: string): HttpReply {
  return reply(200, JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
}

function isId(id: unknown): id is RpcId {
  return typeof id === 'string' || typeof id === 'number' || id === null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a text of JSON, or undefined. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
