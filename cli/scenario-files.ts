import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openImage } from '../bridge/index.ts';
import { LocalFiles, packageRoot, type MachineImageParts } from '../scenarios/index.ts';
import { assert, SimError } from '../sim/index.ts';
import type { Host } from './host.ts';

/** What `sim vm image` says of an image that it made or found. */
interface ImageRecord {
  readonly type: string;
  readonly path: string;
}

const MEBIBYTE = 1024 ** 2;
/** The code of the process for errors of what runs machines, and of what they are made with. */
const BACKEND_EXIT = 4;

/** Files next to a scenario, and images of machines that `sim vm image` makes on demand. */
export class CommandFiles extends LocalFiles {
  private readonly place: string;
  private readonly host: Pick<Host, 'cwd' | 'env'>;

  /** `folder` is where the scenario stands; paths in it start there. */
  constructor(folder: string, host: Pick<Host, 'cwd' | 'env'>) {
    super(folder);
    this.place = folder;
    this.host = host;
  }

  /** Throws `input/machine-image` or `backend/machine-image` where there is no image to be had. */
  machineImage(name: string): MachineImageParts {
    const path = resolve(this.host.cwd, this.place, name);
    const { manifest, kernelPath, initrdPath, diskPath } = openImage(
      this.makeImage(existsSync(path) ? path : name),
    );
    return {
      kernel: readFileSync(kernelPath),
      initrd: readFileSync(initrdPath),
      disk: diskPath === null ? null : readFileSync(diskPath),
      commandLine: manifest.commandLine,
      memoryMib: manifest.memoryByteCount / MEBIBYTE,
    };
  }

  /** Making an image waits for other programs, which a scenario's reading does not: a process does. */
  private makeImage(machine: string): string {
    const program = join(packageRoot(), 'dist', 'cli', 'main.js');
    const { stdout, status } = spawnSync(
      process.execPath,
      [program, 'vm', 'image', machine, '--format', 'jsonl'],
      { cwd: this.host.cwd, env: { ...this.host.env }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    if (status !== 0) {
      throw new SimError({
        code: status === BACKEND_EXIT ? 'backend/machine-image' : 'input/machine-image',
        message: `the image of the machine "${machine}" cannot be made`,
        remedy: `what \`sim vm image ${machine}\` says is the cause`,
      });
    }
    const records = stdout.toString('utf8').trim().split('\n');
    const [image] = records
      .map((line) => JSON.parse(line) as ImageRecord)
      .filter(({ type }) => type === 'image');
    assert(image !== undefined, 'a command that succeeds says where the image is');
    return image.path;
  }
}
