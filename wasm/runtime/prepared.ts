import { CONTROL, type Layout } from '../instrument/layout.ts';
import type { HostContext } from './host-context.ts';
import type { HostSet } from './host-set.ts';
import { link, type Linked, type PreparedModule } from './link.ts';
import { PristineMemory } from './pages.ts';
import type { GuestProgram, ProgramEntry } from './program.ts';

/** How many linked instances wait for the next guest: memories are scarce (13,086 a process). */
export const POOL_LENGTH_MAX = 64;

/** A program that is instrumented and compiled, with a pool of fresh linked instances. */
export class PreparedProgram {
  readonly layout: Layout;
  readonly entries: readonly ProgramEntry[];
  readonly modules: readonly PreparedModule[];
  /** The bytes of the control area that an image keeps: words, segment flags, globals. */
  readonly controlBytes: number;
  private readonly program: GuestProgram;
  private readonly pool: Linked[] = [];
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

  /** Memory as it is right after linking. */
  pristine(): PristineMemory {
    if (this.pristineMemory === null) this.pool.push(this.linkFirst());
    return this.pristineMemory as PristineMemory;
  }

  /** The control area as it is right after linking, globals saved. Not to be written. */
  pristineControl(): Uint8Array {
    this.pristine();
    return this.pristineArea;
  }

  /** Linked instances in the pristine state. */
  acquire(): Linked {
    this.pristine();
    return this.pool.pop() ?? link(this.modules);
  }

  /** Takes instances back. The caller has brought them to the pristine state, size included. */
  release(linked: Linked): void {
    linked.slot.machine = null;
    linked.slot.functions = [];
    if (this.pool.length < POOL_LENGTH_MAX) this.pool.push(linked);
  }

  private linkFirst(): Linked {
    const linked = link(this.modules);
    saveGlobals(linked);
    const { buffer } = linked.memory;
    this.pristineMemory = new PristineMemory(
      new Uint8Array(buffer, this.layout.guestBaseBytes).slice(),
    );
    const area = new Uint8Array(buffer, this.layout.controlBase, this.controlBytes).slice();
    new Int32Array(area.buffer)[CONTROL.fuel] = 0;
    this.pristineArea = area;
    return linked;
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
