/**
 * Programs of a few instructions for machines without a kernel, each to watch faults inside them; as in
 * bare-programs.ts, but that they never end.
 */
import { INTERRUPTS } from './bare-programs.ts';

/** Where the word of each kind is that WATCHER looks at, and what it holds. */
export const WATCHED = {
  data: { address: 0x20_0000, value: 0x5a5a_5a5a },
  /** What an instruction of a function loads into EAX. */
  code: { address: 0x30_0010, value: 0x0102_0304 },
  /** What is read through a page; bit 55 of the table's first word makes it the page at 0xc00000. */
  page: { address: 0x10_0000, value: 0x1111_1111, other: 0x2222_2222, bit: 55 },
  /** RBX by its number. */
  register: { number: 3, value: 0x7777_7777 },
} as const;

/** Looks at all of WATCHED again and again, tells what is not as it was, and puts it right. */
export const WATCHER = `
main:   movl $0x5a5a5a5a, 0x200000
        movb $0xb8, 0x30000f            # movl $0x01020304, %eax; ret
        movl $0x01020304, 0x300010
        movb $0xc3, 0x300014
        movl $0x11111111, 0x400000
        movl $0x22222222, 0xc00000
        movl $0x83, %eax                # pages of 4 MiB, each at its own address
        xorl %esi, %esi
1:      movl %eax, 0x100000(,%esi,4)
        addl $0x400000, %eax
        incl %esi
        cmpl $1024, %esi
        jb 1b
        movl %cr4, %eax
        orl $0x10, %eax
        movl %eax, %cr4
        movl $0x100000, %eax
        movl %eax, %cr3
        movl %cr0, %eax
        orl $0x80000000, %eax
        movl %eax, %cr0
        movl $0x30000f, %esi
        movl $0x77777777, %ebx
2:      movl 0x200000, %eax
        cmpl $0x5a5a5a5a, %eax
        je 3f
        call tell
        movl $0x5a5a5a5a, 0x200000
3:      call *%esi
        cmpl $0x01020304, %eax
        je 4f
        call tell
        movl $0x01020304, 0x300010
4:      movl 0x400000, %eax
        cmpl $0x11111111, %eax
        je 5f
        call tell
        movl $0x400083, 0x100004
        invlpg 0x400000
5:      cmpl $0x77777777, %ebx
        je 2b
        movl %ebx, %eax
        call tell
        movl $0x77777777, %ebx
        jmp 2b
`;

/**
 * Tells of each machine check the high and the low half of its status, its address, and whether it came
 * as an exception (1) or was found by asking (0).
 */
export const CHECKED = `
main:   movl $check, %eax
        movl $18, %ebx
        call handle
        movl %cr4, %eax
        orl $0x40, %eax
        movl %eax, %cr4
1:      movl $0x401, %ecx
        rdmsr
        testl $0x80000000, %edx
        jz 1b
        xorl %ebx, %ebx
        call report
        jmp 1b
check:  movl $1, %ebx
        call report
        movl $0x17a, %ecx               # no machine check is in progress any more
        xorl %eax, %eax
        xorl %edx, %edx
        wrmsr
        iret
report: movl $0x401, %ecx
        rdmsr
        pushl %eax
        movl %edx, %eax
        call tell
        popl %eax
        call tell
        movl $0x402, %ecx
        rdmsr
        call tell
        movl %ebx, %eax
        call tell
        movl $0x401, %ecx
        xorl %eax, %eax
        xorl %edx, %edx
        wrmsr
        ret
${INTERRUPTS}`;

/** Does nothing, and has no handler for machine checks. */
export const UNCHECKED = `
main:   jmp main
`;

/** The line that PULSES listens to. */
export const PULSED_LINE = 5;

/** Sleeps, and tells the time of each interrupt on its line. */
export const PULSES = `
main:   movl $0x1ff, 0xfee000f0         # APIC on, and through it the old controllers' interrupts
        movl $0x700, 0xfee00350
        movl $pulse, %eax
        movl $0x25, %ebx
        call handle
        movb $0x11, %al                 # both of them: vectors from 0x20, line 5 alone
        outb %al, $0x20
        outb %al, $0xa0
        movb $0x20, %al
        outb %al, $0x21
        movb $0x28, %al
        outb %al, $0xa1
        movb $4, %al
        outb %al, $0x21
        movb $2, %al
        outb %al, $0xa1
        movb $1, %al
        outb %al, $0x21
        outb %al, $0xa1
        movb $0xdf, %al
        outb %al, $0x21
        movb $0xff, %al
        outb %al, $0xa1
1:      sti
        hlt
        jmp 1b
pulse:  pushl %eax
        pushl %edx
        rdtsc
        call tell
        movb $0x20, %al
        outb %al, $0x20
        popl %edx
        popl %eax
        iret
${INTERRUPTS}`;
