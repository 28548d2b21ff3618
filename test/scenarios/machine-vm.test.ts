import { describe, expect, it } from 'vitest';
import {
  loadScenarioText,
  LocalFiles,
  type CompileResult,
  type MachineImageParts,
} from '../../scenarios/index.ts';
import { SimError } from '../../sim/index.ts';

const PAGE_BYTES = 4_096;

/** Images by name, as `sim vm image` would have made them. */
class Images extends LocalFiles {
  readonly asked: string[] = [];

  machineImage(name: string): MachineImageParts {
    this.asked.push(name);
    if (name !== 'small.vm.toml') {
      throw new SimError({
        code: 'backend/machine-image',
        message: `no image of ${name}`,
        remedy: 'make one',
      });
    }
    const disk = new Uint8Array(3 * PAGE_BYTES);
    disk[PAGE_BYTES] = 7;
    return {
      kernel: Uint8Array.of(1),
      initrd: Uint8Array.of(2),
      disk,
      commandLine: 'console=ttyS0 quiet',
      memoryMib: 96,
    };
  }
}

function load(machine: string, files: LocalFiles = new Images('.')): CompileResult {
  const text = `schema_version = 1
name = "m"
[guest.linux.machine]
${machine}
[[node]]
name = "n1"
guest = "linux"
`;
  return loadScenarioText(text, 'x.toml', files);
}

function errors(result: CompileResult): readonly string[] {
  if (result.ok) return [];
  return result.errors.map(({ code, place, message }) => `${place ?? ''} | ${code} | ${message}`);
}

function machineOf(result: CompileResult): Readonly<Record<string, unknown>> {
  if (!result.ok) throw new Error(errors(result).join('\n'));
  const { guest } = result.scenario.def.world.nodes[0] ?? {};
  return guest?.kind === 'vm' ? { ...guest.machine } : {};
}

describe('a machine by its description', () => {
  it('is the image that is made of it: its parts, its memory, its disk first', () => {
    const found = load('vm = "small.vm.toml"\ndisks = [{ size = "1mib" }]');
    expect(machineOf(found)).toMatchObject({
      memoryMib: 96,
      commandLine: 'console=ttyS0 quiet',
      disks: [
        { bytes: 3 * PAGE_BYTES, extents: [{ offset: PAGE_BYTES }] },
        { bytes: 2 ** 20, extents: [] },
      ],
    });
    expect(found.ok && [...found.scenario.images.values()].map((bytes) => bytes[0])).toEqual([
      1, 2,
    ]);
  });

  it('takes more words for its kernel, and other memory', () => {
    const found = load('vm = "small.vm.toml"\ncommand_line = "debug"\nmemory_mib = 256');
    expect(machineOf(found)).toMatchObject({
      memoryMib: 256,
      commandLine: 'console=ttyS0 quiet debug',
    });
  });

  it('is either that or files (CR-108)', () => {
    const why = 'a machine has either "vm" (a vm.toml, or a built-in name) or "kernel" (a file)';
    const place = 'x.toml:3:2: guest.linux.machine';
    expect(errors(load('cpus = 1'))).toContain(`${place} | scenario/machine | ${why}`);
    expect(errors(load('vm = "a"\nkernel = "k"'))).toContain(
      `${place} | scenario/machine | ${why}`,
    );
    expect(errors(load('vm = "small.vm.toml"\ninitrd = "i"'))).toEqual([
      expect.stringContaining('the image of "vm" has an initial file system'),
    ]);
  });

  it('says why there is no image, at the key, with what to do', () => {
    const result = load('vm = "etcd"');
    expect(errors(result)).toEqual([
      'x.toml:4:1: guest.linux.machine.vm | backend/machine-image | no image of etcd',
    ]);
    expect(result.ok || result.errors[0]?.remedy).toBe('make one');
    const plain = load('vm = "etcd"', new LocalFiles('.'));
    expect(plain.ok || plain.errors[0]?.remedy).toContain('sim vm image --out');
  });
});
