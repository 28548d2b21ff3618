import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync } from 'node:fs';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBackend, setUpPlugin } from '../../bridge/index.ts';
import { machinesFolder } from '../../cli/cache-folder.ts';
import { S_IFDIR, S_IFREG, writeCpio } from '../../bridge/image/cpio.ts';
import type { Machine, MachineBackend, MachineEvent, MachineOptions } from '../../bridge/index.ts';

/** Modules of Debian's cloud kernel that the machines of tests use, in the order of loading. */
const MODULES = [
  'drivers/virtio/virtio_ring',
  'drivers/virtio/virtio',
  'drivers/virtio/virtio_mmio',
  'drivers/virtio/virtio_pci_legacy_dev',
  'drivers/virtio/virtio_pci_modern_dev',
  'drivers/virtio/virtio_pci',
  'drivers/block/virtio_blk',
  'net/core/failover',
  'drivers/net/net_failover',
  'drivers/net/virtio_net',
];

/** Where this computer keeps what it has for machines. */
export const machineCache = machinesFolder({ env: process.env, cwd: process.cwd() });

/** The backend of this computer, stock QEMU with the plugin; made if there is none. */
export async function testBackend(): Promise<MachineBackend> {
  try {
    return findBackend(machineCache, 'plugin');
  } catch {
    return setUpPlugin({ cacheFolder: machineCache, say: () => undefined });
  }
}

/** Debian's cloud kernel, unpacked; downloaded once. */
function kernelFolder(): string {
  const folder = join(machineCache, 'test-kernel');
  if (existsSync(folder)) return folder;
  mkdirSync(machineCache, { recursive: true });
  const draft = mkdtempSync(join(machineCache, 'kernel-'));
  const options = { cwd: draft, encoding: 'utf8' } as const;
  const depends = execFileSync('apt-cache', ['depends', 'linux-image-cloud-amd64'], options);
  const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1] ?? '';
  execFileSync('apt-get', ['-o', 'APT::Sandbox::User=', 'download', name], options);
  const file = readdirSync(draft).find((each) => each.endsWith('.deb')) ?? '';
  execFileSync('dpkg-deb', ['-x', file, '.'], options);
  rmSync(join(draft, file));
  renameSync(draft, folder);
  return folder;
}

/** Kernel and initial file system of the machines in tests. */
export function testImage(): { readonly kernel: string; readonly initrd: string } {
  const folder = kernelFolder();
  const source = new URL('./machine-init.c', import.meta.url).pathname;
  const key = createHash('sha256').update(readFileSync(source)).update(MODULES.join());
  const initrd = join(machineCache, `test-initrd-${key.digest('hex').slice(0, 16)}.cpio`);
  const boot = join(folder, 'boot');
  const name = readdirSync(boot).find((each) => each.startsWith('vmlinuz-')) ?? '';
  const kernel = join(boot, name);
  if (!existsSync(initrd)) makeInitrd(source, folder, name.slice('vmlinuz-'.length), initrd);
  return { kernel, initrd };
}

