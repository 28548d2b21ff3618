import type { MachineInput } from '../../sim/index.ts';
import type { MachineId } from './messages.ts';

/** A stretch of a machine's life without a word from the world. */
export interface TapeRun {
  /** What reached the machine first, at times of its own clock. */
  readonly inputs: readonly MachineInput[];
  /** Where it stopped, by its own clock. */
  readonly endNs: number;
  /** The world's time less the machine's. */
  readonly offsetNs: number;
}

/** One life of a machine: enough to repeat it without its world. */
export class MachineTape {
  readonly runs: TapeRun[] = [];
  readonly node: number;
  /** Makes the machine as it was when the life began. */
  readonly make: () => MachineId;

  constructor(node: number, make: () => MachineId) {
    this.node = node;
    this.make = make;
  }

  /** Where the life ended, or was left, by the machine's own clock. */
  get endNs(): number {
    return this.runs.at(-1)?.endNs ?? 0;
  }
}

/** The lives of all machines of a run, in their order. */
export class MachineTapes {
  private readonly tapes: MachineTape[] = [];

  begin(node: number, make: () => MachineId): MachineTape {
    const tape = new MachineTape(node, make);
    this.tapes.push(tape);
    return tape;
  }

  livesOf(node: number): readonly MachineTape[] {
    return this.tapes.filter((tape) => tape.node === node);
  }
}
