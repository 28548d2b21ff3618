/**
 * Programs of a few instructions for machines without a kernel, each to watch one source of
 * entropy: GNU assembler, 32-bit protected mode, flat memory. A program is `main` and what it
 * calls; `call tell` writes the four bytes of EAX to the text port and keeps all registers but EAX.
 * It ends by returning from `main`, and then starts over.
 */

/** What RDRAND and RDSEED give. */
export const RANDOM = `
main:   movl $40, %ecx
1:      rdrand %eax
        call tell
        rdseed %eax
        call tell
        loop 1b
        ret
`;

/** The bridge to the south has ACPI's ports at 0x600. */
const ACPI = `
acpi:   movw $0xcf8, %dx
        movl $0x8000f840, %eax
        outl %eax, %dx
        movw $0xcfc, %dx
        movl $0x601, %eax
        outl %eax, %dx
        movw $0xcf8, %dx
        movl $0x8000f844, %eax
        outl %eax, %dx
        movw $0xcfc, %dx
        movb $0x80, %al
        outb %al, %dx
        ret
`;

/** The clocks of a q35, each of these many times. */
export const CLOCKS = ['TSC', 'ACPI timer', 'HPET', 'APIC timer', 'PIT'] as const;
/** Tells all of CLOCKS in turn, 60 times. */
export const CLOCK_READER = `
main:   call acpi
        movl $1, 0xfed00010         # HPET counts
        movl $0x1ff, 0xfee000f0     # APIC on, its timer masked and counting down
        movl $0xb, 0xfee003e0
        movl $0x10000, 0xfee00320
        movl $0xffffffff, 0xfee00380
        movb $0x34, %al             # PIT counts down from 65535
        outb %al, $0x43
        movb $0xff, %al
        outb %al, $0x40
        outb %al, $0x40
        movl $60, %ecx
1:      rdtsc
        call tell
        movw $0x608, %dx
        inl %dx, %eax
        call tell
        movl 0xfed000f0, %eax
        call tell
        movl 0xfee00390, %eax
        call tell
        xorl %eax, %eax
        outb %al, $0x43
        inb $0x40, %al
        movb %al, %bl
        inb $0x40, %al
        movb %al, %ah
        movb %bl, %al
        call tell
        movl $3000, %eax
2:      decl %eax
        jnz 2b
        loop 1b
        ret
${ACPI}`;

/** Descriptors of interrupts in memory at 0x1000; EAX is a handler, EBX its vector. */
export const INTERRUPTS = `
handle: movw %ax, 0x1000(,%ebx,8)
        movw $8, 0x1002(,%ebx,8)
        movw $0x8e00, 0x1004(,%ebx,8)
        shrl $16, %eax
        movw %ax, 0x1006(,%ebx,8)
        lidt interrupts
        ret
interrupts:
        .word 0x7ff
        .long 0x1000
`;

/** The timer's interrupt a thousand times a second, in vector 0x20. */
const TIMER = `
timer:  movl $0x1ff, 0xfee000f0     # APIC on, and through it the old controllers' interrupts
        movl $0x700, 0xfee00350
        movl $tick, %eax
        movl $0x20, %ebx
        call handle
        movb $0x11, %al             # both interrupt controllers: vectors from 0x20, the timer alone
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
        movb $0xfe, %al
        outb %al, $0x21
        movb $0xff, %al
        outb %al, $0xa1
        movb $0x34, %al
        outb %al, $0x43
        movw $1193, %ax
        outb %al, $0x40
        movb %ah, %al
        outb %al, $0x40
        ret
`;

/** Counts; each of 12 interrupts of the timer tells how far. */
export const TICKS = `
main:   call timer
        xorl %esi, %esi
        xorl %edi, %edi
        sti
1:      incl %esi
        cmpl $12, %edi
        jb 1b
        cli
        ret
tick:   pushl %eax
        movl %esi, %eax
        call tell
        incl %edi
        movb $0x20, %al
        outb %al, $0x20
        popl %eax
        iret
${TIMER}${INTERRUPTS}`;

