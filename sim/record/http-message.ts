import { decodeUtf8, encodeUtf8 } from '../kernel/utf8.ts';
import { HTTP_BODY_BYTES_MAX, HTTP_HEAD_BYTES_MAX } from './http-routes.ts';

/** A message of HTTP/1.1 (RFC 9112) whose body has a length: what the services here speak. */
export interface HttpMessage {
  /** `POST /x HTTP/1.1`, or `HTTP/1.1 200 OK`. */
  readonly startLine: string;
  /** Names in small letters; of a header that stands twice the last one. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
  /** How many bytes of the input it took. */
  readonly byteCount: number;
}

/** What the bytes at hand are: a whole message, a part of one, or none that is acceptable. */
export type HttpParse =
  | { readonly kind: 'message'; readonly message: HttpMessage }
  | { readonly kind: 'partial' }
  | { readonly kind: 'bad'; readonly status: number; readonly why: string };

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;

/** Parses the first message in `bytes`. Limits are those of HTTP_HEAD_BYTES_MAX and the body's. */
export function parseHttp(bytes: Uint8Array): HttpParse {
  const end = headEnd(bytes);
  if (end < 0) {
    if (bytes.length <= HTTP_HEAD_BYTES_MAX) return { kind: 'partial' };
    return bad(431, `a head has at most ${HTTP_HEAD_BYTES_MAX} bytes`);
  }
  if (end > HTTP_HEAD_BYTES_MAX) return bad(431, `a head has at most ${HTTP_HEAD_BYTES_MAX} bytes`);
  const [startLine = '', ...lines] = latin1(bytes, end).split('\r\n');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = HEADER.exec(line);
    if (match === null) return bad(400, 'a header is malformed');
    headers.set((match[1] ?? '').toLowerCase(), match[2] ?? '');
  }
  if (headers.has('transfer-encoding')) return bad(501, 'only bodies with a content-length');
  const given = headers.get('content-length') ?? '0';
  if (!/^\d{1,15}$/.test(given)) return bad(400, 'the content-length is no number');
  const length = Number(given);
  if (length > HTTP_BODY_BYTES_MAX)
    return bad(413, `a body has at most ${HTTP_BODY_BYTES_MAX} bytes`);
  const from = end + 4;
  if (bytes.length < from + length) return { kind: 'partial' };
  const body = bytes.subarray(from, from + length);
  return { kind: 'message', message: { startLine, headers, body, byteCount: from + length } };
}

/** A request for a host of the simulated network. */
export function encodeRequest(of: {
  readonly path: string;
  readonly host: string;
  readonly body: Uint8Array;
}): Uint8Array {
  const head =
    `POST ${of.path} HTTP/1.1\r\nhost: ${of.host}\r\ncontent-type: application/json\r\n` +
    `content-length: ${of.body.length}\r\nconnection: close\r\n\r\n`;
  return concat(encodeUtf8(head), of.body);
}

/** A response with a body of JSON. */
export function encodeResponse(of: {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  readonly close: boolean;
}): Uint8Array {
  const body = encodeUtf8(of.body);
  const lines = [
    `HTTP/1.1 ${of.status} ${REASONS.get(of.status) ?? 'Other'}`,
    ...of.headers.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    `connection: ${of.close ? 'close' : 'keep-alive'}`,
  ];
  return concat(encodeUtf8(`${lines.join('\r\n')}\r\n\r\n`), body);
}

/** The text of a body, with U+FFFD for what is not UTF-8. */
export function bodyText({ body }: HttpMessage): string {
  return decodeUtf8(body);
}

export function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

const REASONS: ReadonlyMap<number, string> = new Map([
  [200, 'OK'],
  [400, 'Bad Request'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [413, 'Content Too Large'],
  [422, 'Unprocessable Content'],
  [429, 'Too Many Requests'],
  [431, 'Request Header Fields Too Large'],
  [500, 'Internal Server Error'],
  [501, 'Not Implemented'],
  [503, 'Service Unavailable'],
  [504, 'Gateway Timeout'],
]);

/** Where the empty line begins that ends the head, or -1. */
function headEnd(bytes: Uint8Array): number {
  const last = Math.min(bytes.length, HTTP_HEAD_BYTES_MAX + 4) - 3;
  for (let index = 0; index < last; index++) {
    if (bytes[index] !== 13 || bytes[index + 1] !== 10) continue;
    if (bytes[index + 2] === 13 && bytes[index + 3] === 10) return index;
  }
  return -1;
}

function latin1(bytes: Uint8Array, end: number): string {
  return String.fromCharCode(...bytes.subarray(0, end));
}

function bad(status: number, why: string): HttpParse {
  return { kind: 'bad', status, why };
}
