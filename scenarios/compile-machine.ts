import {
  machineIssues,
  SimError,
  type MachineDiskDef,
  type MachineExtentDef,
  type MachineGuestDef,
  type ScenarioDef,
} from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import type { MachineFields } from './schema-machine.ts';
import type { ScenarioFields } from './schema.ts';
import type { KeyPath } from './toml.ts';

/** A machine with its parts read; one that cannot be read is an issue and still declared. */
export function compileMachine(
  label: string,
  fields: MachineFields,
  context: CompileContext,
): MachineGuestDef {
  const { kernel, initrd, type, cpus, shift, disks } = fields;
  const part = (key: 'kernel' | 'initrd', path: string): string => {
    return context.addImage(readPart(path, ['guest', label, 'machine', key], context));
  };
  return {
    kind: 'vm',
    image: part('kernel', kernel),
    label,
    machine: {
      type,
      cpus,
      memoryMib: fields.memory_mib,
      shift,
      initrd: initrd === undefined ? null : part('initrd', initrd),
      commandLine: fields.command_line,
      disks: disks.map((disk, place) => {
        return compileDisk(disk, ['guest', label, 'machine', 'disks', place], context);
      }),
    },
  };
}

/** Finds what is wrong with machines as guests, each issue at the table that said it (CR-108). */
export function checkMachines(
  def: ScenarioDef,
  fields: ScenarioFields,
  context: CompileContext,
): void {
  for (const { code, node, event, why } of machineIssues(def)) {
    context.issues.push({ code, path: placeOf(def, fields, node, event), message: why });
  }
}

function placeOf(def: ScenarioDef, fields: ScenarioFields, node: number, event: number): KeyPath {
  if (event >= 0) {
    const name = def.plan.events[event]?.name;
    return ['event', fields.event.findIndex((each) => each.name === name)];
  }
  const name = def.world.nodes[node]?.name ?? '';
  return [
    'node',
    fields.node.findIndex((each) => each.name === name || each.names?.includes(name)),
  ];
}

/** Pages of zeros are left out, so that a large disk that holds little is little. */
const PAGE_BYTES = 4_096;

function compileDisk(
  { size, image }: MachineFields['disks'][number],
  path: KeyPath,
  context: CompileContext,
): MachineDiskDef {
  if ((size === undefined) === (image === undefined)) {
    context.fail('machine', path, 'a disk has either "size" or "image" (a file)');
  }
  if (image === undefined) return { bytes: size ?? PAGE_BYTES, extents: [] };
  const bytes = readPart(image, [...path, 'image'], context);
  return { bytes: Math.max(bytes.length, PAGE_BYTES), extents: extentsOf(bytes) };
}

function extentsOf(image: Uint8Array): readonly MachineExtentDef[] {
  const extents: MachineExtentDef[] = [];
  let start = -1;
  for (let at = 0; at <= image.length; at += PAGE_BYTES) {
    const page = image.subarray(at, at + PAGE_BYTES);
    const holds = page.some((byte) => byte !== 0);
    if (holds && start < 0) start = at;
    if (holds || start < 0) continue;
    extents.push({ offset: start, bytes: image.slice(start, at) });
    start = -1;
  }
  if (start >= 0) extents.push({ offset: start, bytes: image.slice(start) });
  return extents;
}

function readPart(path: string, place: KeyPath, context: CompileContext): Uint8Array {
  try {
    return context.files.read(path);
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    context.issues.push({ code: error.code, path: place, message: error.message });
    return new Uint8Array(0);
  }
}
