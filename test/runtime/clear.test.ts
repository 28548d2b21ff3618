import { describe, expect, it } from 'vitest';
import { WasmGuest } from '../../wasm/runtime/wasm-guest.ts';
import { LonePort } from '../support/lone-guest.ts';
import { prepareText } from '../support/text-program.ts';

/**
 * Takes 16 pages of 4 KiB more, writes into some, also over the end of one, and clears all of them and
 * a page that had content from the start, stopping before and after.
 */
const SOURCE = `(module
  (import "host" "sleep" (func $sleep (param i64) (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 61440) "content")
  (func (export "_start")
    (drop (memory.grow (i32.const 1)))
    (i32.store (i32.const 69640) (i32.const 7))
    (i64.store (i32.const 81916) (i64.const -1))
    (drop (call $sleep (i64.const 1000)))
    (i64.store (i32.const 98300) (i64.const -1))
    (memory.fill (i32.const 61440) (i32.const 0) (i32.const 69632))
    (drop (call $sleep (i64.const 1000)))
    (memory.fill (i32.const 65536) (i32.const 0) (i32.const 65537))))`;

const PAGE_BYTES = 4096;

describe('clearing a long range', () => {
  it('clears what was written, wherever stops were, and leaves untouched pages alone', async () => {
    const program = await prepareText(SOURCE);
    const port = new LonePort();
    const guest = new WasmGuest(program, port, 1000);
    expect(guest.resume({ reason: 'ready', atNs: 0 })).toMatchObject({ kind: 'wait' });
    const before = guest.capture();
    expect([...before.pages.keys()].sort((a, b) => a - b)).toEqual([17, 19, 20]);
    const { digest } = goOn(guest, port);
    const after = guest.capture();
    // Page 15 had content; 23 was written and reached into 24 unmarked.
    expect([...after.pages.keys()].sort((a, b) => a - b)).toEqual([15, 17, 19, 20, 23, 24]);
    for (const page of after.pages.values()) expect(page).toEqual(new Uint8Array(PAGE_BYTES));
    const fork = new WasmGuest(program, port, 1000, before);
    expect(goOn(fork, port).digest).toBe(digest);
  });

  it('traps beyond the end of memory as any fill', async () => {
    const program = await prepareText(SOURCE);
    const port = new LonePort();
    const guest = new WasmGuest(program, port, 1000);
    guest.resume({ reason: 'ready', atNs: 0 });
    goOn(guest, port);
    const effect = guest.resume({ reason: 'deadline', atNs: 2_000_000 });
    expect(effect).toMatchObject({ kind: 'trap', code: 'out-of-bounds-memory' });
  });
});

function goOn(guest: WasmGuest, port: LonePort): { readonly digest: string } {
  port.nowNs = 1_000_000;
  const effect = guest.resume({ reason: 'deadline', atNs: 1_000_000 });
  expect(effect).toMatchObject({ kind: 'wait' });
  return { digest: guest.digest() };
}