/** Sleeps until each of 12 interrupts of the timer, and tells the time. */
export const SLEEPER = `
main:   call timer
        xorl %edi, %edi
1:      sti
        hlt
        cmpl $12, %edi
        jb 1b
        cli
        ret
tick:   pushl %eax
        pushl %edx
        rdtsc
        call tell
        incl %edi
        movb $0x20, %al
        outb %al, $0x20
        popl %edx
        popl %eax
        iret
${TIMER}${INTERRUPTS}`;

/** Tells how often a loop of 25 instructions went round in each of so many windows of the TSC. */
export const rounds = (windows: number, windowNs: number): string => `
main:   movl $${windows}, %edi
        rdtsc
        movl %eax, %ebp
1:      xorl %esi, %esi
2:      movl $19, %ecx
3:      loop 3b
        incl %esi
        rdtsc
        subl %ebp, %eax
        cmpl $${windowNs}, %eax
        jb 2b
        addl $${windowNs}, %ebp
        movl %esi, %eax
        call tell
        decl %edi
        jnz 1b
        ret
`;

/** Starts the second processor at `second_main`, and waits until it is there. */
const startSecond = (pause: 'pause' | 'nop'): string => `
        movl $0, 0xa000
        movl $0, 0xa004
        movl $second, %esi
        movl $0x7000, %edi
        movl $second_end - second, %ecx
        rep movsb
        movl $0x1ff, 0xfee000f0
        movl $0xc4500, 0xfee00300   # INIT to all but this one
        movl $20000, %ecx
1:      loop 1b
        movl $0xc4607, 0xfee00300   # start at 0x7000
2:      ${pause}
        cmpl $0, 0xa004
        je 2b
`;

/** What it executes there, down to `second_main`. */
const SECOND = `
        .code16
second: cli
        lgdtl %cs:second_table - second
        movl %cr0, %eax
        orl $1, %eax
        movl %eax, %cr0
        ljmpl $8, $second_main
second_table:
        .word 23
        .long table
second_end:
        .code32
second_main:
        movw $16, %ax
        movw %ax, %ds
        movw %ax, %es
        movw %ax, %ss
        movl $0x9000, %esp
`;

/** Where the two processors of COUNTERS count their rounds, a word each. */
export const COUNTERS_AT = 0xa008;
/** Two processors count, each for itself, and the timer interrupts the first one. */
export const COUNTERS = `
main:   call timer
        movl $0, 0xa008
        movl $0, 0xa00c
${startSecond('nop')}
        sti
1:      incl 0xa008
        jmp 1b
${SECOND}
        movl $1, 0xa004
1:      incl 0xa00c
        jmp 1b
tick:   pushl %eax
        rdtsc
        call tell
        movb $0x20, %al
        outb %al, $0x20
        popl %eax
        iret
${TIMER}${INTERRUPTS}`;

/**
 * Two processors enter what they do into one list, in memory from 0x10000: rounds with their time
 * stamps (bit 31: the second one's) and the second one's interrupts from the first (bit 30). The
 * first one tells the list. \`pause\` is the instruction between two looks at a round's end.
 */
export const processors = (pause: 'pause' | 'nop'): string => `
main:   movl $interprocessor, %eax
        movl $0x30, %ebx
        call handle
${startSecond(pause)}
        movl $400, %edi
3:      xorl %ebx, %ebx
        call round
        testl $31, %edi
        jnz 4f
        movl $0xc4030, 0xfee00300   # vector 0x30 to all but this one
4:      decl %edi
        jnz 3b
        movl 0xa000, %edi
        xorl %esi, %esi
5:      movl 0x10000(,%esi,4), %eax
        call tell
        incl %esi
        cmpl %edi, %esi
        jb 5b
        ret
round:  movl $700, %ecx
1:      ${pause}
        loop 1b
enter:  rdtsc
        andl $0x3fffffff, %eax
        orl %ebx, %eax
        movl $1, %ecx
        lock xaddl %ecx, 0xa000
        cmpl $8000, %ecx
        ja 2f
        movl %eax, 0x10000(,%ecx,4)
2:      ret
interprocessor:
        pushl %eax
        pushl %ebx
        pushl %ecx
        pushl %edx
        movl $0x40000000, %ebx
        call enter
        movl $0, 0xfee000b0
        popl %edx
        popl %ecx
        popl %ebx
        popl %eax
        iret
${SECOND}
        lidt interrupts
        movl $0x1ff, 0xfee000f0
        movl $1, 0xa004
        sti
1:      movl $0x80000000, %ebx
        call round
        jmp 1b
${INTERRUPTS}`;

