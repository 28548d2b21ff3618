import type { VirtualNs } from '../kernel/units.ts';
import { ANY_ADDRESS, ipv6Of, isIpv6, LOOPBACK_ADDRESS, nodeAddress } from './address.ts';
import type { Draft, TimerEvent } from './packet.ts';
import type { Endpoint } from './socket-types.ts';

/** What a node's sockets need of the network. */
export interface WireNetwork {
  nowNs(): VirtualNs;
  /** The node that has an address, or -1. */
  nodeOf(address: number): number;
  /** Whether a packet can leave `from` for `to`, cut or not. */
  hasRoute(from: number, to: number): boolean;
  /** Whether the node is a machine with a stack of its own. */
  isMachine(node: number): boolean;
  /** The largest packet that the link is known to carry; `Infinity` without a limit. */
  mtuBytes(from: number, to: number): number;
  /** Sends a packet; returns its arrival, or `notBeforeNs` if it is lost. */
  transmit(packet: Draft, nowNs: VirtualNs, notBeforeNs: VirtualNs): VirtualNs;
  wake(atNs: VirtualNs, event: TimerEvent): void;
  resolve(name: string): number[];
}

/** A way to another end: the node, and the addresses that both ends have on it. */
export interface Route {
  readonly node: number;
  readonly source: number;
  readonly target: number;
}

/** One node's access to the network, and its clock. */
export class NodeWire {
  readonly node: number;
  readonly address: number;
  private readonly network: WireNetwork;
  /** The time of the event that is being handled, or -1 while the node's program runs. */
  private eventNs: VirtualNs = -1;

  constructor(network: WireNetwork, node: number) {
    this.network = network;
    this.node = node;
    this.address = nodeAddress(node);
  }

  nowNs(): VirtualNs {
    return this.eventNs >= 0 ? this.eventNs : this.network.nowNs();
  }

  /** From here to `leave` the node's time is this. */
  enter(atNs: VirtualNs): void {
    this.eventNs = atNs;
  }

  leave(): void {
    this.eventNs = -1;
  }

  /** Whether a socket of this node may be bound to the address. */
  isOwn(address: number): boolean {
    return address === ANY_ADDRESS || address === LOOPBACK_ADDRESS || address === this.address;
  }

  /**
   * The way to `target` from a socket that is bound to `bound`; a target of 0 is the loopback.
   * `unreachable`: nobody has the address or no link leads there. `unsuitable`: not from there.
   */
  route(bound: number, target: number): Route | 'unreachable' | 'unsuitable' {
    const to = target === ANY_ADDRESS ? LOOPBACK_ADDRESS : target;
    const node = to === LOOPBACK_ADDRESS ? this.node : this.network.nodeOf(to);
    if (node < 0 || !this.network.hasRoute(this.node, node)) return 'unreachable';
    if (bound === LOOPBACK_ADDRESS && node !== this.node) return 'unsuitable';
    const own = to === LOOPBACK_ADDRESS ? LOOPBACK_ADDRESS : this.address;
    if (isIpv6(to)) return { node, source: ipv6Of(this.address), target: to };
    return { node, source: bound === ANY_ADDRESS ? own : bound, target: to };
  }

  transmit(packet: Draft, notBeforeNs: VirtualNs): VirtualNs {
    return this.network.transmit(packet, this.nowNs(), notBeforeNs);
  }

  /** The largest packet on the way to a node; `Infinity` without a limit. */
  mtuBytes(to: number): number {
    return this.network.mtuBytes(this.node, to);
  }

  isMachine(node: number): boolean {
    return this.network.isMachine(node);
  }

  wake(atNs: VirtualNs, event: TimerEvent): void {
    this.network.wake(atNs, event);
  }

  resolve(name: string): number[] {
    return this.network.resolve(name);
  }
}

/** Where a socket stands that nothing was bound to. */
export const NOWHERE: Endpoint = { address: ANY_ADDRESS, port: 0 };
