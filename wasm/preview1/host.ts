import {
  assert,
  ERRNO,
  MONOTONIC_START_NS,
  type EventKind,
  type GuestPort,
  type Readiness,
  type VirtualNs,
  type Wait,
} from '../../sim/index.ts';
import type { HostContext } from '../runtime/host-context.ts';
import { COST_NS } from './costs.ts';
import {
  DescriptorTable,
  type Descriptor,
  type DirectoryDescriptor,
  type FileDescriptor,
  type SocketDescriptor,
} from './descriptors.ts';
import { GuestMemory } from './guest-memory.ts';

/**
 * What the host functions of one guest share, and what the present call tells of itself. Host
 * functions return an errno, 0 for success.
 */
export class Host {
  readonly context: HostContext;
  readonly port: GuestPort;
  readonly memory: GuestMemory;
  readonly descriptors: DescriptorTable;
  /** Bytes that the present call moved before it had to wait for more. */
  progress = 0;
  /** What the present call takes. */
  costNs: VirtualNs = 0;
  /** What the log shows as result of a call that succeeds: a count, a descriptor, 0. */
  value = 0;
  /** A digest of the bytes that crossed the border. */
  digest = 0;
  /** The present call waits: it will be made again, and is not over. */
  blocked = false;
  private kind: EventKind | null = null;
  private input = 0;

  constructor(context: HostContext) {
    this.context = context;
    this.port = context.port;
    this.memory = new GuestMemory(context);
    this.descriptors = new DescriptorTable(context.port);
  }

  /** Begins a call: its kind in the log, a digest of its arguments, what it takes at least. */
  begin(kind: EventKind, input: number, costNs: VirtualNs): void {
    this.kind = kind;
    this.input = input;
    this.costNs = costNs;
    this.value = 0;
    this.digest = 0;
    this.blocked = false;
  }

  /** Ends a call: logs it and lets its time pass, unless it waits. Returns the errno. */
  end(errno: number): number {
    if (this.blocked) return ERRNO.SUCCESS;
    if (errno !== ERRNO.SUCCESS) this.value = -errno;
    this.log();
    this.progress = 0;
    this.context.charge(this.costNs + this.port.files.takeDelayNs());
    return errno;
  }

  /** Logs the present call, which must be over. */
  log(): void {
    assert(this.kind !== null, 'a call is logged while it runs');
    this.port.effect(this.kind, (this.input ^ this.digest) >>> 0, this.value);
  }

  /** Whether the present call was made before and had to wait. */
  get retried(): boolean {
    return this.context.resumed !== null;
  }

  /** Lets the guest wait; the call is made again afterwards. */
  block(wait: Wait): number {
    this.blocked = true;
    this.context.block(wait);
    return ERRNO.SUCCESS;
  }

  /** Lets the guest wait until the socket is ready, or its timeout has passed. */
  blockOn(descriptor: SocketDescriptor, readiness: Readiness): number {
    return this.block({
      deadlineNs: this.timeoutNs(descriptor, readiness),
      interests: [{ socket: descriptor.socket, readiness }],
    });
  }

  /** Whether the socket's timeout for this call has passed (SO_RCVTIMEO, SO_SNDTIMEO). */
  timedOut(descriptor: SocketDescriptor, readiness: Readiness): boolean {
    const atNs = this.timeoutNs(descriptor, readiness);
    return atNs !== null && this.context.localNs() >= atNs;
  }

  /** The descriptor, or an errno: BADF, or NOTCAPABLE without one of the rights. */
  find(fd: number, rights: number): Descriptor | number {
    const descriptor = this.descriptors.get(fd);
    if (descriptor === null) return ERRNO.BADF;
    return (descriptor.rights & rights) === rights ? descriptor : ERRNO.NOTCAPABLE;
  }

  /** The descriptor of a file, or an errno: of another kind NOTCAPABLE, BADF or `otherwise`. */
  findFile(fd: number, rights: number, otherwise: number): FileDescriptor | number {
    const descriptor = this.descriptors.get(fd);
    if (descriptor === null) return ERRNO.BADF;
    if (descriptor.kind === 'console' || descriptor.kind === 'socket') return otherwise;
    if ((descriptor.rights & rights) !== rights) return ERRNO.NOTCAPABLE;
    return descriptor.kind === 'file' ? descriptor : ERRNO.ISDIR;
  }

  /** The descriptor of a directory, or an errno: BADF, NOTDIR, NOTCAPABLE. */
  findDirectory(fd: number, rights: number): DirectoryDescriptor | number {
    const descriptor = this.descriptors.get(fd);
    if (descriptor === null) return ERRNO.BADF;
    if (descriptor.kind !== 'directory') return ERRNO.NOTDIR;
    return (descriptor.rights & rights) === rights ? descriptor : ERRNO.NOTCAPABLE;
  }

  /** The descriptor of a socket, or an errno: BADF, NOTSOCK, NOTCAPABLE. */
  findSocket(fd: number, rights: number): SocketDescriptor | number {
    const descriptor = this.descriptors.get(fd);
    if (descriptor === null) return ERRNO.BADF;
    if (descriptor.kind !== 'socket') return ERRNO.NOTSOCK;
    return (descriptor.rights & rights) === rights ? descriptor : ERRNO.NOTCAPABLE;
  }

  /** Adds to what the call takes. */
  charge(ns: VirtualNs): void {
    this.costNs += ns;
  }

  private timeoutNs({ socket }: SocketDescriptor, readiness: Readiness): VirtualNs | null {
    const option = readiness === 'read' ? 'receive-timeout' : 'send-timeout';
    const ns = this.port.sockets.option(socket, option);
    if (ns <= 0) return null;
    const shownNs = this.context.waitStartNs + ns + MONOTONIC_START_NS;
    const atNs = this.port.deadlineFromMonotonic(BigInt(shownNs));
    // The end of time never comes.
    return atNs === Number.MAX_SAFE_INTEGER ? null : atNs;
  }

  /** The errno of a result of FileSystem or SocketStack: 0 for at least 0. */
  errnoOf(result: number): number {
    return result < 0 ? -result : ERRNO.SUCCESS;
  }

  /** Makes the content of a file durable; the call takes as long as that does. */
  synchronise(inode: number, dataOnly: boolean): number {
    this.charge(COST_NS.synchronise);
    return this.errnoOf(this.port.files.synchronise(inode, dataOnly));
  }
}
