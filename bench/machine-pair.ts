import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MachineBackend } from '../bridge/index.ts';
import { interleaveWall, medianMs, ratio, type Figure } from './harness.ts';
import { figure } from './machine-figures.ts';
import { runSim } from './processes.ts';

const ROUNDS = 3;
const WORLD_MS = 1_000;
const LATENCY_MS = 2;

/** Two machines that compute and nothing else, on a link. */
const WORLD = `schema_version = 1
name = "two busy machines"

[guest.linux.machine]
kernel = "kernel"
initrd = "initrd"
command_line = "console=ttyS0 quiet panic=-1 reboot=t rdinit=/init busy"
memory_mib = 128

[[node]]
name = "n1"
guest = "linux"

[[node]]
name = "n2"
guest = "linux"

[network]
latency = "${LATENCY_MS}ms"

[limits]
virtual_time = "${WORLD_MS}ms"
`;

/** The same world with its machines in turns and side by side. */
export async function sideBySide(
  backend: MachineBackend,
  image: { readonly kernel: string; readonly initrd: string },
): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-pair-'));
  try {
    copyFileSync(image.kernel, join(folder, 'kernel'));
    copyFileSync(image.initrd, join(folder, 'initrd'));
    const world = join(folder, 'world.toml');
    writeFileSync(world, WORLD);
    const run = (jobs: string) => {
      const args = ['run', world, '--seed', '1', '--backend', backend.kind, '--thin'];
      const out = ['--machine-jobs', jobs, '--out', join(folder, `bundle-${jobs}`)];
      // The virtual time is used up, which is exit code 2.
      return { name: jobs, run: () => runSim([...args, ...out], 2) };
    };
    const timings = await interleaveWall([run('1'), run('2')], ROUNDS);
    const seconds = (jobs: string): string => (medianMs(timings, jobs) / 1000).toFixed(2);
    const note =
      `${seconds('1')} s against ${seconds('2')} s for ${WORLD_MS} virtual ms at ${LATENCY_MS} ms ` +
      `of latency, boot included, median of ${ROUNDS}`;
    const gain = ratio(timings, '1', '2');
    return [figure('two busy machines side by side', gain, 'x in turns', null, note)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
