import { COST_NS } from './costs.ts';
import { argsGet, argsSizesGet, environGet, environSizesGet } from './environment.ts';
import { fdPread, fdPwrite, fdRead, fdSeek, fdTell, fdWrite } from './fd-io.ts';
import { fdReaddir } from './fd-readdir.ts';
import {
  fdAdvise,
  fdAllocate,
  fdClose,
  fdDatasync,
  fdFdstatGet,
  fdFdstatSetFlags,
  fdFdstatSetRights,
  fdFilestatGet,
  fdFilestatSetSize,
  fdFilestatSetTimes,
  fdPrestatDirName,
  fdPrestatGet,
  fdRenumber,
  fdSync,
} from './fd-status.ts';
import type { Host } from './host.ts';
import {
  pathCreateDirectory,
  pathFilestatGet,
  pathFilestatSetTimes,
  pathLink,
  pathReadlink,
  pathRemoveDirectory,
  pathRename,
  pathSymlink,
  pathUnlinkFile,
} from './path-entries.ts';
import { pathOpen } from './path-open.ts';
import { pollOneoff } from './poll.ts';
import {
  clockResGet,
  clockTimeGet,
  procExit,
  procRaise,
  randomGet,
  schedYield,
} from './process.ts';
import { sockGetaddrinfo } from './sock-lookup.ts';
import {
  sockBind,
  sockConnect,
  sockGetlocaladdr,
  sockGetlocaladdrV1,
  sockGetpeeraddr,
  sockGetpeeraddrV1,
  sockListen,
  sockOpen,
  sockRecvFrom,
  sockRecvFromV1,
  sockSendTo,
} from './sock-open.ts';
import { sockGetsockopt, sockSetsockopt } from './sock-options.ts';
import { sockAccept, sockAcceptV1, sockRecv, sockSend, sockShutdown } from './sock.ts';

/**
 * A host function: gives an errno. `never` stands for the numbers and bigints of its type. Host
 * functions are named after those of WASI; docs/wasi-preview1.md says what each promises, and a
 * test holds them to it.
 */
export type Method = (host: Host, ...args: never[]) => number;

export interface FunctionRow {
  readonly name: string;
  /** One letter a parameter: `i` for i32, `I` for i64. */
  readonly parameters: string;
  /** False for the one function without result. */
  readonly returnsErrno: boolean;
  /** Whether a call may wait. */
  readonly blocks: boolean;
  /** What a call takes at least. */
  readonly costNs: number;
  readonly method: Method;
}

interface RowOptions {
  readonly blocks?: boolean;
  readonly costNs?: number;
}

function row(
  name: string,
  parameters: string,
  method: Method,
  { blocks = false, costNs = COST_NS.file }: RowOptions = {},
): FunctionRow {
  return { name, parameters, returnsErrno: name !== 'proc_exit', blocks, costNs, method };
}

const quick = { costNs: COST_NS.clock };
const cheap = { costNs: COST_NS.descriptor };
const waits = { blocks: true };

