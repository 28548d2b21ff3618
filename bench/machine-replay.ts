import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MachineBackend } from '../bridge/index.ts';
import { median, type Figure } from './harness.ts';
import { figure, wallMs } from './machine-figures.ts';
import { runSim } from './processes.ts';
import { StockMachine } from './stock-machine.ts';

const ROUNDS = 3;
/** Virtual seconds: of the whole run, and up to where the guest has booted and only sleeps. */
const WORLD_S = 260;
const BOOTED_S = 10;
/** The same for stock QEMU, whose idle seconds are those of the host while it records. */
const NAP_S = 4;
const MEMORY_MIB = 128;
const COMMAND_LINE = 'console=ttyS0 quiet panic=-1 reboot=t rdinit=/init';

interface Image {
  readonly kernel: string;
  readonly initrd: string;
}

/** A world of one idle machine, as a file of the user would say it. */
const WORLD = `schema_version = 1
name = "an idle machine"

[guest.linux.machine]
kernel = "kernel"
initrd = "initrd"
command_line = "${COMMAND_LINE} idle"
memory_mib = ${MEMORY_MIB}

[[node]]
name = "n1"
guest = "linux"

[limits]
virtual_time = "${WORLD_S}s"
`;

/**
 * Recording and replaying an idle guest, by `sim` and by QEMU's own record/replay. Paces are compared
 * where both guests have booted and sleep: of stock QEMU between two lines of its console, of `sim`
 * as what a replay of the whole run takes beyond one that ends after the boot.
 */
export async function replays(backend: MachineBackend, image: Image): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-replay-'));
  const recorded: number[] = [];
  const replayed: number[] = [];
  const booted: number[] = [];
  try {
    copyFileSync(image.kernel, join(folder, 'kernel'));
    copyFileSync(image.initrd, join(folder, 'initrd'));
    const world = join(folder, 'world.toml');
    writeFileSync(world, WORLD);
    const bundle = join(folder, 'bundle');
    for (let round = 0; round < ROUNDS; round++) {
      // The virtual time is used up, which is exit code 2.
      const run = ['run', world, '--seed', '1', '--backend', backend.kind, '--out', bundle];
      recorded.push(await wallMs(() => runSim(run, 2)));
      replayed.push(await wallMs(() => runSim(['replay', bundle])));
      const prefix = ['replay', bundle, '--to', `virtual-time=${BOOTED_S}s`];
      booted.push(await wallMs(() => runSim(prefix)));
      rmSync(bundle);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const ownMs = median(replayed);
  const idleMs = ownMs - median(booted);
  const own = ((WORLD_S - BOOTED_S) * 1000) / idleMs;
  const stock = await stockReplayPace(image);
  const whole = (WORLD_S * 1000) / ownMs;
  const paces = `${own.toFixed(1)} against ${stock.toFixed(2)} virtual s a s, boots left out`;
  const all = `with its boot and its process ${whole.toFixed(1)}`;
  const times = `${(median(recorded) / 1000).toFixed(2)} s against ${(ownMs / 1000).toFixed(2)} s`;
  const rounds = `median of ${ROUNDS}`;
  return [
    figure(
      'replay of an idle guest',
      own / stock,
      'x stock',
      { atLeast: 10 },
      `${paces} (${all}), ${rounds}`,
    ),
    figure(
      'recording against replay',
      median(recorded) / ownMs,
      'x',
      { atLeast: 1 },
      `${times} for ${WORLD_S} virtual s, boot included, ${rounds}`,
    ),
  ];
}

/** Virtual seconds a second in which QEMU replays a nap; its boot is left out. */
async function stockReplayPace({ kernel, initrd }: Image): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-record-'));
  const log = join(folder, 'log');
  try {
    let napMs = NaN;
    for (const mode of ['record', 'replay']) {
      const qemu = new StockMachine({
        kernel,
        initrd,
        commandLine: `${COMMAND_LINE} nap idle`,
        memoryMiB: MEMORY_MIB,
        icount: `shift=3,sleep=on,rr=${mode},rrfile=${log}`,
      });
      try {
        const bootMs = await qemu.saidMs('init:');
        napMs = (await qemu.saidMs('nap: over')) - bootMs;
        if (mode === 'record') await qemu.quit();
      } finally {
        await qemu.close();
      }
    }
    return (NAP_S * 1000) / napMs;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
