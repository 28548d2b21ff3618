import { sha256, SimError, type GuestImage, type GuestPort } from '../../sim/index.ts';
import { isComponent } from '../component/program.ts';
import { componentProgram } from '../component/guest-program.ts';
import { preview1Program } from '../preview1/program.ts';
import { CodeStore, type Code, type CodeCache } from './code-store.ts';
import { prepareProgram } from './prepare.ts';
import type { PreparedProgram } from './prepared.ts';
import { WasmGuest } from './wasm-guest.ts';

/**
 * Loads guest images and makes guests of them. An image is parsed, instrumented and compiled once;
 * prepared programs are kept by content, so one engine should serve all runs of a process.
 */
export class WasmEngine {
  private readonly programs = new Map<string, PreparedProgram>();
  private readonly store: CodeStore;

  /** `shared` is the code of another thread's engine. */
  constructor(options: { readonly cache?: CodeCache; readonly shared?: readonly Code[] } = {}) {
    this.store = new CodeStore(options.cache ?? null, options.shared ?? []);
  }

  /** The compiled code so far; structured cloning hands it to another thread. */
  shareable(): readonly Code[] {
    return this.store.shareable();
  }

  /**
   * The program of an image, whose SHA-256 is `digest`. Throws SimError `guest/…` with the offset
   * for what is not acceptable.
   */
  load(digest: string, image: Uint8Array, memoryPagesMax: number): PreparedProgram {
    const key = `${digest}/${memoryPagesMax}`;
    let program = this.programs.get(key);
    if (program === undefined) {
      if (sha256(image) !== digest) {
        throw new SimError({
          code: 'guest/digest',
          message: `a guest image has another digest than the scenario names: expected ${digest}, found ${sha256(image)}`,
          remedy: 'give the image that the scenario was made with',
        });
      }
      program = prepareProgram(
        isComponent(image) ? componentProgram(image) : preview1Program(image),
        memoryPagesMax,
        this.store,
      );
      this.programs.set(key, program);
    }
    return program;
  }

  /** A fresh guest on a node's port. */
  spawn(program: PreparedProgram, port: GuestPort, nsPerThousandInstructions: number): WasmGuest {
    return new WasmGuest(program, port, nsPerThousandInstructions);
  }

  /**
   * A guest that goes on from an image of the same program: what `restore` makes of a fresh guest.
   * It takes over the instances of an earlier fork of the image where one has ended, and then
   * copies only the pages that it wrote.
   */
  fork(
    program: PreparedProgram,
    image: GuestImage,
    port: GuestPort,
    nsPerThousandInstructions: number,
  ): WasmGuest {
    return new WasmGuest(program, port, nsPerThousandInstructions, image);
  }
}
