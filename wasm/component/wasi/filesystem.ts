import { COST_NS } from '../../preview1/costs.ts';
import { ROOT } from '../../../sim/index.ts';
import { borrow, own } from '../abi/handles.ts';
import { BOOL, U64 } from '../abi/primitives.ts';
import { flags, tuple } from '../abi/products.ts';
import { BYTES, STRING, list } from '../abi/sequences.ts';
import { enumeration, option, result, success } from '../abi/sums.ts';
import { resourceRow, row, type HostFunctionRow, type HostInterface } from '../host-table.ts';
import {
  DESCRIPTOR_FLAG,
  DONE,
  SYMLINK_FOLLOW,
  existing,
  isDirectory,
  openAt,
  openInode,
  refuse,
} from './descriptor.ts';
import type { FileOutcome } from './descriptor.ts';
import { FILE_ERROR, fileError } from './error-codes.ts';
import * as file from './file-operations.ts';
import {
  DESCRIPTOR,
  DIRECTORY_ENTRY_STREAM,
  INPUT_STREAM,
  IO_ERROR,
  OUTPUT_STREAM,
} from './resources.ts';
import type { Descriptor, DirectoryEntryStream, InputStream, OutputStream } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

const SELF = borrow(DESCRIPTOR);
const UNIT = result(null, FILE_ERROR);
const PATH_FLAGS = flags(['symlink-follow']);
const OPEN_FLAGS = flags(['create', 'directory', 'exclusive', 'truncate']);
const DESCRIPTOR_FLAGS = flags([
  'read',
  'write',
  'file-integrity-sync',
  'data-integrity-sync',
  'requested-write-sync',
  'mutate-directory',
]);
const ADVICE = enumeration([
  'normal',
  'sequential',
  'random',
  'will-need',
  'dont-need',
  'no-reuse',
]);

function follows(pathFlags: number): boolean {
  return (pathFlags & SYMLINK_FOLLOW) !== 0;
}

function inputStream(host: WasiHost, self: Descriptor, offset: bigint): FileOutcome<InputStream> {
  const refusal = file.refuseReading(host, self);
  if (!refusal.ok) return refusal;
  host.files.retain(self.inode);
  const from = file.sizeNumber(offset);
  return success({ from: 'file', inode: self.inode, offset: from, closed: false });
}

/** A stream that writes from `offset` on, or appends when that is -1. */
function outputStream(host: WasiHost, self: Descriptor, offset: number): FileOutcome<OutputStream> {
  const refusal = file.refuseWriting(host, self);
  if (!refusal.ok) return refusal;
  host.files.retain(self.inode);
  const { inode, flags: descriptorFlags } = self;
  const start = { closed: false, permit: 0, progress: 0 };
  return success({ to: 'file', inode, offset, descriptorFlags, ...start });
}

function readDirectory(host: WasiHost, self: Descriptor): FileOutcome<DirectoryEntryStream> {
  if (!isDirectory(host, self)) return refuse('not-directory');
  host.files.retain(self.inode);
  return success({ inode: self.inode, cookie: 0 });
}

/** Functions on an open descriptor. */
const DESCRIPTOR_ROWS: readonly HostFunctionRow[] = [
  row('[method]descriptor.read-via-stream', {
    params: [SELF, U64],
    result: result(own(INPUT_STREAM), FILE_ERROR),
    run: inputStream,
  }),
  row('[method]descriptor.write-via-stream', {
    params: [SELF, U64],
    result: result(own(OUTPUT_STREAM), FILE_ERROR),
    run: (host, self, offset) => outputStream(host, self, file.sizeNumber(offset)),
  }),
  row('[method]descriptor.append-via-stream', {
    params: [SELF],
    result: result(own(OUTPUT_STREAM), FILE_ERROR),
    run: (host, self) => outputStream(host, self, -1),
  }),
  row('[method]descriptor.advise', {
    costNs: COST_NS.descriptor,
    params: [SELF, U64, U64, ADVICE],
    result: UNIT,
    run: (host, self) => (isDirectory(host, self) ? refuse('bad-descriptor') : DONE),
  }),
  row('[method]descriptor.sync-data', {
    params: [SELF],
    result: UNIT,
    run: (host, self) => file.synchronise(host, self, true),
  }),
  row('[method]descriptor.get-flags', {
    costNs: COST_NS.descriptor,
    params: [SELF],
    result: result(DESCRIPTOR_FLAGS, FILE_ERROR),
    run: (_, self) => success(self.flags),
  }),
  row('[method]descriptor.get-type', {
    costNs: COST_NS.descriptor,
    params: [SELF],
    result: result(file.DESCRIPTOR_TYPE, FILE_ERROR),
    run: (host, self) => success(file.typeOf(host, self.inode)),
  }),
  row('[method]descriptor.set-size', { params: [SELF, U64], result: UNIT, run: file.setSize }),
  row('[method]descriptor.set-times', {
    params: [SELF, file.NEW_TIMESTAMP, file.NEW_TIMESTAMP],
    result: UNIT,
    run: (host, self, accessed, modified) => {
      return file.setTimes(host, self.inode, accessed, modified);
    },
  }),
  row('[method]descriptor.read', {
    params: [SELF, U64, U64],
    result: result(tuple(BYTES, BOOL), FILE_ERROR),
    run: file.readAt,
  }),
  row('[method]descriptor.write', {
    params: [SELF, BYTES, U64],
    result: result(U64, FILE_ERROR),
    run: file.writeAt,
  }),
  row('[method]descriptor.read-directory', {
    params: [SELF],
    result: result(own(DIRECTORY_ENTRY_STREAM), FILE_ERROR),
    run: readDirectory,
  }),
  row('[method]descriptor.sync', {
    params: [SELF],
    result: UNIT,
    run: (host, self) => file.synchronise(host, self, false),
  }),
  row('[method]descriptor.stat', {
    params: [SELF],
    result: result(file.DESCRIPTOR_STAT, FILE_ERROR),
    run: (host, self) => success(file.stat(host, self.inode)),
  }),
  row('[method]descriptor.is-same-object', {
    costNs: COST_NS.descriptor,
    params: [SELF, SELF],
    result: BOOL,
    run: (_, self, other) => self.inode === other.inode,
  }),
  row('[method]descriptor.metadata-hash', {
    costNs: COST_NS.descriptor,
    params: [SELF],
    result: result(file.METADATA_HASH, FILE_ERROR),
    run: (_, self) => success(file.metadataHash(self.inode)),
  }),
];

