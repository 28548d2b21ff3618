import { ERRNO } from '../../sim/index.ts';
import type { Host } from './host.ts';
import { FAMILY, ipv4Bytes } from './sock-address.ts';

/** `__wasi_addrinfo_t` (WasmEdge, thirdparty/wasi/api.hpp): 28 bytes. */
const ADDRINFO = {
  bytes: 28,
  flags: 0,
  family: 2,
  socketType: 3,
  protocol: 4,
  addressLength: 8,
  address: 12,
  nameLength: 20,
  next: 24,
} as const;

/** `__wasi_sockaddr_t`: 12 bytes, with a buffer for the native address without its family. */
const SOCKADDR = { bytes: 12, family: 0, dataLength: 4, data: 8 } as const;
const NATIVE_IPV4_BYTES = 14;

const SOCKET_TYPE_DATAGRAM = 1;
const SOCKET_TYPE_STREAM = 2;
const PROTOCOL_TCP = 1;
const PROTOCOL_UDP = 2;

/** Services by name that may be asked for (IANA); others are given as numbers. */
const SERVICES: ReadonlyMap<string, number> = new Map([
  ['domain', 53],
  ['http', 80],
  ['https', 443],
]);

/** Results of one look-up at most. */
const RESULTS_MAX = 1024;

export function sockGetaddrinfo(
  host: Host,
  node: number,
  nodeLength: number,
  service: number,
  serviceLength: number,
  hints: number,
  results: number,
  countMax: number,
  countResult: number,
): number {
  const { memory } = host;
  const hintsHeld = hints === 0 || memory.holds(hints, ADDRINFO.bytes);
  if (!hintsHeld || !memory.holds(results, 4) || !memory.holds(countResult, 4)) return ERRNO.FAULT;
  const name = readText(host, node, nodeLength);
  if (typeof name === 'number') return -name;
  const serviceName = readText(host, service, serviceLength);
  if (typeof serviceName === 'number') return -serviceName;
  if (name === '' && serviceName === '') return ERRNO.AINONAME;
  const port = readService(serviceName);
  if (port < 0) return ERRNO.AISERVICE;
  const hint = readHints(host, hints);
  if (hint.family === FAMILY.INET6) return ERRNO.AIFAMILY;
  const addresses = name === '' ? [hint.passive ? 0 : 0x7f000001] : host.port.sockets.resolve(name);
  if (addresses.length === 0) return ERRNO.AINONAME;
  let record = memory.u32(results);
  let count = 0;
  for (const address of addresses.slice(0, Math.min(countMax >>> 0, RESULTS_MAX))) {
    const errno = writeResult(host, record, { address, port, ...hint });
    if (errno !== ERRNO.SUCCESS) return errno;
    count++;
    const next = memory.u32(record + ADDRINFO.next);
    // A record that is linked to itself ends the chain too: Go's library makes such.
    if (next === 0 || next === record) break;
    record = next;
  }
  memory.setU32(countResult, count);
  host.value = count;
  return ERRNO.SUCCESS;
}

/** Text whose length may count a zero at its end. */
function readText(host: Host, address: number, length: number): string | number {
  if (length === 0) return '';
  const text = host.memory.path(address, length);
  if (typeof text === 'number') return text;
  return text.endsWith('\0') ? text.slice(0, -1) : text;
}

function readService(name: string): number {
  if (name === '') return 0;
  if (/^\d{1,5}$/.test(name)) return Number(name) <= 0xffff ? Number(name) : -1;
  return SERVICES.get(name) ?? -1;
}

interface Hint {
  readonly passive: boolean;
  readonly family: number;
  readonly socketType: number;
}

const FLAG_PASSIVE = 1;

function readHints({ memory }: Host, hints: number): Hint {
  if (hints === 0) return { passive: false, family: 0, socketType: SOCKET_TYPE_STREAM };
  const kinds = memory.u16(hints + ADDRINFO.family);
  const datagram = kinds >> 8 === SOCKET_TYPE_DATAGRAM;
  return {
    passive: (memory.u16(hints) & FLAG_PASSIVE) !== 0,
    family: kinds & 255,
    socketType: datagram ? SOCKET_TYPE_DATAGRAM : SOCKET_TYPE_STREAM,
  };
}

interface Result {
  readonly address: number;
  readonly port: number;
  readonly socketType: number;
}

/** Fills a record and the buffers that hang from it, which the caller has made. */
function writeResult(host: Host, record: number, result: Result): number {
  const { memory } = host;
  if (!memory.holds(record, ADDRINFO.bytes)) return ERRNO.FAULT;
  const socketAddress = memory.u32(record + ADDRINFO.address);
  if (!memory.holds(socketAddress, SOCKADDR.bytes)) return ERRNO.FAULT;
  const data = memory.u32(socketAddress + SOCKADDR.data);
  const room = memory.u32(socketAddress + SOCKADDR.dataLength);
  if (room < NATIVE_IPV4_BYTES) return ERRNO.AIMEMORY;
  if (!memory.holds(data, NATIVE_IPV4_BYTES)) return ERRNO.FAULT;
  const datagram = result.socketType === SOCKET_TYPE_DATAGRAM;
  memory.setU16(record + ADDRINFO.flags, 0);
  memory.setU8(record + ADDRINFO.family, FAMILY.INET4);
  memory.setU8(record + ADDRINFO.socketType, result.socketType);
  memory.setU32(record + ADDRINFO.protocol, datagram ? PROTOCOL_UDP : PROTOCOL_TCP);
  memory.setU32(record + ADDRINFO.addressLength, SOCKADDR.bytes);
  memory.setU32(record + ADDRINFO.nameLength, 0);
  memory.setU8(socketAddress + SOCKADDR.family, FAMILY.INET4);
  memory.setU32(socketAddress + SOCKADDR.dataLength, NATIVE_IPV4_BYTES);
  const native = new Uint8Array(NATIVE_IPV4_BYTES);
  native.set([result.port >> 8, result.port & 255, ...ipv4Bytes(result.address)]);
  memory.setBytes(data, native);
  return ERRNO.SUCCESS;
}
