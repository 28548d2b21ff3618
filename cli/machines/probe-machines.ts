import type { ProbeStart } from '../probe.ts';
import { hasMachines } from './machine-backend.ts';
import { MachineHost } from './machine-host.ts';

/**
 * What holds the machines of all probes that run in one thread: made for the first start that has
 * machines, and kept, so that continuations of one checkpoint are forks of one parked machine.
 */
export class ProbeMachines {
  private host: MachineHost | null = null;

  /** The host for a start's machines; undefined where it has none, or another backend's. */
  hostFor({ scenario, machines }: ProbeStart): MachineHost | undefined {
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
