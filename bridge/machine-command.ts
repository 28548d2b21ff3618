import type { MachineOptions } from './machine-options.ts';

/** Descriptor of the channel in QEMU. */
export const CHANNEL_FD = 3;

/** Where programs of the guest write lines of text: console port 1 (docs/machines.md). */
const TEXT_PORT = '0x402';

const RTC_BASE = '2024-01-01T00:00:00';

/** q35 without what a simulated machine has no use for; microvm has a clock, no more. */
const MACHINE: Readonly<Record<MachineOptions['machine'], string>> = {
  microvm: 'microvm,rtc=on,auto-kernel-cmdline=on',
  q35: 'q35,usb=off,sata=off,smbus=off,graphics=off,vmport=off',
};

/** The bus decides the names of devices: microvm has virtio-mmio, q35 has PCI. */
function deviceName(machine: MachineOptions['machine'], device: 'net' | 'blk-sim'): string {
  if (machine === 'q35') return `virtio-${device}-pci`;
  return device === 'net' ? 'virtio-net-device' : 'virtio-blk-sim';
}

/**
 * QEMU's arguments. What each is for, and what would go wrong without it, is in docs/machines.md.
 * `ram` is a file that holds the memory of a checkpoint; the machine maps it privately.
 */
export function machineArguments(options: MachineOptions, ram?: string): string[] {
  const { backend, machine, shift } = options;
  const memory =
    ram === undefined
      ? `memory-backend-ram,id=memory,size=${options.memoryMiB}M`
      : `memory-backend-file,id=memory,size=${options.memoryMiB}M,share=off,mem-path=${ram}`;
  const nics = options.nics.length;
  const argv = [
    ...backend.firmwareFolders.flatMap((folder) => ['-L', folder]),
    ...['-M', `${MACHINE[machine]},memory-backend=memory`, '-object', memory],
    ...['-accel', 'tcg,thread=single', '-cpu', 'qemu64,+rdrand,+rdseed'],
    ...['-smp', String(options.cpus), '-m', `${options.memoryMiB}M`],
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-monitor', 'none', '-no-shutdown'],
    ...['-icount', `shift=${shift},sleep=off`],
    ...['-rtc', `base=${options.rtcBase ?? RTC_BASE},clock=vm`],
    ...['-bios', options.firmware ?? 'qboot.rom', ...bootArguments(options)],
    ...(options.gdb === undefined ? [] : ['-gdb', `unix:${options.gdb},server=on,wait=off`]),
    // A machine that is suspended would wait for a host that wakes it.
    ...(machine === 'q35' ? ['-global', 'ICH9-LPC.disable_s3=1'] : []),
    // With ioeventfd a request would reach its device when the host's scheduler says so.
    ...['-global', 'virtio-mmio.ioeventfd=off'],
    ...(backend.plugin === undefined ? [] : ['-plugin', backend.plugin]),
    ...['-device', `sim-control,fd=${CHANNEL_FD},seed=${options.seed},nics=${nics}`],
    ...['-chardev', 'null,id=sim-console-0', '-serial', 'chardev:sim-console-0'],
    ...['-chardev', 'null,id=sim-console-1'],
    ...['-device', `isa-debugcon,iobase=${TEXT_PORT},chardev=sim-console-1`],
  ];
  // A card that announces itself after a restore would part the restored machine from the saved one.
  options.nics.forEach(({ mac }, port) => {
    const name = deviceName(machine, 'net');
    argv.push(
      '-device',
      `${name},netdev=sim${port},mac=${mac},guest_announce=off${busOptions(machine)}`,
    );
  });
  options.disks.forEach(({ sectors, readOnly }, index) => {
    // Our own device has no ioeventfd on any bus.
    const flags = `read-only=${readOnly === true ? 'on' : 'off'}`;
    argv.push(
      '-device',
      `${deviceName(machine, 'blk-sim')},index=${index},sectors=${sectors},${flags}`,
    );
  });
  return argv;
}

function bootArguments({ kernel, initrd, commandLine }: MachineOptions): string[] {
  if (kernel === undefined) return [];
  const rest = initrd === undefined ? [] : ['-initrd', initrd];
  return ['-kernel', kernel, '-append', commandLine, ...rest];
}

/** As for virtio-mmio above; and no program of the card's own, from which nobody boots. */
function busOptions(machine: MachineOptions['machine']): string {
  return machine === 'q35' ? ',ioeventfd=off,romfile=' : '';
}
