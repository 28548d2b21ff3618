import { assert, bakeScenario, formatSpan, readyNode, SimError } from '../../sim/index.ts';
import type { NodeDef, ReadyDef, ReadyNode, ScenarioDef, WorldState } from '../../sim/index.ts';
import type { MachineCourse } from './machine-state.ts';
import type { MachineHost } from './machine-host.ts';
import type { MachineId } from './messages.ts';
import { ReadyWatch, type ReadyEvent } from './ready-watch.ts';

/** The seed of the world in which machines get ready: one for all, so that one state fits all. */
const BAKE_SEED = 0;
const TAIL_BYTES_MAX = 4_096;
const LAST_LINE_LENGTH_MAX = 200;

/** Who brings a machine to its ready point, as the machine sees it. */
export interface Baking {
  readonly watch: ReadyWatch;
  /** The machine is ready, and stands still. */
  keep(course: MachineCourse, machine: MachineId): void;
}

/** What of a simulation is needed to bring a machine to its ready point. */
export interface BakeSimulation {
  runUntil(stop: { readonly baked: true }): 'stopped' | 'ended';
  worldState(): WorldState;
  nodes(): readonly { readonly status: string; readonly code: number | null }[];
  dispose(): void;
}

export interface BakeOptions {
  readonly scenario: ScenarioDef;
  readonly seed: number;
  readonly machineHost: MachineHost;
  readonly baking: Baking;
  readonly onConsole: (node: number, descriptor: 1 | 2, bytes: Uint8Array) => void;
}

export interface BakeRequest {
  readonly scenario: ScenarioDef;
  readonly node: number;
  readonly ready: ReadyDef;
  readonly host: MachineHost;
  /** An empty folder for the machine's checkpoint. */
  readonly folder: string;
  readonly simulate: (options: BakeOptions) => BakeSimulation;
}

/** What is known of a machine that got ready, besides its checkpoint. */
export interface Baked {
  readonly course: MachineCourse;
  readonly hash: string;
  readonly event: ReadyEvent | null;
  readonly node: ReadyNode;
}

/**
 * Brings a machine to its ready point in a world of its own (see `bakeScenario`), and writes its
 * checkpoint down. A machine that ends before, or is not ready in time, is `guest/not-ready`.
 */
export function bake(request: BakeRequest): Baked {
  const { scenario, node, ready, host, folder } = request;
  const def = scenario.world.nodes[node] as NodeDef;
  assert(def.guest.kind === 'vm', 'a machine gets ready');
  const watch = new ReadyWatch(ready.when, 2 ** def.guest.machine.shift);
  let kept: { readonly course: MachineCourse; readonly hash: string } | null = null;
  let tail = Buffer.alloc(0);
  const simulation = request.simulate({
    scenario: bakeScenario(scenario, node, def.startNs + ready.withinNs),
    seed: BAKE_SEED,
    machineHost: host,
    baking: {
      watch,
      keep: (course, machine) => {
        const { ram, devices } = host.ask({ kind: 'hash', machine });
        host.ask({ kind: 'save', machine, folder });
        kept = { course, hash: ram + devices };
      },
    },
    onConsole: (_, __, bytes) => {
      tail = Buffer.from(Buffer.concat([tail, bytes]).subarray(-TAIL_BYTES_MAX));
    },
  });
  try {
    const ended = simulation.runUntil({ baked: true }) === 'ended';
    const state = kept as { readonly course: MachineCourse; readonly hash: string } | null;
    if (ended || state === null) throw unready(request, reasonOf(simulation, node, ready), tail);
    const baked = readyNode(simulation.worldState(), node);
    assert(baked.atNs === state.course.stoppedNs, 'a machine is ready where it stopped');
    return { ...state, event: watch.event, node: baked };
  } finally {
    simulation.dispose();
  }
}

/** The machine was ready elsewhere, but later than it may be: as if it had not become so here. */
export function lateFor(request: Pick<BakeRequest, 'scenario' | 'node' | 'ready'>): SimError {
  return unready(request, lateReason(request.ready), Buffer.alloc(0));
}

function lateReason({ when, withinNs }: ReadyDef): string {
  const span = formatSpan(withinNs);
  switch (when.kind) {
    case 'bell':
      return `rang no bell that says so within ${span} of virtual time`;
    case 'console':
      return `wrote no line with ${JSON.stringify(when.text)} within ${span} of virtual time`;
    case 'instructions':
      return `executed fewer than ${when.count} instructions within ${span} of virtual time`;
    case 'network-idle':
      return `sent no frame, or never stopped sending, within ${span} of virtual time`;
  }
}

function reasonOf(simulation: BakeSimulation, node: number, ready: ReadyDef): string {
  const { status, code } = simulation.nodes()[node] ?? { status: '', code: null };
  if (status === 'exited') return `powered off before, with status ${code ?? 0}`;
  if (status === 'trapped') return 'panicked before';
  return lateReason(ready);
}

function unready(
  { scenario, node }: Pick<BakeRequest, 'scenario' | 'node'>,
  reason: string,
  tail: Buffer,
): SimError {
  const { name } = scenario.world.nodes[node] as NodeDef;
  const lines = tail
    .toString('latin1')
    .replaceAll(/[^\n\x20-\x7e]/g, '')
    .split('\n');
  const last = lines.filter((line) => line !== '').at(-1) ?? '';
  const said = last === '' ? '' : `; its last line was "${last.slice(0, LAST_LINE_LENGTH_MAX)}"`;
  return new SimError({
    code: 'guest/not-ready',
    message: `the machine ${name}, alone, did not get ready: it ${reason}${said}`,
    place: `node ${name}`,
    remedy:
      'boot it without "ready" and look at its console; what needs other nodes never happens to a ' +
      'machine that is alone, and "ready_within" gives more time',
  });
}
