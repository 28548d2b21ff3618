import type { Decisions } from '../kernel/decision.ts';
import type { EventLog } from '../kernel/event-log.ts';
import type { VirtualNs } from '../kernel/units.ts';
import { PLAIN_DISK, type DiskRuleDef } from '../plan/disk.ts';
import type { ActionDef, NodeDef, ScenarioDef } from '../plan/scenario.ts';
import { DiskAtlas } from '../storage/atlas.ts';
import { Disk } from '../storage/disk.ts';
import { blankDisk } from '../storage/disk-image.ts';
import type { FileSystem } from '../storage/file-system.ts';
import { loadFiles } from './initial-files.ts';
import type { ReadyNode } from './ready-node.ts';
import type { Note } from './timeline.ts';

export type DiskAction = Extract<ActionDef, { kind: 'disk' | 'disk-heal' }>;

export interface NodeDisksOptions {
  readonly scenario: ScenarioDef;
  /** Machines that begin where they are ready: their disks hold what they then do. */
  readonly ready: ReadonlyMap<number, ReadyNode>;
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly nowNs: () => VirtualNs;
  readonly note: (note: Note) => void;
  /** Stops the node's guest for as long as its disk is stuck; false if it does not run now. */
  readonly hang: (node: number) => boolean;
  /** An operation that had not come to an end has. */
  readonly onRelease: (node: number, atNs: VirtualNs) => void;
}

/**
 * The files of all nodes, with a modelled disk below those that the scenario says something of:
 * by its own table, or by an event. Other nodes' disks do what they say, and cost nothing.
 */
export class NodeDisks {
  readonly files: readonly FileSystem[];
  private readonly options: NodeDisksOptions;
  private readonly disks: readonly (Disk | null)[];

  constructor(options: NodeDisksOptions) {
    this.options = options;
    const { scenario, decisions } = options;
    const { nodes, atlas: bound } = scenario.world;
    const atlas = bound === undefined ? null : new DiskAtlas(bound, decisions);
    this.files = nodes.map(loadFiles);
    this.disks = nodes.map((node, index) => this.makeDisk(node, index, atlas));
    this.disks.forEach((disk, index) => {
      if (disk !== null) this.files[index]?.attach(disk);
    });
    for (const [node, { files }] of options.ready) this.files[node]?.restore(files);
  }

  /** What an event of the plan does to disks; says whether anything changed. */
  act(action: DiskAction, event: string, atNs: VirtualNs): boolean {
    let changed = false;
    for (const node of this.targets(action)) {
      const disk = this.disks[node] ?? null;
      if (disk === null) continue;
      if (action.kind === 'disk') disk.rules.start(event);
      else disk.lift(action.repair);
      if (action.kind === 'disk-heal') this.release(node, null, atNs);
      const text = action.kind === 'disk' ? `rule "${event}" holds` : 'all rules are lifted';
      this.options.note({ atNs, node, kind: 'disk', text });
      changed = true;
    }
    return changed;
  }

  /** Ends the rule that an event began. */
  mend(action: DiskAction, event: string, atNs: VirtualNs): void {
    for (const node of this.targets(action)) {
      this.disks[node]?.rules.end(event);
      this.options.note({ atNs, node, kind: 'disk', text: `rule "${event}" ends` });
      this.release(node, event, atNs);
    }
  }

  /** Ends every rule of every disk; what cannot be read becomes readable, what is stuck goes on. */
  lift(atNs: VirtualNs): void {
    this.disks.forEach((disk, node) => {
      disk?.lift(true);
      this.release(node, null, atNs);
    });
  }

  /** The state of the node's disk, were it put in anew: as at the start, under today's rules. */
  blank(node: number): unknown {
    const def = this.options.scenario.world.nodes[node] as NodeDef;
    const image = loadFiles(def).capture() as object;
    const disk = this.disks[node] ?? null;
    return disk === null ? image : { ...image, disk: blankDisk(disk) };
  }

  private release(node: number, rule: string | null, atNs: VirtualNs): void {
    if (this.disks[node]?.release(rule) === true) this.options.onRelease(node, atNs);
  }

  private targets({ nodes }: DiskAction): readonly number[] {
    return nodes.length > 0 ? nodes : this.files.map((_, index) => index);
  }

  private makeDisk(node: NodeDef, index: number, atlas: DiskAtlas | null): Disk | null {
    const rules = new Map<string, DiskRuleDef>();
    for (const { name, action } of this.options.scenario.plan.events) {
      if (action.kind !== 'disk') continue;
      if (this.targets(action).includes(index)) rules.set(name, action.rule);
    }
    if (node.disk === undefined && rules.size === 0) return null;
    const { decisions, events, nowNs, note, hang } = this.options;
    return new Disk({
      def: node.disk ?? PLAIN_DISK,
      node: index,
      nodeName: node.name,
      rules,
      atlas,
      decisions,
      events,
      nowNs,
      hang: () => hang(index),
      note: (text) => {
        note({ atNs: nowNs(), node: index, kind: 'disk', text });
      },
    });
  }
}
