import {
  drawUniform,
  NO_DEGRADATION,
  nodeAddress,
  NS_PER_MS,
  NS_PER_S,
  streamKey,
  type Endpoint,
  type LinkFaultsDef,
  type SocketStack,
} from '../../sim/index.ts';
import { mesh, NetLoop } from './net-loop.ts';
import { isPattern, pattern } from './net-programs.ts';

const NODES = 3;
const PORTS = [80, 81, 82] as const;

/** What the test knows of a socket: how much of its streams has gone through. */
interface Known {
  readonly kind: 'tcp' | 'udp';
  sent: number;
  received: number;
}

/** Programs that do whatever they like, on nodes that crash, over links that are cut. */
export class Chaos {
  readonly loop: NetLoop;
  private readonly known: Map<number, Known>[];
  private readonly draw: (arity: number) => number;
  /** How many bytes of TCP streams came out and were right. */
  bytesChecked = 0;

  constructor(seed: number) {
    const values = { loss: 50_000, jitterNs: NS_PER_MS / 2 };
    this.loop = new NetLoop({ nodes: ['a', 'b', 'c'], links: mesh(NODES, values), seed });
    this.known = Array.from({ length: NODES }, () => new Map<number, Known>());
    const key = streamKey(seed, 'chaos');
    let ordinal = 0;
    this.draw = (arity) => drawUniform(key, ordinal++, arity);
  }

  act(): void {
    const node = this.draw(NODES);
    const stack = this.loop.stack(node);
    const known = this.known[node] as Map<number, Known>;
    const ids = [...known.keys()];
    const id = ids[this.draw(Math.max(1, ids.length))] ?? 0;
    switch (this.draw(24)) {
      case 0:
      case 1:
        return this.serve(stack, known);
      case 2:
      case 3:
      case 4:
        return this.connect(stack, known);
      case 5:
        stack.shutdown(id, (['read', 'write', 'both'] as const)[this.draw(3)] ?? 'both');
        return;
      case 6:
        stack.close(id);
        known.delete(id);
        return;
      case 7:
        return this.disturb(node, known);
      case 8:
        stack.setOption(id, 'no-delay', this.draw(2));
        stack.setOption(id, 'linger', this.draw(8) === 0 ? 1 : 0);
        stack.setOption(id, 'receive-buffer', 4_096 << this.draw(6));
        return;
      case 9:
      case 10:
        this.loop.run(this.loop.nowNs + this.draw(this.draw(20) === 0 ? 5 * NS_PER_S : 20_000_000));
        return;
      default:
        for (const each of ids) this.exchange(stack, each, known);
    }
  }

  private serve(stack: SocketStack, known: Map<number, Known>): void {
    const kind = this.draw(3) === 0 ? 'udp' : 'tcp';
    const id = stack.open(kind);
    stack.setOption(id, 'reuse-address', this.draw(2));
    stack.bind(id, 0, PORTS[this.draw(PORTS.length)] ?? 0);
    if (kind === 'tcp') stack.listen(id, 1 + this.draw(4));
    known.set(id, { kind, sent: 0, received: 0 });
  }

  private connect(stack: SocketStack, known: Map<number, Known>): void {
    const kind = this.draw(5) === 0 ? 'udp' : 'tcp';
    const id = stack.open(kind);
    const to = this.draw(8) === 0 ? 0 : nodeAddress(this.draw(NODES));
    stack.connect(id, to, PORTS[this.draw(PORTS.length)] ?? 0);
    known.set(id, { kind, sent: 0, received: 0 });
  }

  private disturb(node: number, known: Map<number, Known>): void {
    const { network } = this.loop;
    switch (this.draw(9)) {
      case 0:
        network.setUp(node, false);
        known.clear();
        this.loop.run(this.loop.nowNs + this.draw(50_000_000));
        network.setUp(node, true);
        return;
      case 1:
        network.cut([[node, this.draw(NODES)]]);
        return;
      case 2:
      case 3:
        network.heal();
        return;
      case 4:
        network.stick([[node, this.draw(NODES)]]);
        return;
      case 5:
        network.lift(this.loop.nowNs);
        return;
      case 6:
        network.degrade([], { ...NO_DEGRADATION, bandwidth: 1_000_000, faults: this.faults() });
        return;
      default:
        network.degrade([], {
          ...NO_DEGRADATION,
          loss: this.draw(300_000),
          extraLatencyNs: this.draw(2_000_000),
        });
    }
  }

