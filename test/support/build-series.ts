import { openWabt, type Wabt } from '../instrument/wabt.ts';

/** A guest's builds over time: what they are like besides the defect varies from build to build. */
export interface BuildShape {
  /** Whether it has the defect: of its runs, about a fifth then write `lost`. */
  readonly isBad: boolean;
  /** Unrelated draws before those that matter. */
  readonly extraDraws: number;
  /** Unrelated lines on the console. */
  readonly extraLines: number;
  /** How long it goes on after its last line, without doing anything. */
  readonly lingerSeconds?: number;
  /** Another name for the function that ticks, and another word for what it writes. */
  readonly word: string;
}

/** What build `index` is like besides its defect: refactorings that keep what the program does. */
export function shapeOf(index: number, firstBad: number): BuildShape {
  return {
    isBad: index >= firstBad,
    extraDraws: index % 3,
    extraLines: index % 4 === 1 ? 2 : 0,
    word: ['tick', 'step', 'beat', 'turn'][(index >> 2) % 4] as string,
  };
}

/** A maker of builds. */
export async function openBuildSeries(): Promise<(shape: BuildShape) => Uint8Array> {
  const wabt = await openWabt();
  return (shape) => assemble(shape, wabt);
}

function assemble(shape: BuildShape, wabt: Wabt): Uint8Array {
  const { isBad, extraDraws, extraLines, lingerSeconds = 0, word } = shape;
  const draws = '(drop (call $random (i32.const 64) (i32.const 8)))\n'.repeat(extraDraws);
  const lines = '(call $say (i32.const 128) (i32.const 6))\n'.repeat(extraLines);
  const defect = `
    (if (i32.lt_u (i32.load8_u (i32.const 32)) (i32.const 8))
      (then (call $say (i32.const 112) (i32.const 5))))`;
  return wabt.assemble(`(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $wait (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 96) "${word}\\n")
  (data (i32.const 112) "lost\\n")
  (data (i32.const 128) "aside\\n")
  (func $say (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $${word}
    (drop (call $random (i32.const 32) (i32.const 4)))
    (call $say (i32.const 96) (i32.const ${word.length + 1}))
    ${isBad ? defect : ''})
  (func (export "_start") (local $left i32)
    ${draws}${lines}
    (local.set $left (i32.const 7))
    (loop $again
      (call $${word})
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $again (local.get $left)))
    ${lingerSeconds === 0 ? '' : waitFor(lingerSeconds)}))`);
}

/** A wait on the monotonic clock: a subscription of 48 bytes, for what else is all zeros. */
function waitFor(seconds: number): string {
  return `(i32.store (i32.const 272) (i32.const 1))
    (i64.store (i32.const 280) (i64.const ${seconds}000000000))
    (drop (call $wait (i32.const 256) (i32.const 320) (i32.const 1) (i32.const 8)))`;
}

/** The scenario of such a guest, read from `guest.wasm`. */
export const SERIES_TOML = `
schema_version = 1
name = "series"

[guest.worker]
wasm = "guest.wasm"

[[node]]
name = "w"
guest = "worker"

[[property]]
name = "nothing is lost"
kind = "never"
console = "lost"

[limits]
virtual_time = "10s"
`;
