import {
  readInteger,
  readRecord,
  readText,
  readVariant,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { NS_PER_S, VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';
import { DISK_RATES, PLAIN_DISK, type DiskDef, type DiskRuleDef } from './disk.ts';
import type { MachineDef } from './machine.ts';
import type { NodeDef, ScenarioDef } from './scenario.ts';

/** When a machine counts as ready (CR-55); see docs/machines.md. */
export type ReadyCondition =
  /** A program of it rings the doorbell with the value that says so. */
  | { readonly kind: 'bell' }
  /** A line with this text is complete on its serial line or text port. */
  | { readonly kind: 'console'; readonly text: string }
  /** Its processors have executed so many instructions. */
  | { readonly kind: 'instructions'; readonly count: number }
  /** It has sent frames, and then none for so long. */
  | { readonly kind: 'network-idle'; readonly forNs: VirtualNs };

/** A machine's first life begins where it is ready, and not at its power switch. */
export interface ReadyDef {
  readonly when: ReadyCondition;
  /** A machine that is not ready so long after it was switched on never will be. */
  readonly withinNs: VirtualNs;
}

/** The value of the doorbell that says: booted, and all services run. */
export const BELL_READY = 0x0100_0000;
export const READY_TEXT_LENGTH_MAX = 1_024;
/** Two minutes: far more than services take whose image was made for the simulator. */
export const READY_WITHIN_NS: VirtualNs = 120 * NS_PER_S;

type Condition<K extends ReadyCondition['kind']> = Extract<ReadyCondition, { kind: K }>;

export const readReady: Read<ReadyDef> = readRecord<ReadyDef>({
  when: readVariant<ReadyCondition>({
    bell: readRecord<Condition<'bell'>>({ kind: readWord(['bell']) }),
    console: readRecord<Condition<'console'>>({
      kind: readWord(['console']),
      text: readText(READY_TEXT_LENGTH_MAX),
    }),
    instructions: readRecord<Condition<'instructions'>>({
      kind: readWord(['instructions']),
      count: readInteger(1),
    }),
    'network-idle': readRecord<Condition<'network-idle'>>({
      kind: readWord(['network-idle']),
      forNs: readInteger(1, VIRTUAL_NS_MAX),
    }),
  }),
  withinNs: readInteger(1, VIRTUAL_NS_MAX),
});

/** What is wrong with a ready point; null if nothing is. */
export function complaintOfReady({ when, withinNs }: ReadyDef): string | null {
  if (withinNs < 1 || withinNs > VIRTUAL_NS_MAX) return 'a machine needs some time to get ready';
  if (when.kind === 'instructions') return when.count < 1 ? 'it is no count' : null;
  if (when.kind === 'network-idle') {
    return when.forNs < withinNs ? null : 'the network is to be idle for longer than all may take';
  }
  if (when.kind === 'bell') return null;
  const isText = when.text !== '' && when.text.length <= READY_TEXT_LENGTH_MAX;
  if (isText && !/[\r\n]/.test(when.text)) return null;
  return `the text is a part of one line, of at most ${READY_TEXT_LENGTH_MAX} characters`;
}

/** The machines of a world that begin where they are ready, by node. */
export function readyNodesOf({ nodes }: ScenarioDef['world']): ReadonlyMap<number, ReadyDef> {
  const found = new Map<number, ReadyDef>();
  nodes.forEach(({ guest }, node) => {
    const ready = guest.kind === 'vm' ? guest.machine.ready : undefined;
    if (ready !== undefined) found.set(node, ready);
  });
  return found;
}

/** A node that stands for another one, and never starts. */
function absent({ name }: NodeDef, image: string): NodeDef {
  return {
    name,
    guest: { kind: 'wasm', image, label: '' },
    args: [],
    env: [],
    files: [],
    nsPerThousandInstructions: 1_000,
    memoryPagesMax: 1,
    startNs: VIRTUAL_NS_MAX,
  };
}

/**
 * The world in which a machine is brought to its ready point: it alone, at its place among the
 * names of all nodes, without a link, a plan or a fault. Its disk is as quick as in the scenario,
 * but nothing about it is drawn. Whatever is equal here has an equal ready point.
 */
export function bakeScenario(def: ScenarioDef, node: number, limitNs: VirtualNs): ScenarioDef {
  const own = def.world.nodes[node] as NodeDef;
  const { disk, ...rest } = own;
  const machine = withoutReady((own.guest as { machine: MachineDef }).machine);
  const isStruck = def.plan.events.some(({ action }) => {
    return action.kind === 'disk' && (action.nodes.length === 0 || action.nodes.includes(node));
  });
  const calm = disk === undefined && !isStruck ? undefined : calmDisk(disk ?? PLAIN_DISK);
  const guest = { ...own.guest, machine } as NodeDef['guest'];
  const alone = { ...rest, guest, ...(calm === undefined ? {} : { disk: calm }) };
  return {
    name: def.name,
    world: {
      nodes: def.world.nodes.map((each, index) => {
        return index === node ? alone : absent(each, own.guest.image);
      }),
      links: [],
    },
    plan: {
      events: [],
      until: 'virtual-time',
      limits: { virtualNsMax: limitNs, quantaMax: Number.MAX_SAFE_INTEGER },
    },
    properties: [],
    seed: null,
  };
}

function withoutReady(def: MachineDef): MachineDef {
  const { type, cpus, memoryMib, shift, initrd, commandLine, disks } = def;
  return { type, cpus, memoryMib, shift, initrd, commandLine, disks };
}

/** The disk without what is drawn, a decision for each operation. */
function calmDisk(disk: DiskDef): DiskDef {
  const rates = Object.fromEntries(DISK_RATES.map((rate) => [rate, 0]));
  const rule: DiskRuleDef = { ...disk.rule, ...rates, stallNs: 0, jitterNs: 0 };
  return { ...disk, rule };
}
