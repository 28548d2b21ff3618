import { createHash } from 'node:crypto';
import { smallImage } from '../../bench/machine-image.ts';
import { findBackend, setUpPlugin } from '../../bridge/index.ts';
import { machinesFolder } from '../../cli/cache-folder.ts';
import type { Machine, MachineBackend, MachineEvent, MachineOptions } from '../../bridge/index.ts';

/** Where this computer keeps what it has for machines. */
export const machineCache = machinesFolder({ env: process.env, cwd: process.cwd() });

/**
 * QEMU with the adapter inside. It takes minutes to build, so it must have been set up before:
 * `sim vm setup --backend patched`.
 */
export function patchedBackend(): MachineBackend {
  return findBackend(machineCache, 'patched');
}

/** The backend of this computer, stock QEMU with the plugin; made if there is none. */
export async function testBackend(): Promise<MachineBackend> {
  try {
    return findBackend(machineCache, 'plugin');
  } catch {
    return setUpPlugin({ cacheFolder: machineCache, say: () => undefined });
  }
}

/** Kernel and initial file system of the machines in tests. */
export function testImage(): { readonly kernel: string; readonly initrd: string } {
  return smallImage(machineCache, new URL('./machine-init.c', import.meta.url).pathname);
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