/** Functions on a path below a directory's descriptor. */
const PATH_ROWS: readonly HostFunctionRow[] = [
  row('[method]descriptor.create-directory-at', {
    params: [SELF, STRING],
    result: UNIT,
    run: file.createDirectoryAt,
  }),
  row('[method]descriptor.stat-at', {
    params: [SELF, PATH_FLAGS, STRING],
    result: result(file.DESCRIPTOR_STAT, FILE_ERROR),
    run: (host, self, pathFlags, path) => {
      const place = existing(host, self, path, follows(pathFlags));
      return place.ok ? success(file.stat(host, place.value.inode)) : place;
    },
  }),
  row('[method]descriptor.set-times-at', {
    params: [SELF, PATH_FLAGS, STRING, file.NEW_TIMESTAMP, file.NEW_TIMESTAMP],
    result: UNIT,
    run: (host, self, pathFlags, path, accessed, modified) => {
      const place = existing(host, self, path, follows(pathFlags));
      return place.ok ? file.setTimes(host, place.value.inode, accessed, modified) : place;
    },
  }),
  row('[method]descriptor.link-at', {
    params: [SELF, PATH_FLAGS, STRING, SELF, STRING],
    result: UNIT,
    run: (host, self, pathFlags, path, newBase, newPath) => {
      if (follows(pathFlags)) return refuse('invalid');
      return file.linkAt(host, self, path, newBase, newPath);
    },
  }),
  row('[method]descriptor.open-at', {
    params: [SELF, PATH_FLAGS, STRING, OPEN_FLAGS, DESCRIPTOR_FLAGS],
    result: result(own(DESCRIPTOR), FILE_ERROR),
    run: (host, self, pathFlags, path, openFlags, descriptorFlags) => {
      return openAt(host, self, path, { pathFlags, openFlags, flags: descriptorFlags });
    },
  }),
  row('[method]descriptor.readlink-at', {
    params: [SELF, STRING],
    result: result(STRING, FILE_ERROR),
    run: file.readlinkAt,
  }),
  row('[method]descriptor.remove-directory-at', {
    params: [SELF, STRING],
    result: UNIT,
    run: file.removeDirectoryAt,
  }),
  row('[method]descriptor.rename-at', {
    params: [SELF, STRING, SELF, STRING],
    result: UNIT,
    run: file.renameAt,
  }),
  row('[method]descriptor.symlink-at', {
    params: [SELF, STRING, STRING],
    result: UNIT,
    run: file.symlinkAt,
  }),
  row('[method]descriptor.unlink-file-at', {
    params: [SELF, STRING],
    result: UNIT,
    run: file.unlinkFileAt,
  }),
  row('[method]descriptor.metadata-hash-at', {
    params: [SELF, PATH_FLAGS, STRING],
    result: result(file.METADATA_HASH, FILE_ERROR),
    run: (host, self, pathFlags, path) => {
      const place = existing(host, self, path, follows(pathFlags));
      return place.ok ? success(file.metadataHash(place.value.inode)) : place;
    },
  }),
];

function release(host: WasiHost, { inode }: { readonly inode: number }): void {
  host.files.release(inode);
}

export const FILESYSTEM_TYPES: HostInterface = {
  name: 'wasi:filesystem/types',
  costNs: COST_NS.file,
  resources: [resourceRow(DESCRIPTOR, release), resourceRow(DIRECTORY_ENTRY_STREAM, release)],
  functions: [
    ...DESCRIPTOR_ROWS,
    ...PATH_ROWS,
    row('[method]directory-entry-stream.read-directory-entry', {
      params: [borrow(DIRECTORY_ENTRY_STREAM)],
      result: result(option(file.DIRECTORY_ENTRY), FILE_ERROR),
      run: file.nextEntry,
    }),
    row('filesystem-error-code', {
      params: [borrow(IO_ERROR)],
      result: option(FILE_ERROR),
      run: (_, error) => (error.domain === 'filesystem' ? fileError(error.errno) : null),
    }),
  ],
};

/** The node's whole file system is the one preopened directory. */
export const PREOPENS: HostInterface = {
  name: 'wasi:filesystem/preopens',
  costNs: COST_NS.descriptor,
  resources: [],
  functions: [
    row('get-directories', {
      params: [],
      result: list(tuple(own(DESCRIPTOR), STRING)),
      run: (host) => {
        const { read, mutateDirectory } = DESCRIPTOR_FLAG;
        return [[openInode(host, ROOT, read | mutateDirectory), '/'] as const];
      },
    }),
  ],
};
