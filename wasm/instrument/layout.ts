import type { ValueType } from '../binary/types.ts';

/**
 * What the runtime must know about an instrumented module.
 *
 * **Memory.** Our data live in the *low* `reserveBytes` of physical memory; the guest's address 0 is
 * physical address `guestBaseBytes` (= `reserveBytes`). Every static offset in the code was raised by
 * that much, so physical memory grows and traps exactly where the plain module would; the guest sees
 * its own `memory.size`. The host reads and writes guest memory through
 * `new Uint8Array(memory.buffer, layout.guestBaseBytes)`, renewed when the buffer was detached by
 * growth, and never otherwise. Memory cannot shrink: an image with fewer pages than a pooled instance
 * has now needs another instance.
 *
 * **Control words** are i32 at `controlBase + 4 * index` (see `CONTROL`), so the host reads the fuel
 * with one typed-array access and a snapshot is bytes only.
 *
 * **Suspend.** A suspending import that wants to block sets `CONTROL.state` = 1 and returns any value
 * of its result type. All frames save themselves in the shadow stack (it grows down from
 * `shadowStackTop` to 0; its top is `CONTROL.shadowSp`) and return arbitrary values. **Resume:** set
 * the state to 2 and call the same export with arbitrary arguments; the frames restore themselves
 * and the import is called again with arbitrary arguments: it must set the state to 0 and return the
 * real result. A shadow stack overflow shows as a trap while the state is 1.
 *
 * **Preempt.** Checks stand at function entries and at the heads of loops; a jump that is only
 * written as a turn of a dispatch loop and leads on is none (see shorten-jumps.ts). When
 * `CONTROL.fuel` is below zero at a check, the import `athanor.preempt()` is called:
 * the host adds fuel and returns with state 0, or (only when `suspend` is 'anywhere') sets state 1.
 * It is called again on resume. The fuel word counts down; executed = granted - fuel. It is exact at
 * each call of an import and whenever the guest has returned. After a trap it is the count at the
 * last call, return or check (function entry, loop head) before the trap, plus the rest of that
 * block: the same for every quantum of fuel, and not before any earlier preemption.
 *
 * **Growth.** With `asksToGrow`, memory.grow calls the import `athanor.grow(delta)`, which returns
 * `GROWS_IN_PLACE`, or sets state 1 and returns anything. Then the host enlarges this memory or moves
 * the guest to a larger one, sets the state to 2 and calls the same export again; the import is called
 * again with any argument, sets the state to 0 and returns the size before, in the guest's pages. The
 * fuel word keeps the count of the last check or call meanwhile: nobody may charge or grant.
 *
 * **Traps of ours.** `athanor.trap(code)` (see `TRAP`) must record the code and return; an
 * `unreachable` follows, which no handler of the guest can catch. To kill a guest, set the state to 3
 * and throw from any import: `catch_all` handlers of the guest then trap.
 *
 * **Start.** A start section becomes the export `athanor:start`, also used for initialisers that the
 * engine cannot evaluate itself. Call it right after instantiation if `start` is true.
 *
 * **Globals.** `athanor:save()` writes every mutable global of the module to
 * `globalsBase .. globalsBase + globalsBytes`, `athanor:load()` reads them back; so an image of a
 * suspended guest is `[0, guestBaseBytes)` where not zero, plus guest pages. They may be missing when
 * the module has none (`globalsBytes` is 0). Reference-typed globals are not covered; see
 * `referenceGlobals`.
 *
 * **Dirty pages.** `dirtyMapBase + p` is a byte that becomes 1 when guest page p (4 KiB) is written.
 * A write that starts in page p may reach the first `dirtySpillBytes` bytes of page p + 1 without
 * marking it: compare those too. Clear the map only when no frame of the guest is live (suspended or
 * returned). Host writes must be marked by the host. A byte of 2 says that the page is zero and was
 * never written: growth sets it, the host may; clearing long ranges then leaves the page alone. The
 * host takes it back from pages that it fills, or finds reached by a store in the page before.
 */
