import { CONTROL, type Layout } from '../instrument/layout.ts';
import type { HostContext } from './host-context.ts';
import type { HostSet } from './host-set.ts';
import { link, type Linked, type PreparedModule } from './link.ts';
import { PageTracker, PristineMemory, type Overlay } from './pages.ts';
import type { GuestProgram, ProgramEntry } from './program.ts';

/** How many linked instances wait for the next guest: memories are scarce (13,086 a process). */
export const POOL_LENGTH_MAX = 64;
/** How many bytes of memory those have together at most; one of any size may always wait. */
export const POOL_BYTES_MAX = 2 ** 30;

/** Linked instances with what is known of their memory's content. */
export interface Tracked extends Linked {
  readonly pages: PageTracker;
  /** The lowest byte of the shadow stack that may not be zero: what frames are saved over. */
  framesFrom: number;
}

/** A program that is instrumented and compiled, with a pool of fresh linked instances. */
export class PreparedProgram {
  readonly layout: Layout;
  readonly entries: readonly ProgramEntry[];
  readonly modules: readonly PreparedModule[];
  /** The bytes of the control area that an image keeps: words, segment flags, globals. */
  readonly controlBytes: number;
  private readonly program: GuestProgram;
  /** The last to come back is the last. */
  private pool: Tracked[] = [];
  private poolBytes = 0;
  private pristineMemory: PristineMemory | null = null;
  private pristineArea: Uint8Array = new Uint8Array(0);

  constructor(program: GuestProgram, modules: readonly PreparedModule[]) {
    this.program = program;
    this.modules = modules;
    const main = program.modules.findIndex((module) => module.sharedState === 'define');
    this.layout = (modules[main] as PreparedModule).layout;
    const starts = modules.flatMap(({ layout }, module): ProgramEntry[] => {
      return layout.start ? [{ module, exportName: 'athanor:start', kind: 'other' }] : [];
    });
    this.entries = [...starts, ...program.entries];
    const ends = modules.map(({ layout }) => layout.globalsBase + layout.globalsBytes);
    this.controlBytes = Math.max(...ends) - this.layout.controlBase;
  }

  get kind(): GuestProgram['kind'] {
    return this.program.kind;
  }

  makeHost(context: HostContext): HostSet {
    return this.program.makeHost(context);
  }

  /** The control area as it is right after linking, globals saved. Not to be written. */
  pristineControl(): Uint8Array {
    this.pristine();
    return this.pristineArea;
  }

  /**
   * Instances for a guest whose memory is to become `overlay`, of `byteCount` bytes. They hold what
   * an earlier guest left, best one that was forked from the same image, and no more memory than
   * wanted, best just as much, as what grows fits fewer guests afterwards: the caller restores memory,
   * control area and size.
   */
  acquire(overlay: Overlay, byteCount: number): Tracked {
    const pristine = this.pristine();
    const { pool } = this;
    let best = -1;
    let bestBytes = -1;
    for (let index = pool.length - 1; index >= 0; index--) {
      const { pages } = pool[index] as Tracked;
      if (pages.byteCount > byteCount) continue;
      if (pages.isNear(overlay)) return this.take(index);
      if (pages.byteCount <= bestBytes) continue;
      best = index;
      bestBytes = pages.byteCount;
    }
    return best < 0 ? this.track(link(this.modules), pristine) : this.take(best);
  }

  /** Instances with exactly so much memory, as an earlier guest left them; null if none wait. */
  acquireOfSize(byteCount: number): Tracked | null {
    const index = this.pool.findLastIndex(({ pages }) => pages.byteCount === byteCount);
    return index < 0 ? null : this.take(index);
  }

  private take(index: number): Tracked {
    const [taken] = this.pool.splice(index, 1) as [Tracked];
    this.poolBytes -= taken.pages.byteCount;
    return taken;
  }

  /** Takes instances back, as their guest left them. */
  release(instances: Tracked): void {
    instances.slot.machine = null;
    instances.slot.functions = [];
    instances.pages.attach(instances.memory.buffer);
    this.pool.push(instances);
    this.poolBytes += instances.pages.byteCount;
    while (this.pool.length > POOL_LENGTH_MAX || this.poolBytes > POOL_BYTES_MAX) {
      if (this.pool.length === 1) return;
      const [oldest] = this.pool.splice(0, 1) as [Tracked];
      this.poolBytes -= oldest.pages.byteCount;
    }
  }

  /** Memory as it is right after linking. */
  private pristine(): PristineMemory {
    if (this.pristineMemory !== null) return this.pristineMemory;
    const linked = link(this.modules);
    saveGlobals(linked);
    const { buffer } = linked.memory;
    const pristine = new PristineMemory(new Uint8Array(buffer, this.layout.guestBaseBytes).slice());
    const area = new Uint8Array(buffer, this.layout.controlBase, this.controlBytes).slice();
    new Int32Array(area.buffer)[CONTROL.fuel] = 0;
    this.pristineArea = area;
    this.pristineMemory = pristine;
    this.release(this.track(linked, pristine));
    return pristine;
  }

  private track(linked: Linked, pristine: PristineMemory): Tracked {
    const pages = new PageTracker(this.layout, pristine, linked.memory.buffer);
    return { ...linked, pages, framesFrom: this.layout.shadowStackTop };
  }
}

/** Writes every module's globals to the control area. */
export function saveGlobals(linked: Linked): void {
  for (const { exports } of linked.instances) call(exports['athanor:save']);
}

/** Reads every module's globals back from the control area. */
export function loadGlobals(linked: Linked): void {
  for (const { exports } of linked.instances) call(exports['athanor:load']);
}

function call(exported: unknown): void {
  if (typeof exported === 'function') (exported as () => void)();
}
