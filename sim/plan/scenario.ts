import type { Millionths, VirtualNs } from '../kernel/units.ts';
import type { DiskAtlasDef, DiskDef, DiskRuleDef } from './disk.ts';
import type { DirectiveQueueDef } from './directives.ts';
import type { HardwareActionDef } from './hardware.ts';
import type { MachineDef } from './machine.ts';
import type { SchedulingDef } from './scheduling.ts';
import type { HistoryPropertyDef } from './history-properties.ts';
import type { TemporalDef } from './predicates.ts';
import type {
  FaultFamily,
  LinkFaultsDef,
  LivenessDef,
  NodeActionDef,
  NodeClockDef,
  TriggerDef,
} from './faults.ts';

/**
 * A scenario: World + Plan + Properties + Seed (CR-51). This is the canonical form: every default
 * is filled in, every name resolved, lists in canonical order. The four parts are hashed apart
 * (see plan/identity.ts). The plan says what may happen; the schedule records what did (CR-57).
 */
export interface ScenarioDef {
  readonly name: string;
  readonly world: WorldDef;
  readonly plan: PlanDef;
  readonly properties: readonly PropertyDef[];
  /** The scenario's own seed; null leaves the choice to the command line (CR-47). */
  readonly seed: number | null;
}

export interface WorldDef {
  /** In declared order: a node's place is its guest index and gives its address. */
  readonly nodes: readonly NodeDef[];
  /** Directed links by (from, to) index pairs; pairs that are not named have no link. */
  readonly links: readonly LinkDef[];
  /** Which nodes' disks may be damaged together; absent without a bound. */
  readonly atlas?: DiskAtlasDef;
}

export interface NodeDef {
  readonly name: string;
  readonly guest: GuestDef;
  readonly args: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  /** Files that stand on the node's disk before the start, by absolute path, sorted. */
  readonly files: readonly FileDef[];
  /** Virtual nanoseconds that 1,000 instructions take: 1,000 is one instruction a nanosecond. */
  readonly nsPerThousandInstructions: number;
  /** The most memory that the guest may grow to, in 64 KiB pages. */
  readonly memoryPagesMax: number;
  /** When the node starts. */
  readonly startNs: VirtualNs;
  /** How its clocks differ from the world's time; absent where they do not. */
  readonly clock?: NodeClockDef;
  /** How its disk behaves; absent for one that does what it says. */
  readonly disk?: DiskDef;
}

export type GuestDef = ProgramGuestDef | MachineGuestDef;

export interface ProgramGuestDef {
  /** A compiled program, a record world, or a model. */
  readonly kind: 'wasm' | 'record' | 'model';
  /** The SHA-256 of the module's, component's, world's or model's bytes. */
  readonly image: string;
  /** What people call it; not part of any identity. */
  readonly label: string;
}

/** A full machine, with a kernel and whatever runs on it. */
export interface MachineGuestDef {
  readonly kind: 'vm';
  /** The SHA-256 of the kernel's bytes. */
  readonly image: string;
  readonly label: string;
  readonly machine: MachineDef;
}

/** All builds that a scenario runs: of its nodes, then of its upgrades, some perhaps twice. */
export function guestsOf({
  world,
  plan,
}: Pick<ScenarioDef, 'world' | 'plan'>): readonly GuestDef[] {
  const upgrades = plan.events.flatMap(({ action }) => {
    return action.kind === 'upgrade' ? [action.guest] : [];
  });
  return [...world.nodes.map(({ guest }) => guest), ...upgrades];
}