export interface Layout {
  /** Low bytes of physical memory that are ours; the guest's address 0. A multiple of 64 KiB. */
  readonly reserveBytes: number;
  readonly guestBaseBytes: number;
  readonly memory: MemoryLayout;
  readonly controlBase: number;
  readonly shadowStackTop: number;
  readonly globalsBase: number;
  readonly globalsBytes: number;
  readonly dirtyMapBase: number;
  /** One byte for each 4 KiB guest page of a 4 GiB space; scan the first `guest bytes / 4096`. */
  readonly dirtyMapBytes: number;
  readonly dirtySpillBytes: number;
  /** Value of `CONTROL.depth` at rest: stack bytes that calls may use; the runtime may change it. */
  readonly depthBudgetBytes: number;
  /** True when `athanor:start` exists and must be called. */
  readonly start: boolean;
  /** Every mutable global that the module defines. */
  readonly globals: readonly GlobalLayout[];
  readonly tables: readonly TableLayout[];
  /**
   * Export names of the tables that hold the references in saved frames, or null when no frame can
   * hold any. A reference at an address stands at entry (shadowStackTop - address) / 8; an image of a
   * suspended guest must include entries up to (shadowStackTop - shadowSp) / 8.
   */
  readonly savedReferences: { readonly functions: string; readonly externs: string } | null;
  /**
   * Exports `athanor:function:<index>` of every function that a table or a reference may hold; filled
   * only when some table or reference global mutates. Key: index in the plain module.
   */
  readonly functionExports: ReadonlyMap<number, string>;
}

export interface MemoryLayout {
  /** Export name, or null when the memory is imported and not exported. */
  readonly exportName: string;
  readonly imported: { readonly module: string; readonly name: string } | null;
  /** Pages of 64 KiB that the guest sees. */
  readonly guestPagesMin: number;
  readonly guestPagesMax: number;
  /** The same plus the reserve: what the module's memory type says now. */
  readonly physicalPagesMin: number;
  readonly physicalPagesMax: number;
}

export interface GlobalLayout {
  readonly index: number;
  readonly type: ValueType;
  /** Export `athanor:global:<index>`. */
  readonly exportName: string;
  /** Byte offset from `globalsBase`, or -1 for a reference. */
  readonly offset: number;
}

export interface TableLayout {
  readonly index: number;
  /** Export `athanor:table:<index>`. */
  readonly exportName: string;
  readonly type: ValueType;
  /** True when the code may change it after instantiation (or it is shared with the outside). */
  readonly mutates: boolean;
}

/** Indexes of the i32 control words at `controlBase`. */
export const CONTROL = {
  /** 0 running, 1 unwinding, 2 rewinding, 3 being killed. */
  state: 0,
  /** Physical address of the top frame; equals `shadowStackTop` when no frame is saved. */
  shadowSp: 1,
  /** Instructions left; signed. */
  fuel: 2,
  /** Bytes of call depth left. */
  depth: 3,
  /** The fuel counter of the frame that asked to grow; 0 but while it waits. */
  growthFuel: 4,
} as const;

/** What `athanor.grow` answers where memory is to grow as it is. */
export const GROWS_IN_PLACE = -2;

/**
 * What a function returns as its fuel while frames save themselves, so that one comparison after a
 * call both takes the counter and sees the suspension. Memory never holds it.
 */
export const UNWINDING_FUEL = -0x80000000;
/** Any real counter is above: a block costs less than 2^30. */
export const FUEL_MIN = -0x40000000;

/** Arguments of `athanor.trap`. */
export const TRAP = {
  /** The weighted call depth is used up. */
  depth: 1,
  /** The host could not grow memory below the cap: not a guest's failure. */
  hostMemory: 2,
} as const;

/** Arithmetic of the reserve: stack (grows down to 0), control page, map of 2^32 / 4096 bytes. */
export const SHADOW_STACK_TOP = 0xf0000;
export const CONTROL_BASE = 0xf0000;
export const CONTROL_BYTES = 0x10000;
export const DIRTY_MAP_BASE = 0x100000;
export const DIRTY_MAP_BYTES = 0x100000;
export const RESERVE_BYTES = 0x200000;
export const RESERVE_PAGES = RESERVE_BYTES / 65536;
/** Flags of dropped segments: one byte each, in the control area. */
export const SEGMENT_FLAGS_BASE = CONTROL_BASE + 0x100;
export const SEGMENT_FLAGS_BYTES = 0x3f00;
export const GLOBALS_BASE = CONTROL_BASE + 0x4000;
export const GLOBALS_BYTES = CONTROL_BYTES - 0x4000;
/** Modules of a component that can share one reserve. */
export const STATE_SLOTS = 8;
/**
 * Call depth by default. V8 gives about 984 KiB of stack; half of it is for the guest, the rest for
 * the host's calls, deeper frames of the first compiler tier, and slow copies.
 */
export const DEPTH_BUDGET_BYTES = 512 * 1024;
export const DIRTY_SPILL_BYTES = 256;
export const PAGE_SHIFT = 12;
/** A page of the dirty map. */
export const PAGE_BYTES = 1 << PAGE_SHIFT;

/** Bytes of the dirty map. */
export const PAGE_MARK = {
  /** Not written since the map was last looked at. */
  clean: 0,
  /** Written. */
  changed: 1,
  /** Zero, and never written: a promise of the host (and of growth) on which clearing relies. */
  untouched: 2,
} as const;
