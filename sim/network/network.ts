import { assert } from '../kernel/assert.ts';
import { encodeCanonical } from '../kernel/canonical.ts';
import { ARITY_MAX, type Decisions } from '../kernel/decision.ts';
import { mix32 } from '../kernel/draw.ts';
import { SimError } from '../kernel/errors.ts';
import type { EventKind, EventLog } from '../kernel/event-log.ts';
import { digest32, RollingDigest } from '../kernel/rolling-digest.ts';
import { readBoolean, readInteger, readList, readRecord } from '../kernel/shape.ts';
import { formatSpan, VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';
import { LINK_FLOOR_NS, type LinkDef } from '../plan/scenario.ts';
import { NETWORK_NODES_MAX, nodeOfAddress } from './address.ts';
import { DROP } from './drop.ts';
import {
  Link,
  NO_DEGRADATION,
  NOTHING,
  readLinkState,
  type Degradation,
  type LinkState,
} from './link.ts';
import { damage, payloadBits } from './frame-damage.ts';
import { hostAnswer, MachineWire, type MachineWireNetwork } from './machine-wire.ts';
import { NameTable } from './name-table.ts';
import { NodeWire, type WireNetwork } from './node-wire.ts';
import {
  packetDigest,
  PROTOCOL_ETHERNET,
  type Draft,
  type NetworkEvent,
  type Packet,
} from './packet.ts';
import { SocketStack } from './socket-stack.ts';
import { trafficResult } from './traffic.ts';

export type { NetworkEvent } from './packet.ts';

/** What the world gives its network. */
export interface NetworkHost {
  readonly decisions: Decisions;
  readonly events: EventLog;
  /** Queues an event; the world later gives it back to `handle` at that time. */
  readonly schedule: (
    atNs: VirtualNs,
    consumer: number,
    producer: number,
    event: NetworkEvent,
  ) => void;
  /** The local time of the guest that runs, or the world's time when none does. */
  nowNs(): VirtualNs;
  /** A frame reaches a machine; false if that has no room. Needed where there are machines. */
  readonly frameArrives?: (node: number, frame: Uint8Array, atNs: VirtualNs) => boolean;
  /** Is told of each packet that is sent, and of each that reaches its node. */
  readonly onPacket?: (when: 'send' | 'deliver', packet: Packet, atNs: VirtualNs) => void;
}

export interface NetworkOptions {
  /** In declared order: the place gives the address. */
  readonly nodeNames: readonly string[];
  readonly links: readonly LinkDef[];
  readonly host: NetworkHost;
  /** Further names, each for one node or several. */
  readonly aliases?: ReadonlyMap<string, readonly number[]>;
  /** The nodes that are machines: their own stacks speak in frames. */
  readonly machines?: ReadonlySet<number>;
}

/** A directed pair of nodes. */
export type NodePair = readonly [from: number, to: number];

/** What a packet takes from a node to itself. */
export const LOOPBACK_LATENCY_NS: VirtualNs = 10_000;
/** A world has at most this many packets under way; more end the run. */
export const PACKETS_IN_FLIGHT_MAX = 1 << 20;

const STATE_VERSION = 1;

interface NetworkState {
  readonly version: number;
  readonly up: readonly boolean[];
  readonly inFlight: number;
  readonly links: readonly LinkState[];
  readonly stacks: readonly unknown[];
  /** In order of their nodes; absent without machines. */
  readonly machines?: readonly unknown[];
}

const readState = readRecord<NetworkState>(
  {
    version: readInteger(STATE_VERSION, STATE_VERSION),
    up: readList(readBoolean, NETWORK_NODES_MAX),
    inFlight: readInteger(0, PACKETS_IN_FLIGHT_MAX),
    links: readList(readLinkState, Number.MAX_SAFE_INTEGER),
    stacks: readList((value) => value, NETWORK_NODES_MAX),
    machines: readList((value) => value, NETWORK_NODES_MAX),
  },
  ['machines'],
);

/**
 * The network of a world: nodes with their sockets, and directed links between them. All of it is
 * modelled, in virtual time (CR-88); whatever could be otherwise is a decision of the link's own.
 */
export class Network implements WireNetwork, MachineWireNetwork {
  private readonly host: NetworkHost;
  private readonly names: NameTable;
  private readonly stacks: readonly SocketStack[];
  /** By sending, then by receiving node; with each node's loopback. */
  private readonly links: readonly (readonly (Link | undefined)[])[];
  private readonly linkList: readonly Link[];
  private readonly lookaheads: readonly VirtualNs[];
  private readonly roundTrips: readonly VirtualNs[];
  private readonly up: boolean[];
  private readonly machines: ReadonlyMap<number, MachineWire>;
  private inFlight = 0;
  private readonly sendKind: EventKind;
  private readonly deliverKind: EventKind;
  private readonly dropKind: EventKind;

  /** Refuses links whose latency less jitter is below the floor (`scenario/jitter`, CR-54). */
  constructor(options: NetworkOptions) {
    const { nodeNames, links, host } = options;
    assert(nodeNames.length <= NETWORK_NODES_MAX, 'every node has an address');
    this.host = host;
    this.names = new NameTable(nodeNames, options.aliases ?? new Map());
    this.stacks = nodeNames.map((_, node) => new SocketStack(new NodeWire(this, node)));
    this.up = nodeNames.map(() => false);
    const machines = [...(options.machines ?? [])].sort((a, b) => a - b);
    this.machines = new Map(machines.map((node) => [node, new MachineWire(this, node)]));
    this.links = makeLinks(nodeNames, links);
    this.linkList = this.links.flatMap((row) => row.filter((link) => link !== undefined));
    this.lookaheads = leastInto(nodeNames.length, links);
    const leastNs = leastOutOf(nodeNames.length, links);
    this.roundTrips = this.lookaheads.map((intoNs, node) => intoNs + (leastNs[node] ?? Infinity));
    this.sendKind = host.events.kind('net/send');
    this.deliverKind = host.events.kind('net/deliver');
    this.dropKind = host.events.kind('net/drop');
  }

  /** The sockets of a node. */
  stack(node: number): SocketStack {
    const stack = this.stacks[node];
    assert(stack !== undefined, 'the node exists');
    return stack;
  }

  /** Delivers a packet or fires a timer that is due at `atNs`; false if the timer was stopped or moved. */
  handle(event: NetworkEvent, atNs: VirtualNs): boolean {
    if (event.kind === 'timer') return this.stack(event.node).fire(event, atNs);
    this.arrive(event, atNs);
    return true;
  }

  /** Whether the event is that of a timer which was stopped, and changes nothing when it comes. */
  isVoid(event: NetworkEvent, atNs: VirtualNs): boolean {
    return event.kind === 'timer' && !this.stack(event.node).awaits(event, atNs);
  }

  /** Whether the node is switched on, whether a program runs on it or not. */
  isUp(node: number): boolean {
    return this.up[node] ?? false;
  }

  /** Switches a node on, or off as by power loss. Nodes begin switched off. */
  setUp(node: number, up: boolean): void {
    this.up[node] = up;
    if (up) return;
    this.stack(node).reset();
    this.machines.get(node)?.reset();
  }

  /** A machine has sent a frame (CR-88); what cannot be carried is dropped with its reason. */
  sendFrame(node: number, frame: Uint8Array): void {
    const wire = this.machines.get(node);
    assert(wire !== undefined, 'a machine sends frames');
    const { events } = this.host;
    const nowNs = this.nowNs();
    const digest = digest32(frame);
    events.append(events.kind('net/frame'), node, nowNs, digest, frame.length);
    const reason = wire.send(frame, nowNs);
    if (reason !== 0) events.append(this.dropKind, node, nowNs, digest, reason);
  }

  /**
   * Cuts directed links until `heal`, or until `mend` was called as often. What is in flight when
   * a cut begins is lost, also if the cut is mended before it would arrive, unless `inFlight` says
   * that it is delivered; what is sent or held during a cut is lost at once (CR-89). Gives how
   * many links got through before.
   */
  cut(pairs: readonly NodePair[], inFlight: 'deliver' | 'drop' = 'drop'): number {
    let digest = 0;
    let count = 0;
    for (const link of this.named(pairs)) {
      if (link.cutHolds++ > 0) continue;
      if (inFlight === 'drop') link.cuts++;
      count++;
      digest = mix32(digest ^ (link.def.from * 65_536 + link.def.to));
    }
    this.note('net/cut', digest, count);
    return count;
  }

  /** Takes back one cut of each of these links; gives how many get through again. */
  mend(pairs: readonly NodePair[]): number {
    let count = 0;
    for (const link of this.named(pairs)) {
      if (link.cutHolds > 0 && --link.cutHolds === 0) count++;
    }
    this.note('net/mend', 0, count);
    return count;
  }

  /** Mends every cut, and gives how many links were cut. */
  heal(): number {
    let count = 0;
    for (const link of this.linkList) {
      if (!link.isCut) continue;
      link.cutHolds = 0;
      count++;
    }
    this.note('net/heal', 0, count);
    return count;
  }

  /**
   * From here on these links hold what is sent, until `release` was called as often. What is in
   * flight arrives.
   */
  stick(pairs: readonly NodePair[]): number {
    let count = 0;
    for (const link of this.named(pairs)) {
      if (link.stuck++ === 0) count++;
    }
    this.note('net/stick', 0, count);
    return count;
  }

  /** Lets stuck links go; what they held leaves now, in the order of sending. */
  release(pairs: readonly NodePair[], atNs: VirtualNs): number {
    let count = 0;
    for (const link of this.named(pairs)) {
      if (link.stuck === 0 || --link.stuck > 0) continue;
      count++;
      this.letGo(link, atNs);
    }
    this.note('net/release', 0, count);
    return count;
  }

  /** Ends all cuts, stuck links and degradations. */
  lift(atNs: VirtualNs): void {
    this.heal();
    // What is let go meets the links as they are from now on.
    this.degrade([], NO_DEGRADATION);
    const stuck = this.linkList.filter((link) => link.stuck > 0);
    for (const link of stuck) link.stuck = 1;
    this.release(
      stuck.map(({ def }) => [def.from, def.to]),
      atNs,
    );
  }

  /**
   * Sets what is added to the links between these nodes (to all links if there are none), in place
   * of what was added before. What is in flight arrives when it would have. Gives how many links
   * there are.
   */
  degrade(nodes: readonly number[], added: Degradation): number {
    const named = new Set(nodes);
    let count = 0;
    for (const link of this.linkList) {
      const { from, to } = link.def;
      if (from === to) continue;
      if (named.size > 0 && !(named.has(from) && named.has(to))) continue;
      link.degrade(added);
      count++;
    }
    this.note('net/degrade', mix32(added.loss) ^ (added.extraLatencyNs | 0), count);
    return count;
  }

  /** Whether no packet is under way. */
  get isAtRest(): boolean {
    return this.inFlight === 0;
  }

  /**
   * The least time that a packet takes to this node from any other, whatever is cut or degraded;
   * `Infinity` without links. This is how far the node may run ahead of the others.
   */
  lookaheadNs(into: number): VirtualNs {
    return this.lookaheads[into] ?? Infinity;
  }

  /**
   * A time after which nothing can come back to a node for what it sends, over whatever other nodes:
   * its nearest link out and its nearest link in; `Infinity` without links both ways. A machine
   * runs this far without being asked what it has sent.
   */
  roundTripNs(node: number): VirtualNs {
    return this.roundTrips[node] ?? Infinity;
  }

  nowNs(): VirtualNs {
    return this.host.nowNs();
  }

  nodeOf(address: number): number {
    return nodeOfAddress(address, this.stacks.length);
  }

  isMachine(node: number): boolean {
    return this.machines.has(node);
  }

  hasRoute(from: number, to: number): boolean {
    return this.links[from]?.[to] !== undefined;
  }

  resolve(name: string): number[] {
    return this.names.resolve(name);
  }

  wake(atNs: VirtualNs, event: Extract<NetworkEvent, { kind: 'timer' }>): void {
    this.host.schedule(atNs, event.node, event.node, event);
  }

  transmit(packet: Draft, nowNs: VirtualNs, notBeforeNs: VirtualNs): VirtualNs {
    const { events } = this.host;
    const { from, to, payload } = packet;
    packet.digest = packetDigest(packet);
    const result = trafficResult(to, payload.length);
    events.append(this.sendKind, from, nowNs, packet.digest, result);
    this.host.onPacket?.('send', packet, nowNs);
    const link = this.links[from]?.[to];
    const refusal = link === undefined ? DROP.NO_ROUTE : refusalOf(link);
    if (link === undefined || refusal !== 0) {
      events.append(this.dropKind, from, nowNs, packet.digest, refusal);
      return notBeforeNs;
    }
    packet.cuts = link.cuts;
    if (link.stuck === 0) return this.carry(link, packet, nowNs, notBeforeNs);
    this.takeOn(link, packet);
    link.held.push(packet);
    return notBeforeNs;
  }

  mtuBytes(from: number, to: number): number {
    return this.links[from]?.[to]?.def.faults?.mtu?.bytes ?? Infinity;
  }

  capture(): unknown {
    const state: NetworkState = {
      version: STATE_VERSION,
      up: this.up.slice(),
      inFlight: this.inFlight,
      links: this.linkList.map((link) => link.capture()).filter((link) => link !== null),
      stacks: this.stacks.map((stack) => stack.capture()),
      ...(this.machines.size === 0 ? {} : { machines: this.captureMachines() }),
    };
    return state;
  }

  /** Takes what `capture` gave; anything else is refused (`bundle/shape`). */
  restore(state: unknown): void {
    const { up, inFlight, links, stacks, machines = [] } = readState(state, 'network');
    if (up.length !== this.up.length || stacks.length !== this.up.length) {
      throw new SimError({
        code: 'bundle/shape',
        message: `the network has ${this.up.length} nodes, the saved one ${stacks.length}`,
        place: 'network',
      });
    }
    up.forEach((value, node) => (this.up[node] = value));
    this.inFlight = inFlight;
    for (const link of this.linkList) link.restore(null);
    for (const saved of links) this.links[saved.from]?.[saved.to]?.restore(saved);
    this.stacks.forEach((stack, node) => stack.restore(stacks[node]));
    [...this.machines.values()].forEach((machine, place) => machine.restore(machines[place]));
  }

  /** A digest of all of the state as 16 hexadecimal digits. */
  digest(): string {
    const digest = new RollingDigest();
    digest.update(encodeCanonical(this.capture()));
    return digest.hex();
  }

  private captureMachines(): readonly unknown[] {
    return [...this.machines.values()].map((machine) => machine.capture());
  }

  /** The links of these pairs, as far as there are any between two nodes. */
  private named(pairs: readonly NodePair[]): readonly Link[] {
    return pairs.flatMap(([from, to]) => {
      const link = this.links[from]?.[to];
      return link === undefined || from === to ? [] : [link];
    });
  }

  /** Sends a packet over a link that takes it; gives its arrival, or `notBeforeNs` if it is lost. */
  private carry(link: Link, packet: Packet, nowNs: VirtualNs, notBeforeNs: VirtualNs): VirtualNs {
    const { events, decisions } = this.host;
    const refusal = link.refuses(decisions, packet, nowNs);
    const drawnNs = refusal === 0 ? link.arrivalNs(decisions, nowNs, packet) : 0;
    const arrivalNs = Math.max(drawnNs, notBeforeNs);
    const reason = refusal === 0 && arrivalNs > VIRTUAL_NS_MAX ? DROP.TOO_LATE : refusal;
    if (reason !== 0) {
      events.append(this.dropKind, packet.from, nowNs, packet.digest, reason);
      return notBeforeNs;
    }
    const { faults } = link;
    if (faults === NOTHING) {
      this.sendOff(link, packet, arrivalNs);
      return arrivalNs;
    }
    return this.disturb(link, packet, nowNs, arrivalNs);
  }

  /** What a link may do to a packet that it did not lose. */
  private disturb(link: Link, packet: Packet, nowNs: VirtualNs, arrivalNs: VirtualNs): VirtualNs {
    const { decisions } = this.host;
    const { corrupt = 0, corruptUndetected = 0, reorder, duplicate } = link.faults;
    const own = link.decisions;
    let sent = packet;
    const bits = corruptUndetected === 0 ? 0 : payloadBits(packet);
    if (bits > 0 && own.chance(decisions, 'corrupt-undetected', nowNs, corruptUndetected)) {
      sent = this.flip(packet, own.choose(decisions, 'corrupt-bit', nowNs, bits), nowNs);
    }
    if (own.chance(decisions, 'corrupt', nowNs, corrupt)) sent = { ...sent, damaged: true };
    let lateNs = arrivalNs;
    if (reorder !== undefined && own.chance(decisions, 'reorder', nowNs, reorder.chance)) {
      lateNs += 1 + own.choose(decisions, 'reorder-delay', nowNs, reorder.windowNs);
    }
    this.sendOff(link, sent, Math.min(lateNs, VIRTUAL_NS_MAX));
    if (duplicate === undefined || link.isFull) return arrivalNs;
    if (!own.chance(decisions, 'duplicate', nowNs, duplicate.chance)) return arrivalNs;
    const gapNs = own.choose(decisions, 'duplicate-gap', nowNs, duplicate.gapNs + 1);
    this.sendOff(link, sent, Math.min(lateNs + gapNs, VIRTUAL_NS_MAX));
    return arrivalNs;
  }

  private flip(packet: Packet, bit: number, nowNs: VirtualNs): Packet {
    const { events } = this.host;
    const flipped: Draft = { ...packet, payload: damage(packet, bit) };
    flipped.digest = packetDigest(flipped);
    events.append(events.kind('net/corrupt'), packet.from, nowNs, packet.digest, bit);
    return flipped;
  }

  private sendOff(link: Link, packet: Packet, arrivalNs: VirtualNs): void {
    this.takeOn(link, packet);
    this.host.schedule(arrivalNs, packet.to, packet.from, packet);
  }

  private takeOn(link: Link, packet: Packet): void {
    link.packets++;
    link.bytes += packet.payload.length;
    this.countInFlight();
  }

  private takeOff(link: Link, packet: Packet): void {
    link.packets--;
    link.bytes -= packet.payload.length;
    this.inFlight--;
  }

  /** What a link held goes on, but for what was sent before or during a cut. */
  private letGo(link: Link, atNs: VirtualNs): void {
    const { held } = link;
    link.held = [];
    let notBeforeNs = 0;
    for (const packet of held) {
      this.takeOff(link, packet);
      const stale = packet.cuts === link.cuts ? 0 : DROP.CUT_IN_FLIGHT;
      const refusal = link.isCut ? DROP.CUT : stale;
      if (refusal === 0) notBeforeNs = this.carry(link, packet, atNs, notBeforeNs);
      else this.host.events.append(this.dropKind, packet.from, atNs, packet.digest, refusal);
    }
  }

  private arrive(packet: Packet, atNs: VirtualNs): void {
    const { events } = this.host;
    const { from, to, payload, digest } = packet;
    const link = this.links[from]?.[to];
    assert(link !== undefined, 'a packet arrives over a link');
    this.takeOff(link, packet);
    let reason: number;
    if (packet.cuts !== link.cuts) {
      reason = DROP.CUT_IN_FLIGHT;
    } else if (!this.up[to]) {
      reason = DROP.NODE_DOWN;
    } else if (packet.damaged === true) {
      reason = DROP.CHECKSUM;
    } else {
      events.append(this.deliverKind, to, atNs, digest, trafficResult(from, payload.length));
      this.host.onPacket?.('deliver', packet, atNs);
      reason = this.deliver(packet, atNs);
    }
    if (reason !== 0) events.append(this.dropKind, to, atNs, digest, reason);
  }

  /** Gives a packet to its node; returns why that drops it, or 0. */
  private deliver(packet: Packet, atNs: VirtualNs): number {
    const { to } = packet;
    const machine = this.machines.get(to);
    if (machine !== undefined) {
      const { frameArrives } = this.host;
      assert(frameArrives !== undefined, 'a network with machines has somewhere to put frames');
      const taken = machine.framesOf(packet).map((frame) => frameArrives(to, frame, atNs));
      return taken.includes(false) ? DROP.BUFFER : 0;
    }
    if (packet.protocol !== PROTOCOL_ETHERNET) return this.stack(to).deliver(packet, atNs);
    const answer = hostAnswer(packet);
    if (typeof answer === 'number') return answer;
    this.transmit(answer, atNs, 0);
    return 0;
  }

  private countInFlight(): void {
    if (++this.inFlight <= PACKETS_IN_FLIGHT_MAX) return;
    throw new SimError({
      code: 'budget/packets-in-flight',
      message: `more than ${PACKETS_IN_FLIGHT_MAX} packets are under way at once`,
      remedy: 'let the guests send less, or shorten the latency of links',
    });
  }

  private note(kind: string, input: number, result: number): void {
    const { events } = this.host;
    events.append(events.kind(kind), -1, this.host.nowNs(), input, result);
  }
}

/** Why the link takes no packet at all now, or 0. */
function refusalOf(link: Link): number {
  if (link.isCut) return DROP.CUT;
  return link.isFull ? DROP.LINK_FULL : 0;
}

function makeLinks(
  nodeNames: readonly string[],
  defs: readonly LinkDef[],
): readonly (readonly (Link | undefined)[])[] {
  const rows = nodeNames.map((name, node) => {
    const row: (Link | undefined)[] = [];
    row[node] = new Link(loopbackDef(node), `${name}/${name}`);
    return row;
  });
  for (const def of defs) {
    const from = nodeNames[def.from];
    const to = nodeNames[def.to];
    const row = rows[def.from];
    assert(from !== undefined && to !== undefined && row !== undefined, 'a link joins nodes');
    assert(row[def.to] === undefined, 'two nodes have one link a direction');
    const name = `${from}/${to}`;
    const leastNs = def.latencyNs - def.jitterNs;
    if (leastNs < LINK_FLOOR_NS || def.jitterNs >= ARITY_MAX) {
      throw new SimError({
        code: 'scenario/jitter',
        message: `latency less jitter is ${leastNs} ns, the floor is ${formatSpan(LINK_FLOOR_NS)}`,
        place: `link ${name}`,
        remedy: 'give the link more latency or less jitter',
      });
    }
    row[def.to] = new Link(def, name);
  }
  return rows;
}

/** For each node the least time that a packet takes to it. */
function leastInto(nodeCount: number, defs: readonly LinkDef[]): readonly VirtualNs[] {
  const least = new Array<VirtualNs>(nodeCount).fill(Infinity);
  for (const { to, latencyNs, jitterNs } of defs) {
    least[to] = Math.min(least[to] ?? Infinity, latencyNs - jitterNs);
  }
  return least;
}

/** For each node the least time that a packet takes from it. */
function leastOutOf(nodeCount: number, defs: readonly LinkDef[]): readonly VirtualNs[] {
  const least = new Array<VirtualNs>(nodeCount).fill(Infinity);
  for (const { from, latencyNs, jitterNs } of defs) {
    least[from] = Math.min(least[from] ?? Infinity, latencyNs - jitterNs);
  }
  return least;
}

function loopbackDef(node: number): LinkDef {
  const latencyNs = LOOPBACK_LATENCY_NS;
  return { from: node, to: node, latencyNs, jitterNs: 0, loss: 0, bandwidth: null };
}
