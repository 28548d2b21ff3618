import {
  readBoolean,
  readCallClient,
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
  readVariant,
  readWord,
  type CallClientState,
  type Read,
} from '../../sim/index.ts';
import { FDFLAGS_ALL, RIGHTS_ALL } from './abi.ts';
import {
  DESCRIPTORS_MAX,
  type ConsoleDescriptor,
  type Descriptor,
  type DirectoryDescriptor,
  type FileDescriptor,
  type SocketDescriptor,
} from './descriptors.ts';

/** What a guest's preview 1 host keeps between calls. */
export interface Preview1State {
  readonly descriptors: readonly (Descriptor | null)[];
  /** Bytes that a stopped call has moved. */
  readonly progress: number;
  /** Whether listeners have been opened. */
  readonly started: boolean;
  /** Of a program that calls services through the host. */
  readonly client?: CallClientState;
}

const common = {
  flags: readInteger(0, FDFLAGS_ALL),
  rights: readInteger(0, RIGHTS_ALL),
  inheriting: readInteger(0, RIGHTS_ALL),
};

const readDescriptor: Read<Descriptor> = readVariant<Descriptor>({
  file: readRecord<FileDescriptor>({
    ...common,
    kind: () => 'file',
    inode: readInteger(1),
    offset: readInteger(),
  }),
  directory: readRecord<DirectoryDescriptor>({
    ...common,
    kind: () => 'directory',
    inode: readInteger(1),
    preopen: readNullable(readText()),
  }),
  console: readRecord<ConsoleDescriptor>({
    ...common,
    kind: () => 'console',
    stream: (value, path) => readInteger(0, 2)(value, path) as 0 | 1 | 2,
  }),
  socket: readRecord<SocketDescriptor>({
    ...common,
    kind: () => 'socket',
    socket: readInteger(1),
    type: readWord(['tcp', 'udp']),
  }),
});

/** Reads a saved state; anything else is refused with `bundle/shape`. */
export const readState: Read<Preview1State> = readRecord<Preview1State>(
  {
    descriptors: readList(readNullable(readDescriptor), DESCRIPTORS_MAX),
    progress: readInteger(),
    started: readBoolean,
    client: readCallClient,
  },
  ['client'],
);