function makeInitrd(source: string, folder: string, release: string, path: string): void {
  const draft = mkdtempSync(join(tmpdir(), 'athanor-initrd-'));
  try {
    const init = join(draft, 'init');
    execFileSync('gcc', ['-O2', '-static', '-o', init, source]);
    const owned = { uid: 0, gid: 0 };
    const folders = ['.', 'dev', 'modules', 'proc'].map((name) => {
      return { path: name, mode: S_IFDIR | 0o755, bytes: new Uint8Array(0), ...owned };
    });
    const modules = MODULES.map((module, index) => {
      const from = join(folder, 'lib/modules', release, 'kernel', `${module}.ko`);
      const name = `modules/${String(index).padStart(2, '0')}.ko`;
      return { path: name, mode: S_IFREG | 0o644, bytes: readFileSync(from), ...owned };
    });
    const program = { path: 'init', mode: S_IFREG | 0o755, bytes: readFileSync(init), ...owned };
    writeFileSync(path, Buffer.concat([...writeCpio([...folders, ...modules, program])]));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Options of a machine with a card and a disk; `changes` replace what is given. */
export async function testOptions(changes: Partial<MachineOptions> = {}): Promise<MachineOptions> {
  return {
    backend: await testBackend(),
    machine: 'microvm',
    cpus: 1,
    memoryMiB: 128,
    ...testImage(),
    commandLine: 'console=ttyS0 quiet panic=-1 reboot=t rdinit=/init work',
    nics: [{ mac: '52:54:00:00:00:01' }],
    disks: [{ sectors: 2048 }],
    shift: 0,
    seed: 42,
    ...changes,
  };
}

/** Latencies of the world around the machine, a function of what happened alone. */
const NETWORK_NS = 150_000;
const DISK_NS = 70_000;
const SECTOR_BYTES = 512;

/**
 * A world around one machine: echoes each frame, keeps the disk. What it does depends on nothing
 * but the machine's own events.
 */
export class TestWorld {
  readonly machine: Machine;
  private readonly disk: Map<number, Buffer>;
  private readonly digest: string[];
  console: string;
  events: number;

  constructor(machine: Machine, before?: TestWorld) {
    this.machine = machine;
    this.disk = new Map(before?.disk);
    this.digest = [...(before?.digest ?? [])];
    this.console = before?.console ?? '';
    this.events = before?.events ?? 0;
  }

  async fork(): Promise<TestWorld> {
    return new TestWorld(await this.machine.fork(), this);
  }

  /** Runs to `untilNs` in steps that `step` gives (the length of the next one). */
  async run(untilNs: number, step: () => number = () => untilNs): Promise<void> {
    while (this.machine.nowNs < untilNs) {
      const limit = Math.min(untilNs, this.machine.nowNs + step());
      const stop = await this.machine.run(limit, ['frame', 'block']);
      for (const event of stop.events) this.take(event);
      if (stop.reason === 'off') return;
    }
  }

  /** Runs until a block request waits for its end. */
  async runToRequest(limitNs: number): Promise<void> {
    while (this.machine.nowNs < limitNs) {
      const { events } = await this.machine.run(limitNs, ['frame', 'block']);
      for (const event of events) this.take(event);
      if (events.some(({ kind }) => kind === 'block')) return;
    }
    throw new Error('the guest asked nothing of its disk');
  }

  /** All that can be told of what happened, and of where the machine stands. */
  async summary(): Promise<{ readonly state: string; readonly events: string }> {
    const { ram, devices } = await this.machine.hash();
    const state = `${ram}.${devices}.${this.machine.nowNs}.${this.machine.instructions}`;
    const events = createHash('sha256').update(this.digest.join('\n')).digest('hex');
    return { state, events };
  }

  private take(event: MachineEvent): void {
    this.events++;
    this.digest.push(describeEvent(event));
    if (event.kind === 'console') this.console += event.bytes.toString('latin1');
    if (event.kind === 'frame') {
      const delay = NETWORK_NS + (event.bytes[14] ?? 0) * 977;
      this.machine.deliverFrame(event.port, event.atNs + delay, event.bytes);
    }
    if (event.kind !== 'block') return;
    const { id, sector, byteCount, operation, data, atNs } = event;
    for (let at = 0; at < byteCount; at += SECTOR_BYTES) {
      if (operation === 'write') {
        this.disk.set(sector + at / SECTOR_BYTES, data.subarray(at, at + SECTOR_BYTES));
      }
    }
    const empty = Buffer.alloc(SECTOR_BYTES);
    const sectors = Array.from({ length: byteCount / SECTOR_BYTES }, (_, index) => {
      return this.disk.get(sector + index) ?? empty;
    });
    const read = operation === 'read' ? Buffer.concat(sectors) : undefined;
    this.machine.completeBlock(id, atNs + DISK_NS + (sector % 13) * 1009, 'ok', read);
  }
}

function describeEvent(event: MachineEvent): string {
  return JSON.stringify(event, (_key, value: unknown) => {
    return Buffer.isBuffer(value) ? value.toString('hex') : value;
  });
}
