/**
 * Why one transaction comes before another (Adya 1999): `ww`, its append stands right before the
 * other's; `wr`, the other read a list that ends with its append; `rw`, it read a list that the
 * other's append came after.
 */
export type DependencyKind = 'ww' | 'wr' | 'rw';

export interface Dependency {
  readonly from: number;
  readonly to: number;
  readonly kind: DependencyKind;
  readonly key: string;
}

/** A cycle of dependencies, and what it is called. */
export interface DependencyCycle {
  readonly name: 'G0' | 'G1c' | 'G-single' | 'G2';
  readonly edges: readonly Dependency[];
}

/** So many dependencies are tried to close a cycle; a G-single among more may be called G2. */
const CANDIDATES_MAX = 1_000;

/**
 * The cycle of the worst kind: of `ww` only (G0), of `ww` and `wr` (G1c), with one `rw` (G-single),
 * with more (G2); or null. Of a kind, a short one is taken.
 */
export function findCycle(
  nodeCount: number,
  dependencies: readonly Dependency[],
): DependencyCycle | null {
  const rounds = [
    { name: 'G0', path: ['ww'], closing: ['ww'] },
    { name: 'G1c', path: ['ww', 'wr'], closing: ['wr'] },
    { name: 'G-single', path: ['ww', 'wr'], closing: ['rw'] },
    { name: 'G2', path: ['ww', 'wr', 'rw'], closing: ['rw'] },
  ] as const;
  for (const { name, path, closing } of rounds) {
    const kinds: readonly DependencyKind[] = [...path, ...closing];
    const graph = new Graph(nodeCount, ofKinds(dependencies, kinds));
    const components = graph.components();
    const ways = new Graph(nodeCount, ofKinds(dependencies, path));
    const candidates = ofKinds(dependencies, closing).filter((edge) => {
      return components[edge.from] === components[edge.to];
    });
    for (const edge of candidates.slice(0, CANDIDATES_MAX)) {
      const component = components[edge.from];
      const back = ways.path(edge.to, edge.from, (node) => components[node] === component);
      if (back !== null) return { name, edges: [edge, ...back] };
    }
  }
  return null;
}

function ofKinds(
  dependencies: readonly Dependency[],
  kinds: readonly DependencyKind[],
): readonly Dependency[] {
  return dependencies.filter((each) => kinds.includes(each.kind));
}

class Graph {
  private readonly out: readonly Dependency[][];

  constructor(nodeCount: number, edges: readonly Dependency[]) {
    const out = Array.from({ length: nodeCount }, (): Dependency[] => []);
    for (const edge of edges) out[edge.from]?.push(edge);
    this.out = out;
  }

  /** The strongly connected component of each node (Tarjan 1972, without recursion). */
  components(): readonly number[] {
    const count = this.out.length;
    const order = new Array<number>(count).fill(-1);
    const low = new Array<number>(count).fill(0);
    const component = new Array<number>(count).fill(-1);
    const open: number[] = [];
    let next = 0;
    for (let root = 0; root < count; root++) {
      if (order[root] !== -1) continue;
      const visits = [{ node: root, at: 0 }];
      for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
        const { node } = visit;
        if (visit.at === 0) {
          order[node] = low[node] = next++;
          open.push(node);
        }
        const edge = this.out[node]?.[visit.at++];
        if (edge !== undefined) {
          const { to } = edge;
          if (order[to] === -1) visits.push({ node: to, at: 0 });
          else if (component[to] === -1) low[node] = Math.min(num(low, node), num(order, to));
          continue;
        }
        visits.pop();
        const parent = visits.at(-1)?.node;
        if (parent !== undefined) low[parent] = Math.min(num(low, parent), num(low, node));
        if (low[node] !== order[node]) continue;
        let member = -1;
        while (member !== node) {
          member = open.pop() ?? node;
          component[member] = node;
        }
      }
    }
    return component;
  }

  /** A shortest way between two nodes over allowed nodes, or null. */
  path(from: number, to: number, allowed: (node: number) => boolean): Dependency[] | null {
    const cameBy = new Map<number, Dependency | null>([[from, null]]);
    for (const node of cameBy.keys()) {
      if (node === to) return wayTo(to, cameBy);
      for (const edge of this.out[node] ?? []) {
        if (!cameBy.has(edge.to) && allowed(edge.to)) cameBy.set(edge.to, edge);
      }
    }
    return null;
  }
}

function num(list: readonly number[], index: number): number {
  return list[index] ?? 0;
}

function wayTo(to: number, cameBy: ReadonlyMap<number, Dependency | null>): Dependency[] {
  const way: Dependency[] = [];
  for (let edge = cameBy.get(to); edge; edge = cameBy.get(edge.from)) way.unshift(edge);
  return way;
}
