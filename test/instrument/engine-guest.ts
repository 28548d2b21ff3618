import { createHash } from 'node:crypto';
import { CONTROL, GROWS_IN_PLACE } from '../../wasm/instrument/layout.ts';
import { instrument } from '../../wasm/instrument/index.ts';
import { EVERYTHING } from './differential.ts';
import { functionOf, memoryOf } from './plain-run.ts';

/** Fuel between two stops. */
const QUANTUM = 3_000_000;
/** Stops whose whole state is digested; later ones only count. */
const DIGESTS_MAX = 40;
const BADF = 8;
const SPIPE = 70;
const NOSYS = 52;

class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

type HostFunction = (...args: number[]) => number;

/** Just enough of WASI preview 1 for a program that computes and prints; it reads no host state. */
function hostFunctions(
  view: () => DataView,
  args: readonly string[],
  onOutput: (bytes: Uint8Array) => void,
): Record<string, HostFunction> {
  const encoded = ['guest', ...args].map((arg) => new TextEncoder().encode(`${arg}\0`));
  let ticks = 1_000_000n;
  return {
    args_sizes_get: (count, bytes) => {
      view().setUint32(count, encoded.length, true);
      view().setUint32(
        bytes,
        encoded.reduce((sum, { length }) => sum + length, 0),
        true,
      );
      return 0;
    },
    args_get: (pointers, buffer) => {
      const memory = view();
      let at = buffer;
      encoded.forEach((bytes, index) => {
        memory.setUint32(pointers + 4 * index, at, true);
        bytes.forEach((byte, offset) => {
          memory.setUint8(at + offset, byte);
        });
        at += bytes.length;
      });
      return 0;
    },
    environ_sizes_get: (count, bytes) => {
      view().setUint32(count, 0, true);
      view().setUint32(bytes, 0, true);
      return 0;
    },
    environ_get: () => 0,
    clock_time_get: (_id, _precisionLow, at) => {
      ticks += 1000n;
      // The precision is an i64, so the pointer is the third argument.
      view().setBigUint64(at, ticks, true);
      return 0;
    },
    random_get: (at, count) => {
      for (let index = 0; index < count; index += 1) view().setUint8(at + index, index & 0xff);
      return 0;
    },
    fd_write: (_descriptor, vectors, count, written) => {
      const memory = view();
      let total = 0;
      for (let index = 0; index < count; index += 1) {
        const start = memory.getUint32(vectors + 8 * index, true);
        const length = memory.getUint32(vectors + 8 * index + 4, true);
        onOutput(new Uint8Array(memory.buffer, memory.byteOffset + start, length));
        total += length;
      }
      memory.setUint32(written, total, true);
      return 0;
    },
    fd_fdstat_get: (descriptor, at) => {
      if (descriptor > 2) return BADF;
      for (let index = 0; index < 24; index += 1) view().setUint8(at + index, 0);
      view().setUint8(at, 2);
      return 0;
    },
    fd_prestat_get: () => BADF,
    fd_seek: () => SPIPE,
    fd_close: () => 0,
    proc_exit: (code) => {
      throw new Exit(code);
    },
  };
}

/** Digest of a guest's output and of its whole state at each stop. */
export function guestDigest(plain: Uint8Array, args: readonly string[]): string {
  const blocking = (_: string, name: string) => name === 'fd_write';
  const { binary, layout } = instrument(plain, EVERYTHING, blocking);
  const hash = createHash('sha256');
  hash.update(binary);
  const module = new WebAssembly.Module(binary);
  const memory = () => memoryOf(exports, layout.memory.exportName).buffer;
  const control = () => new Int32Array(memory(), layout.controlBase, 4);
  const view = () => new DataView(memory(), layout.guestBaseBytes);
  const known = hostFunctions(view, args, (bytes) => {
    hash.update(bytes);
  });
  const functions: Record<string, HostFunction> = {};
  let waiting: number[] | null = null;
  for (const { name } of WebAssembly.Module.imports(module)) {
    const call = known[name] ?? (() => NOSYS);
    functions[name] =
      name === 'fd_write'
        ? (...values) => {
            const words = control();
            if (words[CONTROL.state] === 0) {
              waiting = values;
              words[CONTROL.state] = 1;
              return 0;
            }
            words[CONTROL.state] = 0;
            return call(...(waiting ?? values));
          }
        : (...values) => call(...values);
  }
  let granted = QUANTUM;
  const athanor = {
    grow: () => GROWS_IN_PLACE,
    preempt: () => {
      const words = control();
      if (words[CONTROL.state] === 0) words[CONTROL.state] = 1;
      else {
        words[CONTROL.state] = 0;
        words[CONTROL.fuel] += QUANTUM;
        granted += QUANTUM;
      }
    },
    trap: () => undefined,
  };
  const { exports } = new WebAssembly.Instance(module, {
    athanor,
    wasi_snapshot_preview1: functions,
  });
  control()[CONTROL.fuel] = QUANTUM;
  let stops = 0;
  let outcome = 'returned';
  try {
    for (;;) {
      functionOf(exports, '_start')();
      const words = control();
      if (words[CONTROL.state] === 0) break;
      stops += 1;
      if (stops <= DIGESTS_MAX) {
        // All of physical memory: the guest's, its saved frames, fuel, depth, dirty pages.
        if (layout.globalsBytes > 0) functionOf(exports, 'athanor:save')();
        hash.update(new Uint8Array(memory()));
      }
      words[CONTROL.state] = 2;
    }
  } catch (error) {
    outcome = error instanceof Error ? error.message : 'thrown';
  }
  const executed = granted - control()[CONTROL.fuel];
  return `${outcome}, ${stops} stops, ${executed} instructions, ${hash.digest('hex')}`;
}
