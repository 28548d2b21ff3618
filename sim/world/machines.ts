import { assert } from '../kernel/assert.ts';
import type { Decisions } from '../kernel/decision.ts';
import type { EventLog } from '../kernel/event-log.ts';
import type { Millionths, VirtualNs } from '../kernel/units.ts';
import type { Network } from '../network/network.ts';
import { machinesOf } from '../plan/machine.ts';
import type { NodeDef, ScenarioDef } from '../plan/scenario.ts';
import type { FileSystem } from '../storage/file-system.ts';
import { MachineDevices } from './machine-devices.ts';
import type { BlockEnd, SourcesOfTime } from './machine-input.ts';
import { MemoryFlips } from './memory-flips.ts';
import type { ReadyNode } from './ready-node.ts';
import type { Note } from './timeline.ts';
import type { WorldEvent } from './world-event.ts';

export interface MachinesOptions {
  readonly scenario: ScenarioDef;
  /** Machines that begin where they are ready, by node. */
  readonly ready: ReadonlyMap<number, ReadyNode>;
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly network: Network;
  readonly files: readonly FileSystem[];
  readonly nowNs: () => VirtualNs;
  readonly note: (note: Note) => void;
  readonly schedule: (atNs: VirtualNs, node: number, event: WorldEvent) => void;
  /** From what the node's machine tells the time; null while that is right. */
  readonly sourcesOfTime: (node: number, atNs: VirtualNs) => SourcesOfTime | null;
  /** How often the node has been started. */
  readonly livesOf: (node: number) => number;
}

export interface MachinesState {
  /** What waits for each machine; absent without machines. */
  readonly machines?: readonly unknown[];
  /** What will flip in the memory of nodes; absent where nothing will. */
  readonly flips?: unknown;
}

/** The devices of all machines of a world, by node. */
export class Machines {
  /** Flips in the memory of nodes that are no machines. */
  readonly flips: MemoryFlips;
  private readonly devices: ReadonlyMap<number, MachineDevices>;
  private readonly options: MachinesOptions;

  constructor(options: MachinesOptions) {
    this.options = options;
    const { scenario, decisions, events, files, network, nowNs, note } = options;
    const names = scenario.world.nodes.map(({ name }) => name);
    this.flips = new MemoryFlips({ names, decisions, events, note });
    this.devices = new Map(
      [...machinesOf(scenario.world)].map(([node, def]) => {
        const { name } = scenario.world.nodes[node] as NodeDef;
        const devices = new MachineDevices({
          node,
          name,
          def,
          decisions,
          events,
          files: files[node] as FileSystem,
          nowNs,
          note,
          sendFrame: (from, frame) => network.sendFrame(from, frame),
          schedule: (atNs, of, end) => {
            options.schedule(atNs, of, { kind: 'block', life: options.livesOf(of), end });
          },
        });
        return [node, devices];
      }),
    );
  }

  /** The devices of a node, or null for one that is no machine. */
  of(node: number): MachineDevices | null {
    return this.devices.get(node) ?? null;
  }

  /**
   * How far a machine runs before the world hears what it has sent: nothing can come back sooner.
   * Others are heard while they run.
   */
  reachNs(node: number, fromNs: VirtualNs): VirtualNs {
    return this.devices.has(node) ? fromNs + this.options.network.roundTripNs(node) : Infinity;
  }

  /** A frame reaches a machine; false if it has no room for it. */
  frameArrives(node: number, frame: Uint8Array, atNs: VirtualNs): boolean {
    return this.known(node).frameArrives(frame, atNs);
  }

  /** The clocks of a node were changed; a machine's sources of time are others from now on. */
  tellTime(node: number, atNs: VirtualNs): void {
    const sources = this.options.sourcesOfTime(node, atNs);
    if (sources !== null) this.devices.get(node)?.tellTime(sources, atNs);
  }

  /** Raises a non-maskable interrupt. */
  interrupt(node: number, atNs: VirtualNs): void {
    this.known(node).interrupt(atNs);
  }

  /** The end of a request is due; false if it is of an earlier life. */
  complete(node: number, life: number, end: BlockEnd, atNs: VirtualNs): boolean {
    if (life !== this.options.livesOf(node)) return false;
    this.known(node).complete(end, atNs);
    return true;
  }

  /** From now on the processors of a node that is a machine execute for this share of the time. */
  share(node: number, cpu: Millionths, atNs: VirtualNs): void {
    this.devices.get(node)?.share(cpu, atNs);
  }

  /**
   * A node's life begins, with this share of its processor: what was under way to it is gone, but
   * for what a ready point brings.
   */
  begin(node: number, cpu: Millionths, atNs: VirtualNs): void {
    this.flips.forget(node);
    this.devices.get(node)?.begin(cpu, atNs);
    this.tellTime(node, atNs);
    if (this.options.livesOf(node) !== 1) return;
    for (const each of this.options.ready.get(node)?.ends ?? []) {
      this.options.schedule(each.atNs, node, { kind: 'block', life: 1, end: each.end });
    }
  }

  /** Whether the node has yet to begin where it is ready: it is without power until then. */
  awaits(node: number): boolean {
    return this.options.livesOf(node) === 0 && this.options.ready.has(node);
  }

  /** In order of the nodes; nothing where there are no machines, and nothing waits. */
  capture(): MachinesState {
    const flips = this.flips.capture();
    if (this.devices.size === 0) return flips;
    return { machines: [...this.devices.values()].map((each) => each.capture()), ...flips };
  }

  restore({ machines = [], flips }: MachinesState): void {
    [...this.devices.values()].forEach((each, place) => each.restore(machines[place]));
    this.flips.restore(flips);
  }

  private known(node: number): MachineDevices {
    const devices = this.devices.get(node);
    assert(devices !== undefined, 'the node is a machine');
    return devices;
  }
}