/** WASI snapshot preview 1, in the order of its text. */
export const PREVIEW1_FUNCTIONS: readonly FunctionRow[] = [
  row('args_get', 'ii', argsGet, quick),
  row('args_sizes_get', 'ii', argsSizesGet, quick),
  row('environ_get', 'ii', environGet, quick),
  row('environ_sizes_get', 'ii', environSizesGet, quick),
  row('clock_res_get', 'ii', clockResGet, quick),
  row('clock_time_get', 'iIi', clockTimeGet, quick),
  row('fd_advise', 'iIIi', fdAdvise, cheap),
  row('fd_allocate', 'iII', fdAllocate),
  row('fd_close', 'i', fdClose),
  row('fd_datasync', 'i', fdDatasync),
  row('fd_fdstat_get', 'ii', fdFdstatGet, cheap),
  row('fd_fdstat_set_flags', 'ii', fdFdstatSetFlags, cheap),
  row('fd_fdstat_set_rights', 'iII', fdFdstatSetRights, cheap),
  row('fd_filestat_get', 'ii', fdFilestatGet),
  row('fd_filestat_set_size', 'iI', fdFilestatSetSize),
  row('fd_filestat_set_times', 'iIIi', fdFilestatSetTimes),
  row('fd_pread', 'iiiIi', fdPread),
  row('fd_prestat_get', 'ii', fdPrestatGet, cheap),
  row('fd_prestat_dir_name', 'iii', fdPrestatDirName, cheap),
  row('fd_pwrite', 'iiiIi', fdPwrite),
  row('fd_read', 'iiii', fdRead, waits),
  row('fd_readdir', 'iiiIi', fdReaddir),
  row('fd_renumber', 'ii', fdRenumber, cheap),
  row('fd_seek', 'iIii', fdSeek, cheap),
  row('fd_sync', 'i', fdSync),
  row('fd_tell', 'ii', fdTell, cheap),
  row('fd_write', 'iiii', fdWrite, waits),
  row('path_create_directory', 'iii', pathCreateDirectory),
  row('path_filestat_get', 'iiiii', pathFilestatGet),
  row('path_filestat_set_times', 'iiiiIIi', pathFilestatSetTimes),
  row('path_link', 'iiiiiii', pathLink),
  row('path_open', 'iiiiiIIii', pathOpen),
  row('path_readlink', 'iiiiii', pathReadlink),
  row('path_remove_directory', 'iii', pathRemoveDirectory),
  row('path_rename', 'iiiiii', pathRename),
  row('path_symlink', 'iiiii', pathSymlink),
  row('path_unlink_file', 'iii', pathUnlinkFile),
  row('poll_oneoff', 'iiii', pollOneoff, waits),
  row('proc_exit', 'i', procExit),
  row('proc_raise', 'i', procRaise),
  row('sched_yield', '', schedYield, { costNs: COST_NS.yield }),
  row('random_get', 'ii', randomGet),
  row('sock_accept', 'iii', sockAccept, waits),
  row('sock_recv', 'iiiiii', sockRecv, waits),
  row('sock_send', 'iiiii', sockSend, waits),
  row('sock_shutdown', 'ii', sockShutdown),
];

/** The forms of the socket extension of WasmEdge in its second version. */
const EXTENSION: readonly FunctionRow[] = [
  row('sock_open', 'iii', sockOpen),
  row('sock_bind', 'iii', sockBind),
  row('sock_listen', 'ii', sockListen),
  row('sock_connect', 'iii', sockConnect, waits),
  row('sock_send_to', 'iiiiiii', sockSendTo, waits),
  row('sock_recv_from', 'iiiiiiii', sockRecvFrom, waits),
  row('sock_getlocaladdr', 'iii', sockGetlocaladdr, cheap),
  row('sock_getpeeraddr', 'iii', sockGetpeeraddr, cheap),
  row('sock_getsockopt', 'iiiii', sockGetsockopt, cheap),
  row('sock_setsockopt', 'iiiii', sockSetsockopt, cheap),
  row('sock_getaddrinfo', 'iiiiiiii', sockGetaddrinfo),
];

/** Forms of the first version that differ from the second, which a module's types tell apart. */
const FIRST_VERSION: readonly FunctionRow[] = [
  row('sock_accept', 'ii', sockAcceptV1, waits),
  row('sock_recv_from', 'iiiiiii', sockRecvFromV1, waits),
  row('sock_getlocaladdr', 'iiii', sockGetlocaladdrV1, cheap),
  row('sock_getpeeraddr', 'iiii', sockGetpeeraddrV1, cheap),
];

/** Functions that also go by a name that fixes the second version. */
const VERSIONED: ReadonlySet<string> = new Set([
  'sock_open',
  'sock_bind',
  'sock_connect',
  'sock_listen',
  'sock_accept',
  'sock_recv',
  'sock_recv_from',
  'sock_send',
  'sock_send_to',
  'sock_getlocaladdr',
  'sock_getpeeraddr',
]);

const SECOND_VERSION = [...PREVIEW1_FUNCTIONS, ...EXTENSION];

/** All that module `wasi_snapshot_preview1` may be asked for. */
export const SOCKET_FUNCTIONS: readonly FunctionRow[] = [
  ...EXTENSION,
  ...FIRST_VERSION,
  ...SECOND_VERSION.filter(({ name }) => VERSIONED.has(name)).map((each) => {
    return { ...each, name: `${each.name}_v2` };
  }),
];

export const ALL_FUNCTIONS: readonly FunctionRow[] = [...PREVIEW1_FUNCTIONS, ...SOCKET_FUNCTIONS];
