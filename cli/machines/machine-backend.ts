import { availableParallelism } from 'node:os';
import {
  findBackend,
  STOCK_REFUSES,
  type AdapterKind,
  type MachineBackend,
} from '../../bridge/index.ts';
import {
  SimError,
  type MachinesIdentity,
  type Manifest,
  type ReadyRecord,
  type ScenarioDef,
} from '../../sim/index.ts';
import { machinesFolder } from '../cache-folder.ts';
import type { Context } from '../context.ts';

/** How machines are run. Plain data: it crosses threads. */
export interface MachineChoice {
  /** What runs them; the backend that is set up here where it is absent. */
  readonly backend?: MachineBackend | undefined;
  /**
   * How many machines of a world may run at once: one for each core where it is absent. It changes
   * nothing but the pace.
   */
  readonly atOnce?: number | undefined;
  /** What the bundle that is repeated says of the points where machines were ready. */
  readonly ready?: readonly ReadyRecord[] | undefined;
  /** Whether standard error tells, where it is a terminal, that a machine gets ready. */
  readonly tells?: boolean | undefined;
}

/** More machines than any world has cores for. */
const AT_ONCE_MAX = 256;
const ADAPTER_KINDS: readonly AdapterKind[] = ['patched', 'plugin'];

/** What a bundle says of the backend that ran its machines. */
export function identityOf({ kind, version, identity }: MachineBackend): MachinesIdentity {
  return { backend: kind, version, identity };
}

/** Whether some node of the scenario is a machine, or becomes one. */
export function hasMachines({ world, plan }: ScenarioDef): boolean {
  const upgrades = plan.events.flatMap(({ action }) => {
    return action.kind === 'upgrade' ? [action.guest] : [];
  });
  return [...world.nodes.map(({ guest }) => guest), ...upgrades].some(({ kind }) => kind === 'vm');
}

/**
 * How the machines of a fresh run are to be run; undefined where there are none. Errors: those of
 * `findBackend`, `backend/stock`, and `usage/jobs`.
 */
export function askedMachines(scenario: ScenarioDef, context: Context): MachineChoice | undefined {
  return chosenMachines(hasMachines(scenario), context);
}

/** The same for the leaves of a suite: its services are known before any world is made of them. */
export function suiteMachines(
  services: readonly { readonly isMachine: boolean }[],
  context: Context,
): MachineChoice | undefined {
  return chosenMachines(
    services.some(({ isMachine }) => isMachine),
    context,
  );
}

function chosenMachines(areThere: boolean, context: Context): MachineChoice | undefined {
  const { backend, host, globals } = context;
  const atOnce = machinesAtOnce(context);
  if (!areThere) return undefined;
  if (backend === 'stock') throw refuseStock();
  const kind = ADAPTER_KINDS.find((each) => each === backend);
  const tells = !globals.quiet;
  if (kind === undefined) return { atOnce, tells };
  return { backend: findBackend(machinesFolder(host), kind), atOnce, tells };
}

/** The same for each of so many worlds that run at a time: they share the cores. */
export function sharedMachines(
  choice: MachineChoice | undefined,
  worlds: number,
): MachineChoice | undefined {
  if (choice === undefined || worlds === 1) return choice;
  const share = Math.max(1, Math.floor(availableParallelism() / worlds));
  return { ...choice, atOnce: choice.atOnce ?? share };
}

function machinesAtOnce({ globals }: Context): number | undefined {
  const { machineJobs } = globals;
  if (machineJobs === undefined || (machineJobs >= 1 && machineJobs <= AT_ONCE_MAX)) {
    return machineJobs;
  }
  throw new SimError({
    code: 'usage/jobs',
    message: `--machine-jobs is ${machineJobs}, expected 1 to ${AT_ONCE_MAX}`,
  });
}

/**
 * How a bundle's machines are to be run: on the backend that they ran on, found again on this
 * computer; undefined for a bundle without machines. Machines are repeated by the very same build
 * and by no other (CR-49, CR-111). Errors: those of `findBackend`; `backend/identity` if none that
 * is set up is the one; `usage/jobs`.
 */
export function recordedMachines(
  { machines }: Manifest,
  context: Context,
): MachineChoice | undefined {
  const atOnce = machinesAtOnce(context);
  if (machines === undefined) return undefined;
  const { backend, host, globals } = context;
  const wanted = machines.backend;
  // `wasm` is what nobody asked for: the bundle chooses.
  if (backend !== 'wasm' && backend !== wanted) {
    throw otherBuild(machines, `the backend ${backend} was asked for`, 'leave --backend out');
  }
  const found = findBackend(machinesFolder(host), wanted);
  const { ready } = machines;
  if (found.identity === machines.identity)
    return { backend: found, atOnce, ready, tells: !globals.quiet };
  const here = `here it is QEMU ${found.version}, identity ${found.identity.slice(0, 16)}`;
  throw otherBuild(machines, here, remedyFor(machines));
}

function remedyFor({ backend, version }: MachinesIdentity): string {
  return (
    `use the version of sim that wrote the bundle, with QEMU ${version} and ` +
    `\`sim vm setup --backend ${backend}\`, or make the run anew from its scenario`
  );
}

function otherBuild(
  { backend, version, identity }: MachinesIdentity,
  here: string,
  remedy: string,
) {
  return new SimError({
    code: 'backend/identity',
    message:
      `the bundle's machines ran on another build: backend ${backend}, QEMU ${version}, ` +
      `identity ${identity.slice(0, 16)}; ${here}`,
    place: 'manifest.machines',
    remedy,
  });
}

function refuseStock(): SimError {
  return new SimError({
    code: 'backend/stock',
    message:
      'the scenario asks for level L5 of its machines, the stock backend keeps L3: ' +
      (STOCK_REFUSES['worlds'] ?? ''),
    remedy: 'use --backend plugin: it is the same stock QEMU, which loads the adapter',
  });
}