/** What the processor's units for floating numbers make of these arguments. */
export const mathematics = (values: readonly bigint[]): string => `
main:   fninit
        movl $values, %esi
1:      fldl (%esi)
        fsin
        call result
        fldl (%esi)
        fcos
        call result
        fldl (%esi)
        fptan
        fstp %st(0)
        call result
        fldl (%esi)
        fabs
        fsqrt
        call result
        addl $8, %esi
        cmpl $values_end, %esi
        jb 1b
        ret
result: fstpl 0xa000
        movl 0xa000, %eax
        call tell
        movl 0xa004, %eax
        call tell
        ret
        .align 8
values: .quad ${values.join(', ')}
values_end:
`;

/** Adds up a word of each page of memory from 1 to 30 MiB. */
export const MEMORY = `
main:   xorl %eax, %eax
        movl $0x100000, %esi
1:      addl (%esi), %eax
        addl $4096, %esi
        cmpl $0x1e00000, %esi
        jb 1b
        call tell
        ret
`;

/** Switches a q35 off, and tells what it does after that. */
export const SWITCH_OFF = `
main:   call acpi
        movw $0x604, %dx
        movw $0x2000, %ax
        outw %ax, %dx
        movl $2000, %ecx
1:      movl %ecx, %eax
        call tell
        loop 1b
        ret
${ACPI}`;

/** Tells what the doorbell answers. */
export const CALLER = `
main:   movw $0x5e0, %dx
        inl %dx, %eax
        call tell
        ret
`;

/** Tells each byte of the serial line, and when it came. */
export const LISTENER = `
main:   movl $3, %ecx
1:      movw $0x3fd, %dx
        inb %dx, %al
        testb $1, %al
        jz 1b
        movw $0x3f8, %dx
        xorl %eax, %eax
        inb %dx, %al
        call tell
        rdtsc
        call tell
        loop 1b
        ret
`;

/**
 * Fills the software TLB until it is large, has it flushed three times with a long computation
 * between, and tells of how many of 300 pages it had forgotten the translation: of so many the
 * accessed bit is set again after it was cleared without a flush.
 */
export const TRANSLATIONS = `
main:   movl $0x20000, %edi         # a directory and three tables, all pages where they are
        movl $0x4000, %ecx
        xorl %eax, %eax
        rep stosb
        xorl %ecx, %ecx
        movl $3, %eax
1:      movl %eax, 0x21000(,%ecx,4)
        leal 0x400000(%eax), %edx
        movl %edx, 0x23000(,%ecx,4)
        leal 0xffc00000(%eax), %edx
        movl %edx, 0x22000(,%ecx,4)
        addl $4096, %eax
        incl %ecx
        cmpl $1024, %ecx
        jb 1b
        movl $0x21003, 0x20000
        movl $0x23003, 0x20004
        movl $0x22003, 0x20ffc
        movl $0x20000, %eax
        movl %eax, %cr3
        movl %cr0, %eax
        orl $0x80000000, %eax
        movl %eax, %cr0
        movl $4, %edi
2:      movl $900, %ecx
        call touch
        call flush
        decl %edi
        jnz 2b
        movl $3, %edi
3:      movl $100000000, %ecx
4:      decl %ecx
        jnz 4b
        call flush
        decl %edi
        jnz 3b
        movl $300, %ecx
        call touch
        movl $300, %ecx
5:      andl $~0x20, 0x22ffc(,%ecx,4)
        loop 5b
        movl $300, %ecx
        call touch
        xorl %eax, %eax
        movl $300, %ecx
6:      testl $0x20, 0x22ffc(,%ecx,4)
        jz 7f
        incl %eax
7:      loop 6b
        movl $0x4000, %ecx
        call tell
        ret
touch:  leal -1(%ecx), %eax
        shll $12, %eax
        movl 0x400000(%eax), %edx
        loop touch
        ret
flush:  movl %cr3, %eax
        movl %eax, %cr3
        ret
`;
