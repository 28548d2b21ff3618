import { ERRNO, type ErrnoName } from '../../../sim/index.ts';
import { enumeration } from '../abi/sums.ts';
import type { ValueOf } from '../abi/type.ts';

/** `wasi:filesystem/types.error-code`. */
export const FILE_ERROR = enumeration([
  'access',
  'would-block',
  'already',
  'bad-descriptor',
  'busy',
  'deadlock',
  'quota',
  'exist',
  'file-too-large',
  'illegal-byte-sequence',
  'in-progress',
  'interrupted',
  'invalid',
  'io',
  'is-directory',
  'loop',
  'too-many-links',
  'message-size',
  'name-too-long',
  'no-device',
  'no-entry',
  'no-lock',
  'insufficient-memory',
  'insufficient-space',
  'not-directory',
  'not-empty',
  'not-recoverable',
  'unsupported',
  'no-tty',
  'no-such-device',
  'overflow',
  'not-permitted',
  'pipe',
  'read-only',
  'invalid-seek',
  'text-file-busy',
  'cross-device',
]);
export type FileError = ValueOf<typeof FILE_ERROR>;

/** `wasi:sockets/network.error-code`. */
export const NETWORK_ERROR = enumeration([
  'unknown',
  'access-denied',
  'not-supported',
  'invalid-argument',
  'out-of-memory',
  'timeout',
  'concurrency-conflict',
  'not-in-progress',
  'would-block',
  'invalid-state',
  'new-socket-limit',
  'address-not-bindable',
  'address-in-use',
  'remote-unreachable',
  'connection-refused',
  'connection-reset',
  'connection-aborted',
  'datagram-too-large',
  'name-unresolvable',
  'temporary-resolver-failure',
  'permanent-resolver-failure',
]);
export type NetworkError = ValueOf<typeof NETWORK_ERROR>;

/** After the comments of wasi:filesystem/types on `error-code`, which name the POSIX errors. */
const FILE_ERRORS: Partial<Record<ErrnoName, FileError>> = {
  ACCES: 'access',
  AGAIN: 'would-block',
  ALREADY: 'already',
  BADF: 'bad-descriptor',
  BUSY: 'busy',
  DEADLK: 'deadlock',
  DQUOT: 'quota',
  EXIST: 'exist',
  FBIG: 'file-too-large',
  ILSEQ: 'illegal-byte-sequence',
  INPROGRESS: 'in-progress',
  INTR: 'interrupted',
  INVAL: 'invalid',
  IO: 'io',
  ISDIR: 'is-directory',
  LOOP: 'loop',
  MLINK: 'too-many-links',
  MSGSIZE: 'message-size',
  NAMETOOLONG: 'name-too-long',
  NODEV: 'no-device',
  NOENT: 'no-entry',
  NOLCK: 'no-lock',
  NOMEM: 'insufficient-memory',
  NOSPC: 'insufficient-space',
  NOTDIR: 'not-directory',
  NOTEMPTY: 'not-empty',
  NOTRECOVERABLE: 'not-recoverable',
  NOTSUP: 'unsupported',
  NOTTY: 'no-tty',
  NXIO: 'no-such-device',
  OVERFLOW: 'overflow',
  PERM: 'not-permitted',
  NOTCAPABLE: 'not-permitted',
  PIPE: 'pipe',
  ROFS: 'read-only',
  SPIPE: 'invalid-seek',
  TXTBSY: 'text-file-busy',
  XDEV: 'cross-device',
};

/** After the comments of wasi:sockets/network on `error-code`. */
const NETWORK_ERRORS: Partial<Record<ErrnoName, NetworkError>> = {
  ACCES: 'access-denied',
  PERM: 'access-denied',
  NOTSUP: 'not-supported',
  AFNOSUPPORT: 'not-supported',
  INVAL: 'invalid-argument',
  DESTADDRREQ: 'invalid-argument',
  NOMEM: 'out-of-memory',
  NOBUFS: 'out-of-memory',
  TIMEDOUT: 'timeout',
  ALREADY: 'concurrency-conflict',
  AGAIN: 'would-block',
  INPROGRESS: 'would-block',
  ISCONN: 'invalid-state',
  NOTCONN: 'invalid-state',
  MFILE: 'new-socket-limit',
  NFILE: 'new-socket-limit',
  ADDRNOTAVAIL: 'address-not-bindable',
  ADDRINUSE: 'address-in-use',
  HOSTUNREACH: 'remote-unreachable',
  NETUNREACH: 'remote-unreachable',
  NETDOWN: 'remote-unreachable',
  CONNREFUSED: 'connection-refused',
  CONNRESET: 'connection-reset',
  PIPE: 'connection-reset',
  CONNABORTED: 'connection-aborted',
  MSGSIZE: 'datagram-too-large',
  AINONAME: 'name-unresolvable',
  AINODATA: 'name-unresolvable',
  AIAGAIN: 'temporary-resolver-failure',
  AIFAIL: 'permanent-resolver-failure',
};

function byNumber<T>(byName: Partial<Record<ErrnoName, T>>): ReadonlyMap<number, T> {
  const entries = Object.entries(byName) as [ErrnoName, T][];
  return new Map(entries.map(([name, code]) => [ERRNO[name], code]));
}

const FILE_ERROR_BY_NUMBER = byNumber(FILE_ERRORS);
const NETWORK_ERROR_BY_NUMBER = byNumber(NETWORK_ERRORS);

/** The code for an errno of either sign; what has none of its own is `io`. */
export function fileError(errno: number): FileError {
  return FILE_ERROR_BY_NUMBER.get(Math.abs(errno)) ?? 'io';
}

/** The code for an errno of either sign; what has none of its own is `unknown`. */
export function networkError(errno: number): NetworkError {
  return NETWORK_ERROR_BY_NUMBER.get(Math.abs(errno)) ?? 'unknown';
}