  /** Anything that a link does, but for bits that no checksum sees: streams must stay whole. */
  private faults(): LinkFaultsDef {
    const share = (): number => 1 + this.draw(200_000);
    return {
      burst: { enter: share(), leave: 200_000 + share(), loss: 1_000_000 },
      duplicate: { chance: share(), gapNs: this.draw(3_000_000) },
      reorder: { chance: share(), windowNs: 1 + this.draw(30_000_000) },
      corrupt: share(),
      queueBytes: 20_000 + this.draw(50_000),
      mtu: { bytes: 1_500, oversize: this.draw(2) === 0 ? 'drop' : 'fragment' },
    };
  }

  private exchange(stack: SocketStack, id: number, known: Map<number, Known>): void {
    const socket = known.get(id) as Known;
    if (socket.kind === 'tcp') {
      const child = stack.accept(id);
      if (child > 0) known.set(child, { kind: 'tcp', sent: 0, received: 0 });
    }
    const local = stack.localAddress(id);
    const peer = stack.peerAddress(id);
    if (typeof local === 'number' || typeof peer === 'number') return;
    if (socket.kind === 'udp') {
      stack.send(id, new Uint8Array(this.draw(2_000)));
      stack.receive(id, new Uint8Array(this.draw(2_000)), this.draw(2) === 0);
      return;
    }
    const size = this.draw(this.draw(4) === 0 ? 60_000 : 300);
    const bytes = pattern(streamOf(local, peer), socket.sent, size);
    socket.sent += Math.max(0, stack.send(id, bytes));
    const buffer = new Uint8Array(1 + this.draw(20_000));
    const count = Math.max(0, stack.receive(id, buffer, false));
    if (!isPattern(buffer.subarray(0, count), streamOf(peer, local), socket.received)) {
      throw new Error(`wrong bytes on socket ${id}`);
    }
    socket.received += count;
    this.bytesChecked += count;
  }
}

function streamOf(from: Endpoint, to: Endpoint): number {
  return (from.address * 3 + from.port * 5 + to.address * 7 + to.port * 11) % 1_009;
}

interface StackState {
  readonly tcp: { readonly sockets: readonly unknown[] };
  readonly udp: { readonly sockets: readonly unknown[] };
}

export interface ChaosEnding {
  readonly bytesChecked: number;
  /** How long the network took to come to rest once all was mended and closed. */
  readonly restNs: number;
  /** Sockets and bytes that are still held after that. */
  readonly socketsLeft: number;
  readonly bytesLeft: number;
}

/** Lets chaos reign for some actions, mends and closes everything, and waits for the end. */
export function runChaos(seed: number, actions: number): ChaosEnding {
  const chaos = new Chaos(seed);
  const { loop } = chaos;
  for (let count = 0; count < actions; count++) chaos.act();
  loop.network.lift(loop.nowNs);
  const nodes = Array.from({ length: NODES }, (_, node) => loop.stack(node));
  for (const stack of nodes) stack.closeAll(loop.nowNs);
  const closedNs = loop.nowNs;
  loop.run();
  const restNs = loop.nowNs - closedNs;
  loop.nowNs += 3_600 * NS_PER_S;
  for (const stack of nodes) stack.close(stack.open('tcp'));
  const states = nodes.map((stack) => stack.capture() as StackState);
  return {
    bytesChecked: chaos.bytesChecked,
    restNs,
    socketsLeft: states.reduce(
      (sum, { tcp, udp }) => sum + tcp.sockets.length + udp.sockets.length,
      0,
    ),
    bytesLeft: nodes.reduce((sum, stack) => sum + stack.heldBytes, 0),
  };
}
