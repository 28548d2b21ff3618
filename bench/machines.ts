import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBackend, setUpPatched, setUpPlugin } from '../bridge/index.ts';
import type { AdapterKind, MachineBackend, MachineOptions } from '../bridge/index.ts';
import { machinesFolder } from '../cli/cache-folder.ts';
import type { Benchmark, Figure } from './harness.ts';
import { smallImage } from './machine-image.ts';
import { copies, pace, steps } from './machine-figures.ts';
import { sideBySide } from './machine-pair.ts';
import { againstStock } from './machine-stock.ts';
import { replays } from './machine-replay.ts';
import { packagePath } from './paths.ts';

const SOURCE_RECORD = /^qemu-source-.*\.json$/;
const KINDS: readonly AdapterKind[] = ['plugin', 'patched'];

function cacheFolder(): string {
  return machinesFolder({ env: process.env, cwd: process.cwd() });
}

/** The backends that are set up on this computer. */
function backends(): readonly MachineBackend[] {
  return KINDS.flatMap((kind) => {
    try {
      return [findBackend(cacheFolder(), kind)];
    } catch {
      return [];
    }
  });
}

/** What a full machine costs, and how it compares with a stock QEMU and the same guest. */
export const machineBenchmark: Benchmark = {
  name: 'machines',
  missing: () => (backends().length > 0 ? null : 'machines are not set up: `sim vm setup`'),
  async measure(progress): Promise<readonly Figure[]> {
    const image = smallImage(cacheFolder(), packagePath('test/support/machine-init.c'));
    const figures: Figure[] = [];
    for (const backend of backends()) {
      const options = (mode: string, changes: Partial<MachineOptions> = {}): MachineOptions => ({
        backend,
        machine: 'microvm',
        cpus: 1,
        memoryMiB: 256,
        ...image,
        commandLine: `console=ttyS0 quiet panic=-1 reboot=t rdinit=/init ${mode}`,
        nics: [],
        disks: [],
        shift: 0,
        seed: 1,
        ...changes,
      });
      const add = (name: string, some: readonly Figure[]): void => {
        for (const each of some) figures.push({ ...each, name: `${backend.kind}: ${each.name}` });
        progress(`${backend.kind}: ${name}`);
      };
      add('forks and checkpoints', await copies(options));
      add('steps and stops', await steps(options));
      add('an idle guest', await pace(options));
      add('beside a stock QEMU', await againstStock(options));
      add('replays', await replays(backend, image));
      add('two machines', await sideBySide(backend, image));
      add('set-up', [await setUp(backend)]);
    }
    return figures;
  },
};

/** From packages and QEMU's sources to a plugin that is proven; a patched QEMU is only found again. */
async function setUp({ kind }: MachineBackend): Promise<Figure> {
  const say = (): void => undefined;
  const startMs = performance.now();
  const seconds = (): number => (performance.now() - startMs) / 1000;
  if (kind === 'patched') {
    await setUpPatched({ cacheFolder: cacheFolder(), say });
    const bar = { kind: 'at-most', value: 5 } as const;
    return { name: 'set up again', value: seconds(), unit: 's', bar, note: 'built before' };
  }
  const fresh = mkdtempSync(join(tmpdir(), 'bench-setup-'));
  try {
    // It says where the sources are, so they are not fetched again.
    for (const name of readdirSync(cacheFolder()).filter((each) => SOURCE_RECORD.test(each))) {
      copyFileSync(join(cacheFolder(), name), join(fresh, name));
    }
    await setUpPlugin({ cacheFolder: fresh, say });
    return {
      name: 'built and proven',
      value: seconds(),
      unit: 's',
      bar: { kind: 'at-most', value: 30 },
      note: 'headers, compilation, self-test; packages and sources were there',
    };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
