import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { firmwareWith } from '../../bridge/build/firmware.ts';
import { Machine, type MachineBackend, type MachineOptions } from '../../bridge/index.ts';
import type { MachineEvent } from '../../bridge/index.ts';
import { startStockQemu } from './stock-qemu.ts';

/** Where the firmware stands: the last 64 KiB below 4 GiB. */
const FIRMWARE_AT = '0xffff0000';
const TEXT_PORT = 1;
const WORD_BYTES = 4;

/** From the first instruction to protected mode, where `main` is called; then a triple fault. */
const AROUND = `
        .code16
        .globl start
start:  cli
        lgdtl %cs:pointer - start
        movl %cr0, %eax
        orl $1, %eax
        movl %eax, %cr0
        ljmpl $8, $protected
        .code32
protected:
        movw $16, %ax
        movw %ax, %ds
        movw %ax, %es
        movw %ax, %ss
        movl $0x8000, %esp
        call main
        lidt nothing
        int3
tell:   pushl %edx
        pushl %ecx
        movw $0x402, %dx
        movl $4, %ecx
1:      outb %al, %dx
        shrl $8, %eax
        loop 1b
        popl %ecx
        popl %edx
        ret
nothing:
        .word 0
        .long 0
pointer:
        .word 23
        .long table
        .align 8
table:  .quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff
`;

/** How a run is disturbed: it is halted there, for so long, or split into steps. */
export interface Disturbance {
  readonly atNs?: number;
  readonly forMs?: number;
  readonly stepNs?: number;
}

/** A folder with firmware of test programs, and the machines that run them. */
export class BareMachines {
  readonly folder = mkdtempSync(join(tmpdir(), 'athanor-bare-'));

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The path of a firmware that runs the program (see bare-programs.ts). */
  firmware(program: string): string {
    const at = (name: string): string => join(this.folder, name);
    writeFileSync(at('program.s'), `${AROUND}${program}`);
    execFileSync('as', ['--32', '-o', at('program.o'), at('program.s')]);
    const link = ['-m', 'elf_i386', '-e', 'start', '-Ttext', FIRMWARE_AT, '--oformat', 'binary'];
    execFileSync('ld', [...link, '-o', at('program'), at('program.o')]);
    writeFileSync(at('firmware'), firmwareWith([...readFileSync(at('program'))]));
    return at('firmware');
  }

  options(
    backend: MachineBackend,
    program: string,
    changes: Partial<MachineOptions> = {},
  ): MachineOptions {
    return {
      ...{ backend, firmware: this.firmware(program), machine: 'q35', cpus: 1, memoryMiB: 32 },
      ...{ commandLine: '', nics: [], disks: [], shift: 0, seed: 42, ...changes },
    };
  }

  /** What the program tells until it starts over, or until `limitNs`. */
  async run(
    options: MachineOptions,
    limitNs: number,
    disturbance: Disturbance = {},
  ): Promise<readonly number[]> {
    const machine = await Machine.start(options);
    try {
      return wordsOf(await eventsOf(machine, limitNs, disturbance));
    } finally {
      await machine.close();
    }
  }

  /** What the program tells on a QEMU without a controller, until it starts over. */
  async runAlone(
    binary: string,
    program: string,
    more: readonly string[],
  ): Promise<readonly number[]> {
    const firmware = this.firmware(program);
    const flags = '-accel tcg,thread=single -cpu qemu64,+rdrand,+rdseed -m 32M -no-reboot';
    const text = '-chardev file,id=text,path=text -device isa-debugcon,iobase=0x402,chardev=text';
    const machine = '-M q35,usb=off,sata=off,smbus=off,graphics=off,vmport=off';
    const words = [`${machine} ${flags} ${text}`.split(' '), ['-bios', firmware], more].flat();
    const qemu = await startStockQemu(words, () => undefined, binary);
    try {
      await qemu.ended;
      return asWords(readFileSync(join(qemu.folder, 'text')));
    } finally {
      await qemu.dispose();
    }
  }
}

/** All that happens until the machine starts over, or until `limitNs`. */
export async function eventsOf(
  machine: Machine,
  limitNs: number,
  { atNs, forMs = 0, stepNs = limitNs }: Disturbance = {},
): Promise<readonly MachineEvent[]> {
  const events: MachineEvent[] = [];
  let rests = atNs !== undefined;
  while (machine.nowNs < limitNs) {
    const next = Math.min(machine.nowNs + stepNs, limitNs);
    const stop = await machine.run(rests ? Math.min(next, atNs ?? next) : next, ['reset']);
    events.push(...stop.events);
    if (stop.reason === 'off' || stop.reason === 'event') break;
    if (!rests || stop.atNs < (atNs ?? 0)) continue;
    rests = false;
    await sleep(forMs);
  }
  return events;
}

/** The words that a program told. */
export function wordsOf(events: readonly MachineEvent[]): readonly number[] {
  const told = events.filter((event) => event.kind === 'console' && event.port === TEXT_PORT);
  return asWords(
    Buffer.concat(told.map((event) => (event.kind === 'console' ? event.bytes : [])) as Buffer[]),
  );
}

function asWords(bytes: Buffer): readonly number[] {
  const count = Math.floor(bytes.length / WORD_BYTES);
  return Array.from({ length: count }, (_, index) => bytes.readUInt32LE(index * WORD_BYTES));
}
