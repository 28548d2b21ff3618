import type { ScenarioDef } from '../../sim/index.ts';
import { hasMachines, type MachineChoice } from './machine-backend.ts';
import { MachineHost } from './machine-host.ts';

/**
 * What holds the machines of all runs of one thread, one after another: made for the first of them
 * that has machines, and kept, so that runs from one checkpoint, or from one ready point, are forks
 * of one parked machine.
 */
export class ThreadMachines {
  private host: MachineHost | null = null;

  /** The host for a run's machines; undefined where it has none, or another backend's. */
  hostFor(run: {
    readonly scenario: ScenarioDef;
    readonly machines?: MachineChoice | undefined;
  }): MachineHost | undefined {
    const { scenario, machines } = run;
    if (!hasMachines(scenario)) return undefined;
    this.host ??= new MachineHost(machines, { purpose: 'branches' });
    const wanted = machines?.backend ?? this.host.backend;
    const isSame = wanted.identity === this.host.backend.identity;
    return isSame ? this.host : undefined;
  }

  /** Ends all machines and removes their files. */
  close(): void {
    this.host?.close();
    this.host = null;
  }
}
