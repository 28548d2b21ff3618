/** Numbers of WASI snapshot preview 1 (WebAssembly/WASI, legacy/preview1, typenames.witx). */

/** Bits of `rights`. */
export const RIGHT = {
  FD_DATASYNC: 1 << 0,
  FD_READ: 1 << 1,
  FD_SEEK: 1 << 2,
  FD_FDSTAT_SET_FLAGS: 1 << 3,
  FD_SYNC: 1 << 4,
  FD_TELL: 1 << 5,
  FD_WRITE: 1 << 6,
  FD_ADVISE: 1 << 7,
  FD_ALLOCATE: 1 << 8,
  PATH_CREATE_DIRECTORY: 1 << 9,
  PATH_CREATE_FILE: 1 << 10,
  PATH_LINK_SOURCE: 1 << 11,
  PATH_LINK_TARGET: 1 << 12,
  PATH_OPEN: 1 << 13,
  FD_READDIR: 1 << 14,
  PATH_READLINK: 1 << 15,
  PATH_RENAME_SOURCE: 1 << 16,
  PATH_RENAME_TARGET: 1 << 17,
  PATH_FILESTAT_GET: 1 << 18,
  PATH_FILESTAT_SET_SIZE: 1 << 19,
  PATH_FILESTAT_SET_TIMES: 1 << 20,
  FD_FILESTAT_GET: 1 << 21,
  FD_FILESTAT_SET_SIZE: 1 << 22,
  FD_FILESTAT_SET_TIMES: 1 << 23,
  PATH_SYMLINK: 1 << 24,
  PATH_REMOVE_DIRECTORY: 1 << 25,
  PATH_UNLINK_FILE: 1 << 26,
  POLL_FD_READWRITE: 1 << 27,
  SOCK_SHUTDOWN: 1 << 28,
  SOCK_ACCEPT: 1 << 29,
} as const;

/** All rights that preview 1 knows. */
export const RIGHTS_ALL = 2 ** 30 - 1;

/** What applies to a regular file; other rights are dropped when one is opened. */
export const RIGHTS_FILE =
  RIGHT.FD_DATASYNC |
  RIGHT.FD_READ |
  RIGHT.FD_SEEK |
  RIGHT.FD_FDSTAT_SET_FLAGS |
  RIGHT.FD_SYNC |
  RIGHT.FD_TELL |
  RIGHT.FD_WRITE |
  RIGHT.FD_ADVISE |
  RIGHT.FD_ALLOCATE |
  RIGHT.FD_FILESTAT_GET |
  RIGHT.FD_FILESTAT_SET_SIZE |
  RIGHT.FD_FILESTAT_SET_TIMES |
  RIGHT.POLL_FD_READWRITE;

/** What applies to a directory. Directories can be synchronised but not read, written, sought. */
export const RIGHTS_DIRECTORY =
  RIGHT.FD_DATASYNC |
  RIGHT.FD_FDSTAT_SET_FLAGS |
  RIGHT.FD_SYNC |
  RIGHT.PATH_CREATE_DIRECTORY |
  RIGHT.PATH_CREATE_FILE |
  RIGHT.PATH_LINK_SOURCE |
  RIGHT.PATH_LINK_TARGET |
  RIGHT.PATH_OPEN |
  RIGHT.FD_READDIR |
  RIGHT.PATH_READLINK |
  RIGHT.PATH_RENAME_SOURCE |
  RIGHT.PATH_RENAME_TARGET |
  RIGHT.PATH_FILESTAT_GET |
  RIGHT.PATH_FILESTAT_SET_SIZE |
  RIGHT.PATH_FILESTAT_SET_TIMES |
  RIGHT.FD_FILESTAT_GET |
  RIGHT.FD_FILESTAT_SET_TIMES |
  RIGHT.PATH_SYMLINK |
  RIGHT.PATH_REMOVE_DIRECTORY |
  RIGHT.PATH_UNLINK_FILE |
  RIGHT.POLL_FD_READWRITE;

const RIGHTS_STREAM = RIGHT.FD_FDSTAT_SET_FLAGS | RIGHT.FD_FILESTAT_GET | RIGHT.POLL_FD_READWRITE;

export const RIGHTS_INPUT = RIGHTS_STREAM | RIGHT.FD_READ;
export const RIGHTS_OUTPUT = RIGHTS_STREAM | RIGHT.FD_WRITE;
export const RIGHTS_SOCKET =
  RIGHTS_STREAM | RIGHT.FD_READ | RIGHT.FD_WRITE | RIGHT.SOCK_SHUTDOWN | RIGHT.SOCK_ACCEPT;

/** Bits of `fdflags`. */
export const FDFLAG = { APPEND: 1, DSYNC: 2, NONBLOCK: 4, RSYNC: 8, SYNC: 16 } as const;
export const FDFLAGS_ALL = 31;

/** Bits of `oflags`. */
export const OFLAG = { CREAT: 1, DIRECTORY: 2, EXCL: 4, TRUNC: 8 } as const;
export const OFLAGS_ALL = 15;

/** The one bit of `lookupflags`. */
export const LOOKUP_SYMLINK_FOLLOW = 1;

/** Bits of `fstflags`. */
export const FSTFLAG = { ATIM: 1, ATIM_NOW: 2, MTIM: 4, MTIM_NOW: 8 } as const;
export const FSTFLAGS_ALL = 15;

export const FILETYPE = {
  CHARACTER_DEVICE: 2,
  DIRECTORY: 3,
  REGULAR_FILE: 4,
  SOCKET_DGRAM: 5,
  SOCKET_STREAM: 6,
  SYMBOLIC_LINK: 7,
} as const;

export const WHENCE = { SET: 0, CUR: 1, END: 2 } as const;
export const ADVICE_LAST = 5;
export const PREOPENTYPE_DIR = 0;
export const CLOCK = { REALTIME: 0, MONOTONIC: 1 } as const;

export const EVENTTYPE = { CLOCK: 0, FD_READ: 1, FD_WRITE: 2 } as const;
/** The bit of `subclockflags`. */
export const SUBSCRIPTION_CLOCK_ABSTIME = 1;
/** The bit of `eventrwflags`. */
export const EVENT_HANGUP = 1;
export const SUBSCRIPTION_BYTES = 48;
export const EVENT_BYTES = 32;

export const RIFLAG = { PEEK: 1, WAITALL: 2 } as const;
export const SDFLAG = { RD: 1, WR: 2 } as const;

export const FDSTAT_BYTES = 24;
export const FILESTAT_BYTES = 64;
export const PRESTAT_BYTES = 8;
export const DIRENT_BYTES = 24;
export const VECTOR_BYTES = 8;

/** Vectors of one call at most (Linux: IOV_MAX). */
export const VECTORS_MAX = 1024;

/** What `fd_filestat_get` gives as device: of files, and of consoles and sockets. */
export const DEVICE = { FILES: 1, STREAMS: 2 } as const;
