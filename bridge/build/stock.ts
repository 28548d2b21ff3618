import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SimError } from '../../sim/index.ts';
import type { SetupOptions } from './backend.ts';
import { withDraft } from './draft.ts';
import { firmwareWith } from './firmware.ts';
import { runProgram } from './program.ts';
import { PACKAGED_QEMU, inspectQemu, type QemuBinary } from './qemu-binary.ts';

/**
 * What a stock QEMU that counts instructions (`-icount`) keeps, nothing of ours inside: level L3 for
 * a machine on its own (FB-69). `proveStock` measures it.
 */
export const STOCK_KEEPS = [
  'the output of one machine without disk and network, byte for byte, whenever it is run again',
  'its clocks: they count instructions, not the time of the host',
] as const;

/** What it cannot keep, and why: each is refused by name. */
export const STOCK_REFUSES: Readonly<Record<string, string>> = {
  worlds: 'a machine cannot be stopped at an exact time, so nothing can reach it at one',
  disks: 'requests are completed when the host gets to it',
  network: 'frames come and go when the host gets to it',
  'two processors': 'a turn of a processor ends where QEMU is stopped',
  'faults, doorbell, markers': 'there is nobody inside who would decide or hear them',
  'save, resume, fork': 'what QEMU saves holds times of the host',
};

const RUNS = 3;
const TIMEOUT_MS = 60_000;
const ROUNDS = 2000;
const TEXT_BYTES = 2 * ROUNDS;
/** Where the firmware has an empty table of interrupts: six bytes of zero. */
const TABLE_OFFSET = 0x100;

/** Tells its time stamp counter 2000 times, at ever shorter distances, then ends by a triple fault. */
function firmware(): Buffer {
  const code = firmwareWith([
    ...[0xb9, ROUNDS & 0xff, ROUNDS >> 8], // mov cx, 2000
    ...[0x0f, 0x31], //               again: rdtsc
    ...[0xba, 0x02, 0x04], //                mov dx, 0x402
    ...[0xee, 0x88, 0xe0, 0xee], //          out dx, al; mov al, ah; out dx, al
    ...[0x89, 0xcb], //                      mov bx, cx
    ...[0x4b, 0x75, 0xfd], //         inner: dec bx; jnz inner
    ...[0xe2, 0xf0], //                      loop again
    ...[0x2e, 0x0f, 0x01, 0x1e, TABLE_OFFSET & 0xff, TABLE_OFFSET >> 8], // lidt cs:[table]
    0xcc, //                                 int3
  ]);
  code.fill(0, TABLE_OFFSET, TABLE_OFFSET + 6);
  return code;
}

/**
 * Looks at a stock QEMU and measures that it keeps what `STOCK_KEEPS` says. Errors: those of
 * `inspectQemu`; `backend/self-test` where what a machine says differs from run to run.
 */
export async function proveStock({ cacheFolder, qemu, say }: SetupOptions): Promise<QemuBinary> {
  const binary = await inspectQemu(qemu ?? PACKAGED_QEMU);
  say(`running a machine ${RUNS} times on QEMU as it is`);
  await withDraft(cacheFolder, async (folder) => {
    writeFileSync(join(folder, 'firmware'), firmware());
    const first = await textOf(binary, folder);
    if (first.length !== TEXT_BYTES) throw unproven(`it said ${first.length} bytes`);
    for (let run = 1; run < RUNS; run++) {
      if (!first.equals(await textOf(binary, folder))) throw unproven('its runs differ');
    }
  });
  return binary;
}

async function textOf({ path }: QemuBinary, folder: string): Promise<Buffer> {
  const flags =
    '-M microvm -accel tcg -cpu qemu64 -m 32 -nodefaults -no-user-config -display none ' +
    '-no-reboot -icount shift=0,sleep=off -rtc clock=vm -seed 1 -bios firmware ' +
    '-chardev file,id=text,path=text -device isa-debugcon,iobase=0x402,chardev=text';
  const remedy = 'install qemu-system-x86 again';
  await runProgram(path, flags.split(' '), { folder, remedy, timeoutMs: TIMEOUT_MS });
  return readFileSync(join(folder, 'text'));
}

function unproven(how: string): SimError {
  return new SimError({
    code: 'backend/self-test',
    message: `a machine on the stock QEMU does not repeat: ${how}`,
    remedy: 'use --backend plugin or --backend patched',
  });
}
