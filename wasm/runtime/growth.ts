import { SimError } from '../../sim/index.ts';
import { CONTROL } from '../instrument/layout.ts';
import { loadGlobals, saveGlobals, type PreparedProgram, type Tracked } from './prepared.ts';

const WASM_PAGE_BYTES = 65536;

/**
 * Gives a guest that is stopped in `linked` more memory, by `delta` pages of 64 KiB: in pooled instances
 * of the size that it will have, so that these stay small enough for a fresh guest, or else where it
 * is. Where it goes on makes no difference to what it or an image of it holds. Throws `backend/memory`.
 */
export function enlarge(program: PreparedProgram, linked: Tracked, delta: number): Tracked {
  const { pages, memory } = linked;
  pages.attach(memory.buffer);
  const bytesBefore = pages.byteCount;
  const fitting = program.acquireOfSize(bytesBefore + delta * WASM_PAGE_BYTES);
  if (fitting !== null) {
    move(program, linked, fitting);
    return fitting;
  }
  try {
    memory.grow(delta);
  } catch (error) {
    throw hostMemoryError(error);
  }
  pages.attach(memory.buffer);
  pages.markGrown(bytesBefore);
  return linked;
}

/** Copies a stopped guest: what it changed in memory, its frames, control words and globals. */
function move({ layout, controlBytes }: PreparedProgram, from: Tracked, to: Tracked): void {
  const { controlBase, shadowStackTop } = layout;
  saveGlobals(from);
  const source = new Uint8Array(from.memory.buffer);
  const target = new Uint8Array(to.memory.buffer);
  const words = new Int32Array(from.memory.buffer, controlBase, CONTROL.shadowSp + 1);
  const framesFrom = words[CONTROL.shadowSp] as number;
  target.set(source.subarray(controlBase, controlBase + controlBytes), controlBase);
  target.fill(0, Math.min(to.framesFrom, framesFrom), framesFrom);
  target.set(source.subarray(framesFrom, shadowStackTop), framesFrom);
  to.framesFrom = framesFrom;
  loadGlobals(to);
  to.pages.adopt(from.pages);
}

/** The host has no more memory, though the guest may have it. */
export function hostMemoryError(cause: unknown): SimError {
  return new SimError({
    code: 'backend/memory',
    message: 'the host could not give a guest memory below its limit',
    remedy: 'free memory on this machine, or lower memory_pages_max of the node',
    cause,
  });
}
