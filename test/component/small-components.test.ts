import { parse } from '@bytecodealliance/jco';
import { describe, expect, it } from 'vitest';
import type { Effect } from '../../sim/index.ts';
import { componentProgram } from '../../wasm/component/guest-program.ts';
import { LonePort, runAlone } from '../support/lone-guest.ts';
import { ALL_IMPORTS, RUN_EXPORT, encodeComponent, parseWat } from './encode.ts';
import { prepareComponent, spawn } from './programs.ts';

/** Runs a component to its end: the last stop and what it printed. */
function run(component: Uint8Array): { end: Effect; output: string } {
  const port = new LonePort(['program', 'argument']);
  const guest = spawn(prepareComponent(component), port);
  const end = runAlone(guest, port).at(-1) as Effect;
  guest.dispose();
  return { end, output: port.written.join('') };
}

/** A component of a core module in text form, as toolchains make it. */
async function fromText(body: string): Promise<Uint8Array> {
  const core = await parseWat(`(module
    (import "wasi:cli/environment@0.2.12" "get-arguments" (func $arguments (param i32)))
    (import "wasi:clocks/monotonic-clock@0.2.12" "now" (func $now (result i64)))
    (import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration"
      (func $after (param i64) (result i32)))
    (import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))
    (import "wasi:io/poll@0.2.12" "poll" (func $poll (param i32 i32 i32)))
    (memory (export "memory") 1)
    ${body})`);
  return encodeComponent(core, [...ALL_IMPORTS, RUN_EXPORT]);
}

const BUMP = `(global $next (mut i32) (i32.const 4096))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $next) (i32.sub (local.get 2) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get 2))))
    (global.set $next (i32.add (local.get $at) (local.get 3)))
    (local.get $at))`;

const RUN = 'wasi:cli/run@0.2.12#run';

describe('entries', () => {
  it('an initialiser runs first, and may wait', async () => {
    const component = await fromText(`${BUMP}
      (global $ready (mut i32) (i32.const 1))
      (func (export "_initialize")
        (call $block (call $after (i64.const 5000)))
        (global.set $ready (i32.const 0)))
      (func (export "${RUN}") (result i32) (global.get $ready))`);
    expect(componentProgram(component).entries.map(({ kind }) => kind)).toEqual(['other', 'main']);
    const { end } = run(component);
    expect(end).toMatchObject({ kind: 'exit', code: 0 });
    expect(end.atNs).toBeGreaterThan(5000);
  });

  it('the error of run is exit code 1', async () => {
    const component = await fromText(`${BUMP}
      (func (export "${RUN}") (result i32) (i32.const 1))`);
    expect(run(component).end).toMatchObject({ kind: 'exit', code: 1 });
  });

  it('a bare function run is a program, too', async () => {
    const component = await parse(`(component
      (core module $m (memory 1) (func (export "f")))
      (core instance $m (instantiate $m))
      (func (export "run") (canon lift (core func $m "f"))))`);
    expect(run(component).end).toMatchObject({ kind: 'exit', code: 0 });
  });
});

describe('resources of the component’s own', () => {
  it('are made, looked at and dropped, which calls their destructor', async () => {
    const component = await parse(`(component
      (core module $d
        (global $last (mut i32) (i32.const 0))
        (func (export "destroy") (param i32) (global.set $last (local.get 0)))
        (func (export "last") (result i32) (global.get $last)))
      (core instance $d (instantiate $d))
      (alias core export $d "destroy" (core func $destroy))
      (type $r (resource (rep i32) (dtor (core func $destroy))))
      (core func $new (canon resource.new $r))
      (core func $rep (canon resource.rep $r))
      (core func $drop (canon resource.drop $r))
      (core module $m
        (import "r" "new" (func $new (param i32) (result i32)))
        (import "r" "rep" (func $rep (param i32) (result i32)))
        (import "r" "drop" (func $drop (param i32)))
        (import "d" "last" (func $last (result i32)))
        (memory 1)
        (func (export "run") (result i32) (local $handle i32)
          (local.set $handle (call $new (i32.const 42)))
          (if (i32.ne (call $rep (local.get $handle)) (i32.const 42)) (then unreachable))
          (if (i32.ne (call $last) (i32.const 0)) (then unreachable))
          (call $drop (local.get $handle))
          (if (i32.ne (call $last) (i32.const 42)) (then unreachable))
          (i32.const 0)))
      (core instance $m (instantiate $m
        (with "d" (instance $d))
        (with "r" (instance
          (export "new" (func $new)) (export "rep" (func $rep)) (export "drop" (func $drop))))))
      (func (export "run") (result (result)) (canon lift (core func $m "run"))))`);
    expect(run(component).end).toMatchObject({ kind: 'exit', code: 0 });
  });
});

describe('hostile programs end as guests do', () => {
  const realloc = (body: string): string =>
    `(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) ${body} (i32.const 0))`;
  const asksArguments = `(func (export "${RUN}") (result i32)
    (call $arguments (i32.const 16)) (i32.const 0))`;

  it.each([
    ['an allocator that never ends', realloc('(loop $l (br $l))') + asksArguments, 'reentry-fuel'],
    ['an allocator that calls the host', realloc('(drop (call $now))') + asksArguments, 'reentry'],
    [
      'an allocator that waits',
      realloc('(call $block (call $after (i64.const 5)))') + asksArguments,
      'reentry',
    ],
    ['an allocator that traps', realloc('unreachable') + asksArguments, 'unreachable'],
    [
      'an allocator that gives an address outside',
      `(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const -4))` +
        asksArguments,
      'canonical-abi',
    ],
    [
      'an allocator that does not align',
      `(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1))` +
        asksArguments,
      'canonical-abi',
    ],
    [
      'a handle that is none',
      `${BUMP} (func (export "${RUN}") (result i32) (call $block (i32.const 5)) (i32.const 0))`,
      'canonical-abi',
    ],
    [
      'a list past the memory',
      `${BUMP} (func (export "${RUN}") (result i32)
        (call $poll (i32.const 65532) (i32.const 100000) (i32.const 0)) (i32.const 0))`,
      'canonical-abi',
    ],
    [
      'a result that goes outside',
      `${BUMP} (func (export "${RUN}") (result i32)
        (call $arguments (i32.const 65532)) (i32.const 0))`,
      'canonical-abi',
    ],
    [
      'a poll of nothing',
      `${BUMP} (func (export "${RUN}") (result i32)
        (call $poll (i32.const 0) (i32.const 0) (i32.const 0)) (i32.const 0))`,
      'wasi-misuse',
    ],
    [
      'handles without end',
      `${BUMP} (func (export "${RUN}") (result i32)
        (loop $l (drop (call $after (i64.const 1))) (br $l)) unreachable)`,
      'canonical-abi',
    ],
  ])('%s', async (_, body, code) => {
    const component = await fromText(body);
    const { end } = run(component);
    expect(end).toMatchObject({ kind: 'trap', code });
    expect(run(component).end).toEqual(end);
  });
});
