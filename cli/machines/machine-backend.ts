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
  type ScenarioDef,
} from '../../sim/index.ts';
import { machinesFolder } from '../cache-folder.ts';
import type { Context } from '../context.ts';

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
 * The backend that was asked for, for the machines of a fresh run; undefined where there are none,
 * or where any will do. Errors: those of `findBackend`, and `backend/stock`.
 */
export function askedBackend(scenario: ScenarioDef, context: Context): MachineBackend | undefined {
  const { backend, host } = context;
  if (!hasMachines(scenario)) return undefined;
  if (backend === 'stock') throw refuseStock();
  const kind = ADAPTER_KINDS.find((each) => each === backend);
  return kind === undefined ? undefined : findBackend(machinesFolder(host), kind);
}

/**
 * The backend that a bundle's machines ran on, found again on this computer; undefined for a bundle
 * without machines. Machines are repeated by the very same build and by no other (CR-49, CR-111).
 * Errors: those of `findBackend`; `backend/identity` if none that is set up is the one.
 */
export function recordedBackend(
  { machines }: Manifest,
  context: Context,
): MachineBackend | undefined {
  if (machines === undefined) return undefined;
  const { backend, host } = context;
  const wanted = machines.backend;
  // `wasm` is what nobody asked for: the bundle chooses.
  if (backend !== 'wasm' && backend !== wanted) {
    throw otherBuild(machines, `the backend ${backend} was asked for`, 'leave --backend out');
  }
  const found = findBackend(machinesFolder(host), wanted);
  if (found.identity === machines.identity) return found;
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
