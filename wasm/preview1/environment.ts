import { encodeUtf8, ERRNO } from '../../sim/index.ts';
import type { Host } from './host.ts';

const ZERO = Uint8Array.of(0);

function argumentTexts({ port }: Host): readonly string[] {
  return port.args;
}

function environmentTexts({ port }: Host): readonly string[] {
  return port.env.map(([name, value]) => `${name}=${value}`);
}

function writeSizes(host: Host, texts: readonly string[], count: number, bytes: number): number {
  const { memory } = host;
  if (!memory.holds(count, 4) || !memory.holds(bytes, 4)) return ERRNO.FAULT;
  memory.setU32(count, texts.length);
  memory.setU32(
    bytes,
    texts.reduce((sum, text) => sum + encodeUtf8(text).length + 1, 0),
  );
  return ERRNO.SUCCESS;
}

/** Writes texts, each ended by a zero, to `buffer`, and their addresses to `list`. */
function writeTexts(host: Host, texts: readonly string[], list: number, buffer: number): number {
  const { memory } = host;
  const encoded = texts.map(encodeUtf8);
  const total = encoded.reduce((sum, bytes) => sum + bytes.length + 1, 0);
  if (!memory.holds(list, 4 * texts.length) || !memory.holds(buffer, total)) return ERRNO.FAULT;
  let at = buffer >>> 0;
  for (const [index, bytes] of encoded.entries()) {
    memory.setU32((list >>> 0) + 4 * index, at);
    memory.setBytes(at, bytes);
    memory.setBytes(at + bytes.length, ZERO);
    at += bytes.length + 1;
  }
  return ERRNO.SUCCESS;
}

export function argsSizesGet(host: Host, count: number, bytes: number): number {
  return writeSizes(host, argumentTexts(host), count, bytes);
}

export function argsGet(host: Host, list: number, buffer: number): number {
  return writeTexts(host, argumentTexts(host), list, buffer);
}

export function environSizesGet(host: Host, count: number, bytes: number): number {
  return writeSizes(host, environmentTexts(host), count, bytes);
}

export function environGet(host: Host, list: number, buffer: number): number {
  return writeTexts(host, environmentTexts(host), list, buffer);
}
