import { formatTime, machinesOf, type RunDifference, type ScenarioDef } from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { hasMachines } from '../machines/machine-backend.ts';
import { MachineHost } from '../machines/machine-host.ts';
import { findParting, type MachineParting } from '../machines/machine-parting.ts';
import { MachineTapes } from '../machines/machine-tape.ts';

/**
 * The machines of two runs that are compared: their lives are kept while the runs are repeated, and
 * then repeated by themselves, up to the instruction at which they part (CR-28).
 */
export class MachinePair {
  private readonly host: MachineHost;
  private readonly scenario: ScenarioDef;
  private readonly tapes = new Map<Bundle, MachineTapes>();

  private constructor(host: MachineHost, left: Bundle, right: Bundle) {
    this.host = host;
    this.scenario = left.scenario;
    this.tapes.set(left, new MachineTapes());
    this.tapes.set(right, new MachineTapes());
  }

  /** Null if the runs have no machines, or these ran on different builds of QEMU. */
  static of(left: Bundle, right: Bundle): MachinePair | null {
    if (!hasMachines(left.scenario) || !hasMachines(right.scenario)) return null;
    const host = new MachineHost(left.machines, { purpose: 'branches' });
    const other = right.machines?.backend ?? host.backend;
    if (other.identity === host.backend.identity) return new MachinePair(host, left, right);
    host.close();
    return null;
  }

  /** The host for the repetition of this run, which it keeps. */
  hostFor(run: Bundle): MachineHost {
    this.host.tapes = this.tapes.get(run) ?? null;
    return this.host;
  }

  /** Says of each machine that differs where it does first. */
  report(difference: RunDifference, { output }: Context): void {
    this.host.tapes = null;
    const [left, right] = [...this.tapes.values()] as [MachineTapes, MachineTapes];
    for (const [node, { shift }] of machinesOf(this.scenario.world)) {
      if (!concerns(difference, node)) continue;
      const lives = { left: left.livesOf(node), right: right.livesOf(node) };
      const parting = findParting(this.host, lives, 2 ** shift);
      if (parting === null) continue;
      const name = this.scenario.world.nodes[node]?.name ?? '';
      output.record({ type: 'machine-difference', node: name, ...recordOf(parting) });
      if (!output.speaks) continue;
      output.say('');
      for (const line of layOut(rowsOf(name, parting))) output.say(line);
    }
  }

  close(): void {
    this.host.close();
  }
}

/** Whether the machine's state differs, or its events do, or nobody knows whose. */
function concerns({ fingerprintGuests, logGuest }: RunDifference, node: number): boolean {
  const isUnknown = fingerprintGuests.length === 0 && (logGuest === null || logGuest < 0);
  return isUnknown || fingerprintGuests.includes(node) || logGuest === node;
}

function recordOf(parting: MachineParting): Readonly<Record<string, unknown>> {
  const { life, afterNs, byNs, instructions, memory, devices, pages, inputs } = parting;
  return {
    ...{ life, after_ns: afterNs, by_ns: byNs, instructions, memory, devices },
    ...{ pages: pages.map(hex), inputs_left: inputs.left, inputs_right: inputs.right },
  };
}

function rowsOf(name: string, parting: MachineParting): readonly (readonly string[])[] {
  const { life, afterNs, byNs, instructions, memory, devices, pages, inputs } = parting;
  const state = [...(memory ? ['memory'] : []), ...(devices ? ['processors or devices'] : [])];
  const told = (kinds: readonly string[]): string =>
    kinds.length === 0 ? 'nothing' : kinds.join(', ');
  const rows: string[][] = [
    [`the machine ${name} parts`, life === 1 ? '' : `in its life number ${life}`],
    ['  equal up to', `${formatTime(afterNs)}, ${instructions} instructions`],
    ['  differs at', `${formatTime(byNs)}: ${state.join(', ')}`],
  ];
  if (pages.length > 0) rows.push(['  pages', pages.map(hex).join(' ')]);
  if (inputs.left.join() === inputs.right.join()) return rows;
  rows.push(['  left is given', told(inputs.left)], ['  right is given', told(inputs.right)]);
  return rows;
}

function hex(address: number): string {
  return `0x${address.toString(16)}`;
}
