import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openImage } from '../bridge/index.ts';
import { LocalFiles, packageRoot, type MachineImageParts } from '../scenarios/index.ts';
import { assert, SimError } from '../sim/index.ts';
import type { Context } from './context.ts';
import type { Host } from './host.ts';
import { Progress } from './progress.ts';

/** What `sim vm image` says of an image that it made or found. */
interface ImageRecord {
  readonly path: string;
}

/** What it says when there is none. */
interface ErrorRecord {
  readonly code: SimError['code'];
  readonly message: string;
  readonly place?: string;
  readonly remedy?: string;
}

const MEBIBYTE = 1024 ** 2;

/** Files next to a scenario, and images of machines that `sim vm image` makes on demand. */
export class CommandFiles extends LocalFiles {
  private readonly place: string;
  private readonly host: Pick<Host, 'cwd' | 'env' | 'stderr'>;
  private readonly quiet: boolean;

  /** `folder` is where the scenario stands; paths in it start there. */
  constructor(folder: string, { host, globals }: Pick<Context, 'host' | 'globals'>) {
    super(folder);
    this.place = folder;
    this.host = host;
    this.quiet = globals.quiet;
  }

  /** Throws what `sim vm image` says where there is no image to be had. */
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
    const progress = new Progress(this.host, 0, this.quiet);
    progress.tell(`making the image of ${machine}, unless there is one`);
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [program, 'vm', 'image', machine, '--format', 'jsonl'],
      { cwd: this.host.cwd, env: { ...this.host.env } },
    );
    progress.end();
    if (status !== 0)
      throw cause(machine, recordsOf(stderr, 'error')[0] as ErrorRecord | undefined);
    const [image] = recordsOf(stdout, 'image') as readonly ImageRecord[];
    assert(image !== undefined, 'a command that succeeds says where the image is');
    return image.path;
  }
}

/** Why there is no image: the one error of the process, as the scenario's own. */
function cause(machine: string, error: ErrorRecord | undefined): SimError {
  const what = `the image of the machine "${machine}" cannot be made`;
  if (error === undefined) {
    const remedy = `see what \`sim vm image ${machine}\` says`;
    return new SimError({ code: 'backend/machine-image', message: what, remedy });
  }
  const { code, message, place, remedy } = error;
  const where = place === undefined || message.includes(place) ? '' : ` (${place})`;
  return new SimError({
    code,
    message: `${what}: ${message}${where}`,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

/** The records of a type among the lines that a process wrote. */
function recordsOf(output: Buffer, type: string): readonly unknown[] {
  const lines = output.toString('utf8').split('\n');
  return lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { readonly type: string })
    .filter((each) => each.type === type);
}
