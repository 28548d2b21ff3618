import { PROTOCOL_TCP, PROTOCOL_UDP, type Packet } from '../network/packet.ts';
import type {
  AssertionState,
  IoKind,
  NetworkMatchDef,
  PredicateDef,
  WatchedNodeState,
} from '../plan/predicates.ts';
import { compilePattern, matchPattern, type Pattern } from './pattern.ts';
import type { Part } from './predicate-state.ts';

interface Watcher {
  readonly part: number;
  readonly nodes: ReadonlySet<number>;
}

interface PatternWatcher extends Watcher {
  readonly pattern: Pattern;
}

interface NetworkWatcher {
  readonly part: number;
  readonly def: NetworkMatchDef;
  readonly from: ReadonlySet<number>;
  readonly to: ReadonlySet<number>;
}

/** Which parts of predicates an observation makes true. Each kind is asked for its own only. */
export class Observers {
  /** The parts that are true when the world has come to rest. */
  readonly quiescent: number[] = [];
  private readonly lines: PatternWatcher[] = [];
  private readonly markers: PatternWatcher[] = [];
  private readonly packets: NetworkWatcher[] = [];
  private readonly inputs: (Watcher & { readonly io: IoKind })[] = [];
  private readonly states: (Watcher & { readonly state: WatchedNodeState })[] = [];
  private readonly assertions = new Map<string, number[]>();

  constructor(parts: readonly Part[]) {
    parts.forEach(({ def }, part) => {
      this.add(def, part);
    });
  }

  get watchesNodes(): boolean {
    return this.states.length > 0;
  }

  get watchesFiles(): boolean {
    return this.inputs.some(({ io }) => io !== 'network');
  }

  line(node: number, line: string): readonly number[] {
    return matching(this.lines, node, line);
  }

  marker(node: number, text: string): readonly number[] {
    return this.markers.length === 0 ? [] : matching(this.markers, node, markerName(text));
  }

  packet(when: 'send' | 'deliver', packet: Packet): readonly number[] {
    const node = when === 'send' ? packet.from : packet.to;
    const own = this.packets.flatMap(({ part, def, from, to }) => {
      const meant = def.when === when && from.has(packet.from) && to.has(packet.to);
      return meant && isOfProtocol(def, packet) && isPayload(def, packet.payload) ? [part] : [];
    });
    return [...own, ...this.io(node, 'network')];
  }

  io(node: number, kind: IoKind): readonly number[] {
    return this.inputs.flatMap(({ part, nodes, io }) => {
      return nodes.has(node) && covers(io, kind) ? [part] : [];
    });
  }

  inState(node: number, state: WatchedNodeState | null): readonly number[] {
    return this.states.flatMap(({ part, nodes, state: asked }) => {
      return asked === state && nodes.has(node) ? [part] : [];
    });
  }

  assertion(name: string, state: AssertionState): readonly number[] {
    return this.assertions.get(`${state} ${name}`) ?? [];
  }

  private add(def: PredicateDef, part: number): void {
    switch (def.kind) {
      case 'console_match':
      case 'guest_marker': {
        const watcher = { part, nodes: new Set(def.nodes), pattern: compilePattern(def.text) };
        (def.kind === 'console_match' ? this.lines : this.markers).push(watcher);
        return;
      }
      case 'network_match':
        this.packets.push({ part, def, from: new Set(def.from), to: new Set(def.to) });
        return;
      case 'io_pattern':
        this.inputs.push({ part, nodes: new Set(def.nodes), io: def.io });
        return;
      case 'node_state':
        this.states.push({ part, nodes: new Set(def.nodes), state: def.state });
        return;
      case 'assertion_state': {
        const key = `${def.state} ${def.assertion}`;
        this.assertions.set(key, [...(this.assertions.get(key) ?? []), part]);
        return;
      }
      case 'quiescent':
        this.quiescent.push(part);
        return;
      default:
        return;
    }
  }
}

function matching(
  watchers: readonly PatternWatcher[],
  node: number,
  text: string,
): readonly number[] {
  return watchers.flatMap(({ part, nodes, pattern }) => {
    return nodes.has(node) && matchPattern(pattern, text) !== null ? [part] : [];
  });
}

function covers(asked: IoKind, kind: IoKind): boolean {
  return asked === 'any' || asked === kind;
}

/** The name that a marker of JSON gives itself; of any other marker the whole text. */
function markerName(text: string): string {
  if (!text.startsWith('{')) return text;
  try {
    const { name } = JSON.parse(text) as { readonly name?: unknown };
    return typeof name === 'string' ? name : text;
  } catch {
    return text;
  }
}

function isOfProtocol({ protocol }: NetworkMatchDef, packet: Packet): boolean {
  if (protocol === 'any') return true;
  return packet.protocol === (protocol === 'tcp' ? PROTOCOL_TCP : PROTOCOL_UDP);
}

function isPayload({ match, bytes }: NetworkMatchDef, payload: Uint8Array): boolean {
  switch (match) {
    case 'any':
      return true;
    case 'exact':
      return payload.length === bytes.length && startsWith(payload, bytes, 0);
    case 'prefix':
      return startsWith(payload, bytes, 0);
    case 'contains':
      return contains(payload, bytes);
  }
}

function startsWith(payload: Uint8Array, bytes: Uint8Array, at: number): boolean {
  return bytes.every((byte, place) => payload[at + place] === byte);
}

function contains(payload: Uint8Array, bytes: Uint8Array): boolean {
  const first = bytes[0] as number;
  const last = payload.length - bytes.length;
  for (
    let at = payload.indexOf(first);
    at >= 0 && at <= last;
    at = payload.indexOf(first, at + 1)
  ) {
    if (startsWith(payload, bytes, at)) return true;
  }
  return false;
}
