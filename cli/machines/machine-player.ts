import type { MachineHost } from './machine-host.ts';
import type { MachineTape } from './machine-tape.ts';
import type { MachineId } from './messages.ts';

/** A life of a machine that is repeated, without its world, up to any moment. */
export class MachinePlayer {
  readonly machine: MachineId;
  readonly tape: MachineTape;
  private readonly host: MachineHost;
  private place = 0;
  private isTold = false;
  private isOff = false;
  private atNs = 0;
  private count = 0;

  private constructor(host: MachineHost, tape: MachineTape, machine: MachineId) {
    this.host = host;
    this.tape = tape;
    this.machine = machine;
  }

  /** Stands at the beginning of the life. */
  static begin(host: MachineHost, tape: MachineTape): MachinePlayer {
    return new MachinePlayer(host, tape, tape.make());
  }

  /** By the machine's own clock. */
  get nowNs(): number {
    return this.atNs;
  }

  /** The same, by the world's clock. */
  get worldNs(): number {
    const { runs } = this.tape;
    const run = runs[Math.min(this.place, runs.length - 1)];
    return this.atNs + (run?.offsetNs ?? 0);
  }

  get instructions(): number {
    return this.count;
  }

  /** The kinds of what reaches the machine next, where it stands. */
  get coming(): readonly string[] {
    const inputs = this.isTold ? [] : (this.tape.runs[this.place]?.inputs ?? []);
    return inputs.map(({ kind }) => kind);
  }

  /** Goes on to a time of the machine's own clock, or to the end of the life. */
  advance(untilNs: number): void {
    const { runs } = this.tape;
    for (let run = runs[this.place]; run !== undefined; run = runs[this.place]) {
      if (this.isOff || this.atNs >= untilNs) return;
      const { atNs, instructions, isOff } = this.host.ask({
        kind: 'run',
        machine: this.machine,
        untilNs: Math.min(untilNs, run.endNs),
        stopOn: [],
        inputs: this.isTold ? [] : run.inputs,
      });
      this.atNs = atNs;
      this.count = instructions;
      this.isOff = isOff;
      this.isTold = atNs < run.endNs;
      if (!this.isTold) this.place++;
    }
  }

  /** A second one that stands where this one does. */
  copy(): MachinePlayer {
    const machine = this.host.newMachine();
    this.host.ask({ kind: 'fork', machine: this.machine, as: machine });
    const copy = new MachinePlayer(this.host, this.tape, machine);
    copy.place = this.place;
    copy.isTold = this.isTold;
    copy.isOff = this.isOff;
    copy.atNs = this.atNs;
    copy.count = this.count;
    return copy;
  }

  /** Equal digests are equal machines. */
  digest(): string {
    const { ram, devices } = this.host.ask({ kind: 'hash', machine: this.machine });
    return `${ram} ${devices}`;
  }

  close(): void {
    this.host.ask({ kind: 'close', machine: this.machine });
  }
}
