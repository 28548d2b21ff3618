import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Machine, type MachineBackend, type MachineImage } from '../../bridge/index.ts';
import { startStockQemu } from './stock-qemu.ts';

const SECTOR_BYTES = 512;
const FLAGS = '-M microvm,rtc=on -accel tcg -cpu qemu64,+rdrand,+rdseed -bios qboot.rom -no-reboot';
const CLOCK = '-icount shift=0,sleep=off -rtc base=2024-01-01T00:00:00,clock=vm -seed 42';

/** What a machine said: on its console, and through the port of text. */
export interface Said {
  readonly console: string;
  readonly text: string;
}

/** Boots an image under a stock QEMU, with a copy of its disk, until it powers off. */
export async function bootStock(image: MachineImage): Promise<Said> {
  const { manifest, kernelPath, initrdPath, diskPath } = image;
  const disk = ['-drive', 'if=none,id=data,file=disk,format=raw,cache=unsafe'];
  const qemu = await startStockQemu(
    [
      ...`${FLAGS} ${CLOCK} -m ${manifest.memoryByteCount / 1024 ** 2}`.split(' '),
      ...['-global', 'virtio-mmio.ioeventfd=off', '-kernel', kernelPath, '-initrd', initrdPath],
      ...['-append', `${manifest.commandLine} athanor.name=n1`],
      ...['-serial', 'file:console', '-chardev', 'file,id=text,path=text'],
      ...['-device', 'isa-debugcon,iobase=0x402,chardev=text'],
      ...(diskPath === null ? [] : [...disk, '-device', 'virtio-blk-device,drive=data']),
    ],
    (folder) => {
      // The image is never written to; `cp` keeps the holes.
      if (diskPath !== null)
        execFileSync('cp', ['--sparse=always', diskPath, join(folder, 'disk')]);
    },
  );
  try {
    await qemu.ended;
    const read = (name: string): string => {
      const path = join(qemu.folder, name);
      return existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r', '') : '';
    };
    return { console: read('console') + qemu.errors(), text: read('text') };
  } finally {
    await qemu.dispose();
  }
}

/** What a machine under our own adapter said and did. */
export interface Run extends Said {
  readonly bells: readonly number[];
  readonly randoms: number;
  readonly endedNs: number;
  readonly reason: string;
}

/** Boots an image under the adapter; its disk is answered after 50 us. */
export async function bootMachine(
  image: MachineImage,
  backend: MachineBackend,
  options: { readonly seed: number; readonly limitNs: number },
): Promise<Run> {
  const { manifest, kernelPath, initrdPath, diskPath } = image;
  const disk = diskPath === null ? Buffer.alloc(0) : readFileSync(diskPath);
  const machine = await Machine.start({
    backend,
    machine: 'microvm',
    cpus: 1,
    memoryMiB: manifest.memoryByteCount / 1024 ** 2,
    kernel: kernelPath,
    initrd: initrdPath,
    commandLine: `${manifest.commandLine} athanor.name=n1`,
    nics: [],
    disks: diskPath === null ? [] : [{ sectors: disk.length / SECTOR_BYTES }],
    shift: 0,
    seed: options.seed,
  });
  const said = ['', ''];
  const bells: number[] = [];
  let randoms = 0;
  try {
    for (;;) {
      const stop = await machine.run(options.limitNs, ['block']);
      for (const event of stop.events) {
        if (event.kind === 'console') said[event.port] += event.bytes.toString('utf8');
        if (event.kind === 'bell') bells.push(event.value);
        if (event.kind === 'random') randoms++;
        if (event.kind !== 'block') continue;
        const at = event.sector * SECTOR_BYTES;
        if (event.operation === 'write') event.data.copy(disk, at);
        const bytes =
          event.operation === 'read' ? disk.subarray(at, at + event.byteCount) : undefined;
        machine.completeBlock(event.id, event.atNs + 50_000, 'ok', bytes);
      }
      if (stop.reason !== 'off' && machine.nowNs < options.limitNs) continue;
      const [console = '', text = ''] = said.map((each) => each.replaceAll('\r', ''));
      return { console, text, bells, randoms, endedNs: machine.nowNs, reason: stop.reason };
    }
  } finally {
    await machine.close();
  }
}
