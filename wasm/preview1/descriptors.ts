import { assert, ERRNO, ROOT, type GuestPort, type Inode, type SocketId } from '../../sim/index.ts';

interface Common {
  /** Bits of `fdflags`. */
  flags: number;
  /** Bits of `rights`: what may be done, and what opened descriptors may be given. */
  rights: number;
  inheriting: number;
}

export interface FileDescriptor extends Common {
  readonly kind: 'file';
  readonly inode: Inode;
  offset: number;
}

export interface DirectoryDescriptor extends Common {
  readonly kind: 'directory';
  readonly inode: Inode;
  /** The name of a preopened directory. */
  readonly preopen: string | null;
}

/** Standard input (empty), output and error. */
export interface ConsoleDescriptor extends Common {
  readonly kind: 'console';
  readonly stream: 0 | 1 | 2;
}

export interface SocketDescriptor extends Common {
  readonly kind: 'socket';
  readonly socket: SocketId;
  readonly type: 'tcp' | 'udp';
}

export type Descriptor =
  FileDescriptor | DirectoryDescriptor | ConsoleDescriptor | SocketDescriptor;

/** Descriptors of one guest at most (Linux: the usual hard limit of RLIMIT_NOFILE). */
export const DESCRIPTORS_MAX = 65_536;

/** The open descriptors; a new one takes the lowest free number. */
export class DescriptorTable {
  private readonly port: GuestPort;
  private slots: (Descriptor | null)[] = [];
  /** No slot below this is free. */
  private lowestFree = 0;

  constructor(port: GuestPort) {
    this.port = port;
  }

  get(fd: number): Descriptor | null {
    return this.slots[fd] ?? null;
  }

  /** Whether `add` will find a number. */
  hasRoom(): boolean {
    return this.findFree() < DESCRIPTORS_MAX;
  }

  /** Takes a descriptor in, and with it a share of its inode; returns its number or `-MFILE`. */
  add(descriptor: Descriptor): number {
    const fd = this.findFree();
    if (fd >= DESCRIPTORS_MAX) return -ERRNO.MFILE;
    this.slots[fd] = descriptor;
    this.lowestFree = fd + 1;
    if (holdsInode(descriptor)) this.port.files.retain(descriptor.inode);
    return fd;
  }

  /** Closes an open descriptor and what it stands for. */
  close(fd: number): void {
    const descriptor = this.get(fd);
    assert(descriptor !== null, 'what is closed is open');
    this.slots[fd] = null;
    this.lowestFree = Math.min(this.lowestFree, fd);
    if (holdsInode(descriptor)) this.port.files.release(descriptor.inode);
    else if (descriptor.kind === 'socket') this.port.sockets.close(descriptor.socket);
  }

  /** Closes `to` and gives its number to `from`; both are open. */
  renumber(from: number, to: number): void {
    if (from === to) return;
    const descriptor = this.get(from);
    assert(descriptor !== null, 'what is renumbered is open');
    this.close(to);
    this.slots[to] = descriptor;
    this.slots[from] = null;
    this.lowestFree = Math.min(this.lowestFree, from);
  }

  closeAll(): void {
    for (const fd of this.slots.keys()) if (this.slots[fd]) this.close(fd);
  }

  /** Shares of inodes are part of the file system's state and not taken again by `restore`. */
  capture(): readonly (Descriptor | null)[] {
    return this.slots.map((descriptor) => (descriptor === null ? null : { ...descriptor }));
  }

  restore(slots: readonly (Descriptor | null)[]): void {
    this.slots = slots.map((descriptor) => (descriptor === null ? null : { ...descriptor }));
    this.lowestFree = 0;
  }

  private findFree(): number {
    let fd = this.lowestFree;
    while (fd < this.slots.length && this.slots[fd] !== null) fd++;
    this.lowestFree = fd;
    return fd;
  }
}

/** The root lives without being held, so that making a guest's host leaves the files alone. */
function holdsInode(descriptor: Descriptor): descriptor is FileDescriptor | DirectoryDescriptor {
  return 'inode' in descriptor && descriptor.inode !== ROOT;
}