export interface FileDef {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface LinkDef {
  readonly from: number;
  readonly to: number;
  /** The most that a packet takes. */
  readonly latencyNs: VirtualNs;
  /** A packet takes between `latencyNs - jitterNs` and `latencyNs` (CR-54). */
  readonly jitterNs: VirtualNs;
  readonly loss: Millionths;
  /** Bits a second, or null for no limit. */
  readonly bandwidth: number | null;
  /** What else it does to packets; absent where it does nothing. */
  readonly faults?: LinkFaultsDef;
}

/** Latency less jitter is at least this: the least lookahead, part of the identity (CR-54). */
export const LINK_FLOOR_NS: VirtualNs = 1_000;

export interface PlanDef {
  /** In canonical order: by time, then by name. */
  readonly events: readonly EventDef[];
  readonly until: Until;
  /** A seed draws which of these families of faults are on; absent where all are. */
  readonly swarm?: readonly FaultFamily[];
  readonly liveness?: LivenessDef;
  readonly limits: LimitsDef;
  /** Absent where a guest that can go on always does so at once. */
  readonly scheduling?: SchedulingDef;
  /** What becomes of calls, attempt by attempt; absent where nothing is said about any. */
  readonly directives?: readonly DirectiveQueueDef[];
}

/**
 * When a run is over (CR-7): `quiescence`, nothing can happen any more; `property`, every property
 * that can be decided early is decided; `stopped`, every node has run and none runs any more;
 * `virtual-time`, the limit is reached, which is then no timeout.
 */
export type Until = 'quiescence' | 'property' | 'stopped' | 'virtual-time';

export interface LimitsDef {
  /** The run stops as a timeout (exit code 2) when virtual time reaches this. */
  readonly virtualNsMax: VirtualNs;
  /** The run stops as a timeout after this many quanta (guest slices). */
  readonly quantaMax: number;
}

/** Something that happens at a time drawn within [atNs, atNs + withinNs]. */
export interface EventDef {
  readonly name: string;
  readonly atNs: VirtualNs;
  readonly withinNs: VirtualNs;
  /** In millionths: 1,000,000 always happens. Otherwise a decision. */
  readonly chance: Millionths;
  readonly action: ActionDef;
  /** The fault lifts itself after this time; absent where it stays. */
  readonly forNs?: VirtualNs;
  /** What it waits for besides its time. */
  readonly trigger?: TriggerDef;
}

/** A cut loses what is in flight, unless it says this (CR-89). */
export type InFlight = 'deliver';

/** Where an action names several nodes as `oneOf`, one is drawn. */
export type ActionDef =
  | NodeActionDef
  | HardwareActionDef
  | { readonly kind: 'crash'; readonly oneOf: readonly number[] }
  /** Starts a node that is not running; `oneOf` empty means every crashed node. */
  | { readonly kind: 'restart'; readonly oneOf: readonly number[] }
  | { readonly kind: 'pause'; readonly oneOf: readonly number[]; readonly forNs: VirtualNs }
  /** Cuts every link between nodes of different groups, both ways. */
  | {
      readonly kind: 'partition';
      readonly groups: readonly (readonly number[])[];
      readonly inFlight?: InFlight;
    }
  /** Cuts one drawn node off from all others. */
  | { readonly kind: 'isolate'; readonly oneOf: readonly number[]; readonly inFlight?: InFlight }
  /** Cuts the directed links from `from` to `to`. */
  | {
      readonly kind: 'cut';
      readonly from: readonly number[];
      readonly to: readonly number[];
      readonly inFlight?: InFlight;
    }
  /** Mends every cut. */
  | { readonly kind: 'heal' }
  /** From now on the disks of these nodes (all if empty) also follow this rule. */
  | { readonly kind: 'disk'; readonly nodes: readonly number[]; readonly rule: DiskRuleDef }
  /** Ends all rules of the nodes' disks (all if empty); `repair` makes lost pages readable. */
  | { readonly kind: 'disk-heal'; readonly nodes: readonly number[]; readonly repair: boolean }
  /** Changes loss and latency of all links between the named nodes (all nodes if empty). */
  | {
      readonly kind: 'degrade';
      readonly nodes: readonly number[];
      readonly loss: Millionths;
      readonly extraLatencyNs: VirtualNs;
      /** Bits a second, where it is less than the link's own; absent without a limit. */
      readonly bandwidth?: number;
      readonly faults?: LinkFaultsDef;
    };

/**
 * What must hold. Console patterns are literal text in which `*` takes a run of characters other
 * than a space and matches anywhere in a line.
 */
export type PropertyDef =
  | HistoryPropertyDef
  | TemporalDef
  /** The node (or each node) exits with this code before the run ends. */
  | {
      readonly kind: 'exit';
      readonly name: string;
      readonly nodes: readonly number[];
      readonly code: number;
    }
  /** No line of these nodes' consoles matches. */
  | {
      readonly kind: 'never';
      readonly name: string;
      readonly nodes: readonly number[];
      readonly console: string;
    }
  /** Some line matches before `withinNs` (null: before the run ends). */
  | {
      readonly kind: 'eventually';
      readonly name: string;
      readonly nodes: readonly number[];
      readonly console: string;
      readonly withinNs: VirtualNs | null;
    }
  /** The text that the stars take in matching lines comes from one node only. */
  | {
      readonly kind: 'unique';
      readonly name: string;
      readonly nodes: readonly number[];
      readonly console: string;
    }
  /** Lines whose first star takes equal text have equal text at all further stars. */
  | {
      readonly kind: 'agree';
      readonly name: string;
      readonly nodes: readonly number[];
      readonly console: string;
    }
  /** No guest ends by a trap. Every scenario has this one. */
  | { readonly kind: 'no-trap'; readonly name: string };
