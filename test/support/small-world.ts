import {
  NS_PER_MS,
  NS_PER_S,
  runSlices,
  World,
  type EventDef,
  type FaultFamily,
  type Guest,
  type GuestDef,
  type GuestImage,
  type GuestPort,
  type LinkDef,
  type LivenessDef,
  type MachineDef,
  type NodeClockDef,
  type NodeDef,
  type PlanFiring,
  type PropertyDef,
  type ReadyNode,
  type ScenarioDef,
  type Step,
  type DiskAtlasDef,
  type DiskDef,
  type Until,
  type WorldState,
} from '../../sim/index.ts';

export interface SmallOptions {
  readonly names: readonly string[];
  readonly make: (port: GuestPort, node: number) => Guest;
  readonly seed?: number;
  readonly events?: readonly EventDef[];
  readonly properties?: readonly PropertyDef[];
  readonly until?: Until;
  readonly link?: Partial<LinkDef>;
  readonly virtualNsMax?: number;
  readonly quantaMax?: number;
  readonly liveness?: LivenessDef;
  readonly swarm?: readonly FaultFamily[];
  readonly clock?: NodeClockDef;
  readonly withheld?: readonly PlanFiring[];
  /** Every node's environment. */
  readonly env?: NodeDef['env'];
  /** Every node's disk, and what keeps its damage apart. */
  readonly disk?: DiskDef;
  readonly atlas?: DiskAtlasDef;
  /** How many guests may run at once. */
  readonly atOnce?: number;
  /** What is different of the link between two nodes. */
  readonly linkOf?: (from: number, to: number) => Partial<LinkDef>;
  /** Which nodes are machines, and what these are. */
  readonly machines?: { readonly nodes: readonly string[]; readonly def: MachineDef };
  /** Machines that begin where they are ready. */
  readonly ready?: ReadonlyMap<number, ReadyNode>;
}

/** A scenario of full mesh, without images: its guests are made by the test. */
export function smallScenario(options: SmallOptions): ScenarioDef {
  const { names } = options;
  const nodes = names.map((name): NodeDef => ({
    name,
    guest: guestOf(name, options.machines),
    args: [],
    env: options.env ?? [],
    files: [],
    nsPerThousandInstructions: 1000,
    memoryPagesMax: 16,
    startNs: 0,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.disk === undefined ? {} : { disk: options.disk }),
  }));
  const links = names.flatMap((_, from) => {
    return names.flatMap((__, to): LinkDef[] => {
      if (from === to) return [];
      const link = { latencyNs: 5 * NS_PER_MS, jitterNs: 0, loss: 0, bandwidth: null };
      return [{ from, to, ...link, ...options.link, ...options.linkOf?.(from, to) }];
    });
  });
  return {
    name: 'small',
    seed: null,
    world: { nodes, links, ...(options.atlas === undefined ? {} : { atlas: options.atlas }) },
    plan: {
      events: options.events ?? [],
      ...(options.liveness === undefined ? {} : { liveness: options.liveness }),
      ...(options.swarm === undefined ? {} : { swarm: options.swarm }),
      until: options.until ?? 'quiescence',
      limits: {
        virtualNsMax: options.virtualNsMax ?? 60 * NS_PER_S,
        quantaMax: options.quantaMax ?? 1_000_000,
      },
    },
    properties: options.properties ?? [],
  };
}

function guestOf(name: string, machines: SmallOptions['machines']): GuestDef {
  const common = { image: '0'.repeat(64), label: 'test' };
  if (machines?.nodes.includes(name) !== true) return { kind: 'wasm', ...common };
  return { kind: 'vm', ...common, machine: machines.def };
}

export interface SmallCheckpoint {
  readonly world: WorldState;
  readonly guests: readonly (GuestImage | null)[];
}

/** The loop over a world whose guests a test makes. */
export class SmallWorld {
  readonly world: World;
  readonly consoles: string[];
  readonly steps: Step['kind'][] = [];
  /** How many guests ran side by side, of each step that ran some. */
  readonly widths: number[] = [];
  private readonly options: SmallOptions;
  private guests: (Guest | null)[];

  constructor(options: SmallOptions) {
    this.options = options;
    this.consoles = options.names.map(() => '');
    this.guests = options.names.map(() => null);
    this.world = new World({
      scenario: smallScenario(options),
      seed: options.seed ?? 1,
      onDecisionFrame: () => undefined,
      onEventFrame: () => undefined,
      onConsole: (node, _descriptor, bytes) => {
        this.consoles[node] += Buffer.from(bytes).toString();
      },
      onLine: () => undefined,
      withheld: options.withheld ?? [],
      ...(options.ready === undefined ? {} : { ready: options.ready }),
    });
  }

  /** One step; false at the end. */
  step(): boolean {
    const step = this.world.next();
    this.steps.push(step.kind);
    if (step.kind === 'end') return false;
    if (step.kind === 'start') {
      const port = this.world.ports[step.node] as GuestPort;
      this.guests[step.node] = this.options.make(port, step.node);
    } else if (step.kind === 'stop') {
      this.guests[step.node] = null;
    } else {
      this.widths.push(step.slices.length);
      runSlices(step.slices, {
        atOnce: this.options.atOnce ?? 1,
        guestOf: (node) => this.guests[node] as Guest,
        apply: (effect) => {
          this.world.apply(effect);
        },
      });
    }
    return true;
  }

  run(): this {
    while (this.step());
    return this;
  }

  /** The chains of both logs: equal if and only if the runs were equal. */
  chains(): string {
    return `${this.world.decisions.log.chain()} ${this.world.events.log.chain()}`;
  }

  capture(): SmallCheckpoint {
    return {
      world: structuredClone(this.world.capture()),
      guests: this.guests.map((guest) => guest?.capture() ?? null),
    };
  }

  restore(checkpoint: SmallCheckpoint): void {
    this.world.restore(structuredClone(checkpoint.world));
    this.guests = checkpoint.guests.map((image, node) => {
      if (image === null) return null;
      const guest = this.options.make(this.world.ports[node] as GuestPort, node);
      guest.restore(image);
      return guest;
    });
  }
}
