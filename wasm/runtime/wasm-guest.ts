import {
  assert,
  encodeCanonical,
  RollingDigest,
  type Effect,
  type Guest,
  type GuestImage,
  type GuestPort,
  type Outcome,
} from '../../sim/index.ts';
import { CONTROL } from '../instrument/layout.ts';
import { Machine, type MachineState } from './machine.ts';
import { PRISTINE } from './pages.ts';
import { loadGlobals, saveGlobals, type PreparedProgram, type Tracked } from './prepared.ts';
import {
  captureReferences,
  keepsReferences,
  restoreReferences,
  type ReferenceImage,
} from './references.ts';

const IMAGE_KIND = 'wasm';
const IMAGE_VERSION = 1;
const WASM_PAGE_BYTES = 65536;
const NO_FRAMES = new Uint8Array(0);

/** What an image holds besides pages, as canonical plain data. */
export interface WasmGuestState {
  readonly machine: MachineState;
  /** The memory's size as the guest sees it, in 64 KiB pages. */
  readonly guestPages: number;
  /** The saved frames: the top of the shadow stack, up to its start. */
  readonly frames: Uint8Array;
  /** Control words, segment flags and globals. */
  readonly control: Uint8Array;
  readonly references: readonly ReferenceImage[];
  readonly host: unknown;
}

/** A guest of compiled WebAssembly: a preview 1 module or a preview 2 component. */
export class WasmGuest implements Guest {
  private readonly program: PreparedProgram;
  private readonly machine: Machine;
  private disposed = false;

  /** A guest as `image` has it, which is of this program; without one a fresh guest. */
  constructor(
    program: PreparedProgram,
    port: GuestPort,
    nsPerThousandInstructions: number,
    image: GuestImage | null = null,
  ) {
    this.program = program;
    const guestPages =
      image === null
        ? program.layout.memory.guestPagesMin
        : (image.state as WasmGuestState).guestPages;
    const linked = program.acquire(image?.pages ?? PRISTINE, guestPages * WASM_PAGE_BYTES);
    this.machine = new Machine(program, linked, port, nsPerThousandInstructions);
    if (image === null) {
      this.machine.pages.restore(PRISTINE);
      this.restoreControl(program.pristineControl(), NO_FRAMES);
    } else {
      this.restore(image);
    }
  }

  private get linked(): Tracked {
    return this.machine.linked;
  }

  /** Instructions executed since the start. */
  get instructions(): number {
    return this.machine.executed();
  }

  resume(outcome: Outcome): Effect {
    assert(!this.disposed, 'a guest is not used after its end');
    return this.machine.resume(outcome);
  }

  capture(): GuestImage {
    const pages = this.machine.pages.capture();
    return { kind: IMAGE_KIND, version: IMAGE_VERSION, pages, state: this.captureState() };
  }

  restore(image: GuestImage): void {
    assert(image.kind === IMAGE_KIND && image.version === IMAGE_VERSION, 'an image of this kind');
    const state = image.state as WasmGuestState;
    this.fitMemory(state.guestPages, image.pages);
    this.machine.pages.restore(image.pages);
    this.restoreControl(state.control, state.frames);
    restoreReferences(this.program.modules, this.linked, state.references);
    this.machine.restoreState(state.machine);
    this.machine.host.restore(state.host);
  }

  digest(): string {
    const digest = new RollingDigest();
    this.machine.pages.digest(digest);
    digest.update(encodeCanonical(this.captureState()));
    return digest.hex();
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.giveBack();
  }

  private captureState(): WasmGuestState {
    const { layout, controlBytes } = this.program;
    saveGlobals(this.linked);
    const { buffer } = this.linked.memory;
    const control = new Uint8Array(buffer, layout.controlBase, controlBytes).slice();
    const words = new Int32Array(control.buffer, 0, 4);
    // The fuel word only says how much was granted; the clock's state counts what was executed.
    words[CONTROL.fuel] = 0;
    // A guest that was killed keeps the word that killed it; between slices it means nothing.
    words[CONTROL.state] = 0;
    const shadowSp = words[CONTROL.shadowSp] as number;
    return {
      machine: this.machine.captureState(),
      guestPages: this.guestPages(),
      frames: new Uint8Array(buffer, shadowSp, layout.shadowStackTop - shadowSp).slice(),
      control,
      references: captureReferences(this.program.modules, this.linked, shadowSp),
      host: this.machine.host.capture(),
    };
  }

  private restoreControl(control: Uint8Array, frames: Uint8Array): void {
    const { layout } = this.program;
    const { buffer } = this.linked.memory;
    new Uint8Array(buffer, layout.controlBase).set(control);
    const framesFrom = layout.shadowStackTop - frames.length;
    new Uint8Array(buffer).set(frames, framesFrom);
    this.linked.framesFrom = Math.min(this.linked.framesFrom, framesFrom);
    loadGlobals(this.linked);
  }

  private guestPages(): number {
    const { byteLength } = this.linked.memory.buffer;
    return (byteLength - this.program.layout.guestBaseBytes) / WASM_PAGE_BYTES;
  }

  /** Memory grows but never shrinks: an image with less memory moves to other instances. */
  private fitMemory(guestPages: number, overlay: GuestImage['pages']): void {
    if (this.guestPages() > guestPages) {
      this.giveBack();
      this.machine.attach(this.program.acquire(overlay, guestPages * WASM_PAGE_BYTES));
    }
    const missing = guestPages - this.guestPages();
    assert(missing >= 0, 'an image has at least the memory of a fresh guest');
    if (missing === 0) return;
    const bytesBefore = this.machine.pages.byteCount;
    this.linked.memory.grow(missing);
    this.machine.refresh();
    this.machine.pages.markGrown(bytesBefore);
  }

  /** Instances go back to the pool as they are; those with references of a guest are dropped. */
  private giveBack(): void {
    const { program } = this;
    if (program.modules.some(({ layout }) => keepsReferences(layout))) return;
    program.release(this.linked);
  }
}
