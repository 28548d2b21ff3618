import {
  machineIssues,
  SimError,
  type MachineDiskDef,
  type MachineExtentDef,
  type MachineGuestDef,
  type ScenarioDef,
} from '../sim/index.ts';
import type { MachineImageParts } from './compile.ts';
import type { CompileContext } from './compile-context.ts';
import { compileReady } from './compile-ready.ts';
import type { MachineFields } from './schema-machine.ts';
import type { ScenarioFields } from './schema.ts';
import type { KeyPath } from './toml.ts';

/** What a machine has unless it says otherwise. */
const MEMORY_MIB = 128;

/** A machine with its parts read; one that cannot be read is an issue and still declared. */
export function compileMachine(
  label: string,
  fields: MachineFields,
  context: CompileContext,
): MachineGuestDef {
  const { type, cpus, shift, disks } = fields;
  const path = ['guest', label, 'machine'];
  const parts = partsOf(fields, path, context);
  const own = disks.map((disk, place) => compileDisk(disk, [...path, 'disks', place], context));
  const first = parts.disk === null ? [] : [diskOf(parts.disk)];
  const ready = compileReady(fields, path, context);
  const words = [parts.commandLine, fields.command_line].filter((text) => text !== '');
  return {
    kind: 'vm',
    image: context.addImage(parts.kernel),
    label,
    machine: {
      type,
      cpus,
      memoryMib: fields.memory_mib ?? parts.memoryMib,
      shift,
      initrd: parts.initrd === null ? null : context.addImage(parts.initrd),
      commandLine: words.join(' '),
      disks: [...first, ...own],
      ...(ready === undefined ? {} : { ready }),
    },
  };
}

type Parts = Omit<MachineImageParts, 'initrd'> & { readonly initrd: Uint8Array | null };

const NO_BYTES = new Uint8Array(0);
const NO_PARTS: Parts = {
  kernel: NO_BYTES,
  initrd: null,
  disk: null,
  commandLine: '',
  memoryMib: MEMORY_MIB,
};

/** What the machine boots: an image that is described, or files. */
function partsOf(fields: MachineFields, path: KeyPath, context: CompileContext): Parts {
  const { vm, kernel, initrd } = fields;
  if ((vm === undefined) === (kernel === undefined)) {
    const why = 'a machine has either "vm" (a vm.toml, or a built-in name) or "kernel" (a file)';
    context.fail('machine', path, why);
    return NO_PARTS;
  }
  if (kernel !== undefined) {
    const bytes = readPart(kernel, [...path, 'kernel'], context);
    if (initrd === undefined) return { ...NO_PARTS, kernel: bytes };
    return { ...NO_PARTS, kernel: bytes, initrd: readPart(initrd, [...path, 'initrd'], context) };
  }
  if (initrd !== undefined) {
    context.fail('machine', [...path, 'initrd'], 'the image of "vm" has an initial file system');
  }
  return imageOf(vm ?? '', [...path, 'vm'], context);
}

function imageOf(name: string, path: KeyPath, context: CompileContext): Parts {
  const { files } = context;
  if (files.machineImage === undefined) {
    const remedy = 'make it with `sim vm image --out DIR`, and name its "kernel" and "initrd"';
    context.fail('machine', path, 'nothing here makes images of machines', remedy);
    return NO_PARTS;
  }
  return attempt(path, context, () => files.machineImage?.(name)) ?? NO_PARTS;
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
  const { files } = context;
  const read = (): Uint8Array => files.readDisk?.(image) ?? files.read(image);
  return diskOf(attempt([...path, 'image'], context, read) ?? NO_BYTES);
}

function diskOf(bytes: Uint8Array): MachineDiskDef {
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
  return attempt(place, context, () => context.files.read(path)) ?? NO_BYTES;
}

function attempt<T>(place: KeyPath, context: CompileContext, work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    const { code, message, remedy } = error;
    context.issues.push({
      code,
      path: place,
      message,
      ...(remedy === undefined ? {} : { remedy }),
    });
    return null;
  }
}
