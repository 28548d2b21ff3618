import type { Layout } from './layout.ts';

/** Raised whenever the same module and options give other code; kept code is known by it. */
export const CODE_VERSION = 6;

/** What to add to a guest. Everything is off or on for the whole module. */
export interface InstrumentOptions {
  /** Make every NaN that arithmetic produces the canonical one. */
  readonly nan: boolean;
  /** Count executed instructions exactly. */
  readonly fuel: boolean;
  /** Trap at a weighted call depth that is the same on every engine. */
  readonly depth: boolean;
  /** 'blocking': at calls of suspending imports. 'anywhere': also at fuel checks (needs `fuel`). */
  readonly suspend: 'none' | 'blocking' | 'anywhere';
  /** Mark written 4 KiB pages in a byte map. */
  readonly dirtyPages: boolean;
  /** Pages of 64 KiB that the guest may grow to; its own maximum wins when smaller. */
  readonly memoryPagesMax: number;
  /**
   * With `suspend` 'anywhere': memory.grow asks the import `athanor.grow`, which may suspend the guest
   * to go on in an instance of another size (see layout.ts).
   */
  readonly asksToGrow?: boolean;
  /** 'import': an auxiliary core module of a component that shares the main module's memory. */
  readonly sharedState?: 'define' | 'import';
  /** With `sharedState`: 0 to 7, which slice of the saved globals and segment flags is used. */
  readonly stateSlot?: number;
}

/** Whether a call of this import may suspend the guest. */
export type Suspends = (module: string, name: string) => boolean;

export interface Instrumented {
  readonly binary: Uint8Array;
  readonly layout: Layout;
  /** Names of the language features that the module uses, sorted. */
  readonly features: readonly string[];
  readonly statistics: InstrumentStatistics;
}

export interface InstrumentStatistics {
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly functionCount: number;
  /** Functions that got a second copy because a call in them may suspend. */
  readonly suspendableCount: number;
  /** Places where a frame can be saved. */
  readonly siteCount: number;
  readonly frameBytesMax: number;
}
