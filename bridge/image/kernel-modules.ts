import { imageError } from './spec.ts';

/** Modules that each image has, if the kernel does not hold them built in: our devices. */
export const NEEDED_MODULES: readonly string[] = [
  'virtio_mmio',
  'virtio_pci',
  'virtio_blk',
  'virtio_net',
  'virtio_rng',
  'ext4',
];

/**
 * The modules to load for `wanted`, each after those it depends on. `read` gives a module's
 * bytes, `builtIn` the names that the kernel holds itself. Names have underscores.
 * Throws `input/module-missing`.
 */
export function moduleOrder(
  wanted: readonly string[],
  read: (name: string) => Uint8Array | undefined,
  builtIn: ReadonlySet<string>,
): readonly string[] {
  const order: string[] = [];
  const seen = new Set<string>();
  const visit = (name: string, by: string): void => {
    if (seen.has(name) || builtIn.has(name)) return;
    seen.add(name);
    const bytes = read(name);
    if (bytes === undefined) {
      throw imageError(
        'module-missing',
        `the kernel has no module "${name}"`,
        by,
        'name modules of this kernel, or another kernel',
      );
    }
    for (const each of dependenciesOf(bytes)) visit(each, name);
    order.push(name);
  };
  for (const name of wanted) visit(name, 'modules');
  return order;
}

/** `virtio-rng.ko.xz` is the module `virtio_rng`. */
export function moduleName(path: string): string {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return file.replace(/\.ko(\.xz|\.zst)?$/, '').replaceAll('-', '_');
}

/** What the section `.modinfo` of a module says: NUL-terminated `key=value`. */
function dependenciesOf(module: Uint8Array): readonly string[] {
  const bytes = Buffer.from(module.buffer, module.byteOffset, module.byteLength);
  const at = bytes.indexOf('\0depends=');
  if (at < 0) return [];
  const start = at + '\0depends='.length;
  const names = bytes.toString('latin1', start, bytes.indexOf(0, start));
  return names.split(',').flatMap((name) => (name === '' ? [] : [name.replaceAll('-', '_')]));
}
