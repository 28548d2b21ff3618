import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Effect } from '../../sim/index.ts';
import type { PreparedProgram } from '../../wasm/runtime/prepared.ts';
import { WasmGuest } from '../../wasm/runtime/wasm-guest.ts';
import { LonePort } from '../support/lone-guest.ts';
import { prepareText } from '../support/text-program.ts';

/**
 * Writes here and there, also over the end of a page, then takes more memory in a function of its own, which
 * only does that, and in the midst of an expression in a loop; logs each size, sees that what came is
 * zero, asks for too much and for nothing, and sleeps between. In the end it reads past the end.
 */
const SOURCE = `(module
  (import "host" "sleep" (func $sleep (param i64) (result i64)))
  (import "host" "log" (func $log (param i32)))
  (memory (export "memory") 1 40)
  (global $round (mut i32) (i32.const 0))
  (data (i32.const 8192) "pristine")
  (func $more (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "_start") (local $end i32)
    (i64.store (i32.const 12284) (i64.const -1))
    (i32.store (i32.const 8192) (i32.const 0))
    (loop $again
      (global.set $round (i32.add (global.get $round) (i32.const 1)))
      (local.set $end (i32.shl (memory.size) (i32.const 16)))
      (i32.store offset=4 (i32.sub (local.get $end) (i32.const 8)) (global.get $round))
      (call $log (call $more (global.get $round)))
      (call $log (i32.load (local.get $end)))
      (i32.store offset=40 (local.get $end) (global.get $round))
      (call $log (i32.add (i32.mul (global.get $round) (i32.const 1000))
        (i32.sub (memory.grow (i32.const 2)) (global.get $round))))
      (drop (call $sleep (i64.const 1000)))
      (call $log (memory.grow (i32.const 100)))
      (call $log (memory.grow (i32.const 0)))
      (br_if $again (i32.lt_u (global.get $round) (i32.const 4))))
    (call $log (i32.load (i32.shl (i32.add (memory.grow (i32.const 1)) (i32.const 1))
      (i32.const 16))))))`;

/** All that can be seen of a whole life: at each stop the digest and the image's pages. */
function live(program: PreparedProgram): readonly unknown[] {
  const port = new LonePort();
  const guest = new WasmGuest(program, port, 1000);
  const seen: unknown[] = [];
  let effect: Effect = { kind: 'preempted', atNs: 0 };
  for (let atNs = 0; ;) {
    port.nowNs = atNs;
    effect = guest.resume({ reason: 'deadline', atNs });
    const { pages } = guest.capture();
    const numbers = [...pages.keys()].sort((a, b) => a - b);
    seen.push(effect, guest.digest(), numbers, guest.instructions);
    if (effect.kind !== 'wait') break;
    atNs = effect.wait.deadlineNs as number;
  }
  guest.dispose();
  return [...seen, port.written];
}

describe('a guest that grows', () => {
  const Plain = WebAssembly.Instance;
  let made = 0;

  beforeEach(() => {
    made = 0;
    WebAssembly.Instance = class extends Plain {
      constructor(...parts: ConstructorParameters<typeof Plain>) {
        super(...parts);
        made += 1;
      }
    };
  });

  afterEach(() => {
    WebAssembly.Instance = Plain;
  });

  it('is the same in instances of its own and in those that others have grown', async () => {
    const program = await prepareText(SOURCE);
    const first = live(program);
    expect(first.at(-5)).toMatchObject({ kind: 'trap', code: 'out-of-bounds-memory' });
    for (let life = 0; life < 12; life++) expect(live(program)).toEqual(first);
    // Of each size that it had some now wait, and no more are made.
    made = 0;
    for (let life = 0; life < 3; life++) expect(live(program)).toEqual(first);
    expect(made).toBe(0);
  });
});
