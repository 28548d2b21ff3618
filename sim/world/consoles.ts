import { assert } from '../kernel/assert.ts';
import { SimError } from '../kernel/errors.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { ConsoleLines } from '../property/console-lines.ts';

/** A node's console holds at most this much: 64 MiB. */
export const CONSOLE_BYTES_MAX = 64 * 1024 * 1024;

export type Descriptor = 1 | 2;

export interface ConsolesState {
  readonly lines: readonly (readonly [readonly number[], readonly number[]])[];
  readonly bytes: readonly number[];
}

export interface ConsolesListener {
  bytes(node: number, descriptor: Descriptor, bytes: Uint8Array, atNs: VirtualNs): void;
  line(node: number, line: string, atNs: VirtualNs): void;
  /** A node's guest ended, and its last lines were handed on. */
  end(node: number, atNs: VirtualNs): void;
}

/** The consoles of all nodes: counts what they write, and splits it into lines. */
export class Consoles {
  private readonly names: readonly string[];
  private readonly listener: ConsolesListener;
  private readonly lines: readonly (readonly [ConsoleLines, ConsoleLines])[];
  private byteCounts: number[];

  constructor(names: readonly string[], listener: ConsolesListener) {
    this.names = names;
    this.listener = listener;
    this.lines = names.map(() => [new ConsoleLines(), new ConsoleLines()] as const);
    this.byteCounts = names.map(() => 0);
  }

  /** Throws `budget/console` when the node has written too much. */
  write(node: number, descriptor: Descriptor, bytes: Uint8Array, atNs: VirtualNs): void {
    const total = (this.byteCounts[node] as number) + bytes.length;
    if (total > CONSOLE_BYTES_MAX) {
      throw new SimError({
        code: 'budget/console',
        message: `a console holds at most ${CONSOLE_BYTES_MAX} bytes`,
        place: `node ${this.names[node]}`,
        remedy: 'let the guest write less, or lower the virtual time limit',
      });
    }
    this.byteCounts[node] = total;
    this.listener.bytes(node, descriptor, bytes, atNs);
    const lines = this.lines[node];
    assert(lines !== undefined, 'a node that writes has a console');
    lines[descriptor - 1]?.feed(bytes, (line) => this.listener.line(node, line, atNs));
  }

  /** Ends the last lines of a node whose guest ended. */
  close(node: number, atNs: VirtualNs): void {
    const lines = this.lines[node];
    assert(lines !== undefined, 'a node that ends has a console');
    for (const each of lines) each.close((line) => this.listener.line(node, line, atNs));
    this.listener.end(node, atNs);
  }

  capture(): ConsolesState {
    const lines = this.lines.map(([out, err]) => [out.capture(), err.capture()] as const);
    return { lines, bytes: this.byteCounts.slice() };
  }

  restore(state: ConsolesState): void {
    this.lines.forEach(([out, err], node) => {
      const saved = state.lines[node];
      assert(saved !== undefined, 'a checkpoint has a console for each node');
      out.restore(saved[0]);
      err.restore(saved[1]);
    });
    this.byteCounts = state.bytes.slice();
  }
}
