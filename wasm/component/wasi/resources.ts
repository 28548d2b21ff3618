import { resource } from '../abi/handles.ts';

/**
 * What the handles of WASI 0.2 stand for on our side: plain data, so that a guest can be saved with
 * all its open streams, sockets and pollables.
 */

/** A file or directory of the node's file system. */
export type Inode = number;

/** A failed operation of a stream. */
export interface IoError {
  readonly domain: 'filesystem' | 'network';
  /** Positive, of `ERRNO`. */
  readonly errno: number;
}

export type Pollable =
  | { readonly on: 'always' }
  /** A point of the node's monotonic clock. */
  | { readonly on: 'clock'; readonly atNs: bigint }
  | { readonly on: 'socket'; readonly socket: number; readonly readiness: 'read' | 'write' }
  /** A TCP socket's next step: which one depends on its state when it is polled. */
  | { readonly on: 'tcp'; readonly socket: number };

interface InputStreamState {
  /** Set by end of stream and by failure; from then on it is closed. */
  closed: boolean;
}

export type InputStream = InputStreamState &
  (
    | { readonly from: 'nothing' }
    | { readonly from: 'file'; readonly inode: Inode; offset: number }
    | { readonly from: 'socket'; readonly socket: number }
  );

interface OutputStreamState {
  closed: boolean;
  /** Bytes that `write` may still take after the last `check-write`. */
  permit: number;
  /** Bytes done of the blocking write that waits. */
  progress: number;
}

export type OutputStream = OutputStreamState &
  (
    | { readonly to: 'console'; readonly descriptor: 1 | 2 }
    /** Offset -1 appends; the flags are those of the descriptor it was made from. */
    | {
        readonly to: 'file';
        readonly inode: Inode;
        offset: number;
        readonly descriptorFlags: number;
      }
    | { readonly to: 'socket'; readonly socket: number }
  );

/** An open file or directory. */
export interface Descriptor {
  readonly inode: Inode;
  /** Bits of `descriptor-flags`. */
  readonly flags: number;
}

export interface DirectoryEntryStream {
  readonly inode: Inode;
  /** The cookie of the last entry that was read. */
  cookie: number;
}

export interface Network {
  readonly network: 'node';
}

/** A handle on a socket; its state is in the host's record of that number. */
export interface SocketHandle {
  readonly socket: number;
}

export interface IncomingDatagrams {
  readonly socket: number;
}

export interface OutgoingDatagrams {
  readonly socket: number;
  /** Datagrams that `send` may still take after the last `check-send`. */
  permit: number;
}

export interface ResolveAddressStream {
  readonly addresses: readonly number[];
  next: number;
}

export interface Terminal {
  readonly terminal: 'none';
}

export const IO_ERROR = resource<IoError>('wasi:io/error#error');
export const POLLABLE = resource<Pollable>('wasi:io/poll#pollable');
export const INPUT_STREAM = resource<InputStream>('wasi:io/streams#input-stream');
export const OUTPUT_STREAM = resource<OutputStream>('wasi:io/streams#output-stream');
export const DESCRIPTOR = resource<Descriptor>('wasi:filesystem/types#descriptor');
export const DIRECTORY_ENTRY_STREAM = resource<DirectoryEntryStream>(
  'wasi:filesystem/types#directory-entry-stream',
);
export const NETWORK = resource<Network>('wasi:sockets/network#network');
export const TCP_SOCKET = resource<SocketHandle>('wasi:sockets/tcp#tcp-socket');
export const UDP_SOCKET = resource<SocketHandle>('wasi:sockets/udp#udp-socket');
export const INCOMING_DATAGRAMS = resource<IncomingDatagrams>(
  'wasi:sockets/udp#incoming-datagram-stream',
);
export const OUTGOING_DATAGRAMS = resource<OutgoingDatagrams>(
  'wasi:sockets/udp#outgoing-datagram-stream',
);
export const RESOLVE_ADDRESS_STREAM = resource<ResolveAddressStream>(
  'wasi:sockets/ip-name-lookup#resolve-address-stream',
);
export const TERMINAL_INPUT = resource<Terminal>('wasi:cli/terminal-input#terminal-input');
export const TERMINAL_OUTPUT = resource<Terminal>('wasi:cli/terminal-output#terminal-output');
