import { copyFileSync, mkdirSync, writeFileSync, constants } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { buildImage, type ImageSpec, type MachineImage } from '../../bridge/index.ts';
import { SimError } from '../../sim/index.ts';
import { writeError } from '../atomic-write.ts';
import { machinesFolder } from '../cache-folder.ts';
import { groupDigits } from '../columns.ts';
import type { Context } from '../context.ts';
import type { OptionsOf } from '../options.ts';
import { Progress } from '../progress.ts';
import { readMachine } from '../vm-input.ts';

/** `sim vm image`: makes the image of a vm.toml, or finds it among those made before. */
export async function run(
  args: readonly string[],
  options: OptionsOf<'vm image'>,
  context: Context,
): Promise<number> {
  const image = await made(readMachine(args[0] ?? '', context), options.update, context);
  const folder = options.out === undefined ? null : context.path(options.out);
  if (folder !== null) copyImage(image, folder);
  report(image, folder, context);
  return 0;
}

async function made(spec: ImageSpec, update: boolean, context: Context): Promise<MachineImage> {
  const { host, globals } = context;
  const progress = new Progress(host, 0, globals.quiet);
  const say = (line: string): void => progress.tell(line);
  try {
    return await buildImage(spec, { cacheFolder: machinesFolder(host), say, update });
  } finally {
    progress.end();
  }
}

function report(image: MachineImage, folder: string | null, context: Context): void {
  const { manifest, cached, kernelPath } = image;
  const { kernel, initrd, disk, packages } = manifest;
  const path = folder ?? dirname(kernelPath);
  context.output.record({
    type: 'image',
    id: manifest.id,
    path,
    cached,
    kernel: `${kernel.name} ${kernel.version}`,
    packages: packages.map(({ name, version }) => `${name} ${version}`),
    initrd_bytes: initrd.byteCount,
    disk_bytes: disk?.byteCount ?? 0,
    memory_bytes: manifest.memoryByteCount,
  });
  const lines = [
    `image     ${manifest.id.slice(0, 16)}${cached ? '  (made before)' : ''}`,
    `kernel    ${kernel.name} ${kernel.version}`,
    `packages  ${packages.length}`,
    `initrd    ${groupDigits(initrd.byteCount)} bytes`,
    `disk      ${disk === null ? 'none' : `${groupDigits(disk.byteCount)} bytes`}`,
    `memory    ${groupDigits(manifest.memoryByteCount)} bytes`,
    `folder    ${path}`,
  ];
  for (const line of lines) context.output.say(line);
  for (const { name, version } of packages) context.output.detail(`  ${name} ${version}`);
}

function copyImage(image: MachineImage, folder: string): void {
  try {
    mkdirSync(resolve(folder, '..'), { recursive: true });
    mkdirSync(folder);
    const files = [image.kernelPath, image.initrdPath, image.diskPath];
    for (const path of files) {
      // A clone where the file system can: a disk's holes stay holes.
      if (path !== null) {
        const name = path.slice(dirname(path).length + 1);
        copyFileSync(path, join(folder, name), constants.COPYFILE_FICLONE);
      }
    }
    writeFileSync(join(folder, 'manifest.json'), `${JSON.stringify(image.manifest, null, 2)}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw writeError(folder, error);
    throw new SimError({
      code: 'usage/exists',
      message: 'the folder for the image exists already',
      place: folder,
      remedy: 'name a new folder',
    });
  }
}
