import { ANY_ADDRESS, LOOPBACK_ADDRESS, nodeAddress, parseAddress } from './address.ts';

/** Names of nodes and of services, which stand for one node or several. */
export class NameTable {
  private readonly addresses = new Map<string, readonly number[]>();

  /** A node's own name wins over an alias. */
  constructor(nodeNames: readonly string[], aliases: ReadonlyMap<string, readonly number[]>) {
    for (const [name, nodes] of aliases) this.addresses.set(name, nodes.map(nodeAddress));
    nodeNames.forEach((name, node) => this.addresses.set(name, [nodeAddress(node)]));
  }

  /** The addresses of a name, `localhost`, or an address in four decimal parts; none if unknown. */
  resolve(name: string): number[] {
    const known = this.addresses.get(name);
    if (known !== undefined) return [...known];
    if (name === 'localhost') return [LOOPBACK_ADDRESS];
    const address = parseAddress(name);
    return address < ANY_ADDRESS ? [] : [address];
  }
}
