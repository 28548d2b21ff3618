import { describe, expect, it } from 'vitest';
import wabt from 'wabt';
import { preview1Program } from '../../wasm/preview1/program.ts';
import { CodeStore } from '../../wasm/runtime/code-store.ts';
import { prepareProgram } from '../../wasm/runtime/prepare.ts';
import { WasmGuest } from '../../wasm/runtime/wasm-guest.ts';
import { failure } from '../support/failure.ts';
import { LonePort, runAlone } from '../support/lone-guest.ts';

const tools = await wabt();

function assemble(source: string): Uint8Array {
  const module = tools.parseWat('guest.wat', source);
  const { buffer } = module.toBinary({});
  module.destroy();
  return buffer;
}

const wasi = (name: string, type: string, as = name): string => {
  return `(import "wasi_snapshot_preview1" "${name}" (func $${as} ${type}))`;
};

/** Runs a program alone; returns its port and its last stop. */
function run(source: string, port = new LonePort()): { port: LonePort; end: unknown } {
  const program = prepareProgram(preview1Program(assemble(source)), 64, new CodeStore(null, []));
  const guest = new WasmGuest(program, port, 1000);
  return { port, end: runAlone(guest, port).at(-1) };
}

describe('a preview 1 program', () => {
  it('runs: writes, reads the clock, sleeps, exits', () => {
    const { port, end } = run(`(module
      ${wasi('fd_write', '(param i32 i32 i32 i32) (result i32)')}
      ${wasi('clock_time_get', '(param i32 i64 i32) (result i32)')}
      ${wasi('poll_oneoff', '(param i32 i32 i32 i32) (result i32)')}
      ${wasi('proc_exit', '(param i32)')}
      (memory (export "memory") 1)
      (data (i32.const 0) "\\10\\00\\00\\00\\06\\00\\00\\00")
      (data (i32.const 16) "hello\\n")
      (data (i32.const 64) "\\07\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00"
        "\\01\\00\\00\\00\\00\\00\\00\\00\\00\\ca\\9a\\3b\\00\\00\\00\\00")
      (func (export "_start")
        (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
        (drop (call $poll_oneoff (i32.const 64) (i32.const 128) (i32.const 1) (i32.const 8)))
        (drop (call $clock_time_get (i32.const 1) (i64.const 0) (i32.const 200)))
        (if (i64.lt_u (i64.load (i32.const 200)) (i64.const 2000000000)) (then unreachable))
        (if (i64.gt_u (i64.load (i32.const 200)) (i64.const 2001000000)) (then unreachable))
        (call $proc_exit (i32.add (i32.load (i32.const 8)) (i32.const 32)))))`);
    expect(port.written).toEqual(['hello\n']);
    expect(end).toMatchObject({ kind: 'exit', code: 33 });
  });

  it('that returns from _start has succeeded', () => {
    expect(run('(module (memory (export "memory") 1) (func (export "_start")))').end).toMatchObject(
      {
        kind: 'exit',
        code: 0,
      },
    );
  });

  it('gets the form of a name that its import has the type of', () => {
    const open = wasi('sock_accept', '(param i32 i32) (result i32)', 'v1');
    const { end } = run(`(module ${open}
      ${wasi('sock_accept', '(param i32 i32 i32) (result i32)', 'v2')}
      ${wasi('proc_exit', '(param i32)')}
      (memory (export "memory") 1)
      (func (export "_start")
        (call $proc_exit (i32.add
          (i32.mul (call $v1 (i32.const 1) (i32.const 0)) (i32.const 100))
          (call $v2 (i32.const 99) (i32.const 0) (i32.const 0))))))`);
    expect(end).toMatchObject({ kind: 'exit', code: 5708 });
  });

  it('says markers, and traps where one lies outside of its memory', () => {
    const source = (address: number, length: number): string => `(module
      (import "athanor" "marker" (func $marker (param i32 i32)))
      (memory (export "memory") 2)
      (data (i32.const 16) "{}")
      (func (export "_start") (call $marker (i32.const ${address}) (i32.const ${length}))))`;
    expect(run(source(16, 2)).port.written).toEqual(['{}']);
    const outside = { kind: 'trap', code: 'out-of-bounds-memory' };
    expect(run(source(131_071, 2)).end).toMatchObject(outside);
    expect(run(source(0, -1)).end).toMatchObject(outside);
    expect(run(source(0, 65_537)).end).toMatchObject({ kind: 'trap', code: 'marker' });
  });

  const start = '(memory (export "memory") 1) (func (export "_start"))';
  const refused: [name: string, source: string, code: string, message: string][] = [
    [
      'an unknown function',
      `(module (import "env" "fork" (func)) ${start})`,
      'guest/import',
      'the module imports the function env.fork, which the host does not offer',
    ],
    [
      'an unknown function of WASI',
      `(module (import "wasi_snapshot_preview1" "fd_mmap" (func)) ${start})`,
      'guest/import',
      'the module imports the function wasi_snapshot_preview1.fd_mmap, which the host does not offer',
    ],
    [
      'a global',
      `(module (import "env" "base" (global i32)) ${start})`,
      'guest/import',
      'the module imports the global env.base, which the host does not offer',
    ],
    [
      'a function with another type',
      `(module ${wasi('fd_close', '(param i64) (result i32)')} ${start})`,
      'guest/import',
      'the module imports wasi_snapshot_preview1.fd_close with another type: ' +
        'expected (i32) -> i32, found (i64) -> i32',
    ],
    [
      'a function with two forms, with neither type',
      `(module ${wasi('sock_accept', '(param i32) (result i32)')} ${start})`,
      'guest/import',
      'the module imports wasi_snapshot_preview1.sock_accept with another type: ' +
        'expected (i32, i32, i32) -> i32 or (i32, i32) -> i32, found (i32) -> i32',
    ],
    [
      'a marker with a result',
      `(module (import "athanor" "marker" (func (param i32 i32) (result i32))) ${start})`,
      'guest/import',
      'the module imports athanor.marker with another type: ' +
        'expected (i32, i32) -> nothing, found (i32, i32) -> i32',
    ],
    [
      'no entry',
      '(module (memory (export "memory") 1))',
      'guest/entry',
      'the module does not export a function _start',
    ],
    [
      'a reactor',
      '(module (memory (export "memory") 1) (func (export "_initialize")))',
      'guest/entry',
      'the module is a reactor: it exports _initialize, but no _start',
    ],
  ];
  for (const [name, source, code, message] of refused) {
    it(`is refused with ${name}`, () => {
      const image = assemble(source);
      expect(failure(() => preview1Program(image))).toMatchObject({ code, message });
    });
  }

  it('is refused when it asks for listeners in words that are not understood', () => {
    const source = `(module ${start})`;
    for (const text of [
      '80',
      'tcp:0',
      'tcp:65536',
      'unix:1',
      'tcp:80,udp:80',
      'tcp:1 '.repeat(65),
    ]) {
      const port = new LonePort(['lone'], [['ATHANOR_LISTEN', text]]);
      expect(failure(() => run(source, port)).code).toBe('scenario/listeners');
    }
    expect(run(source, new LonePort(['lone'], [['ATHANOR_LISTEN', '']])).end).toMatchObject({
      code: 0,
    });
  });
});
