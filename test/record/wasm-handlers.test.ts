import { describe, expect, test } from 'vitest';
import wabt from 'wabt';
import { makeHandlers } from '../../cli/record/handlers.ts';
import { HANDLER_FUEL } from '../../wasm/index.ts';
import { serviceOf, worldOf } from './worlds.ts';

const WORLD = `
name: w
services:
  s:
    records: { notes: { text: str, size: int } }
    operations:
      act: { kind: custom, handler: m.act, parameters: { text: 'str?' } }
`;

const tools = await wabt();

function assemble(text: string): Uint8Array {
  const module = tools.parseWat('m.wat', text);
  const { buffer } = module.toBinary({});
  module.destroy();
  return Uint8Array.from(buffer);
}

const IMPORTS = `
  (import "athanor" "ask" (func $ask (param i32 i32) (result i32)))
  (import "athanor" "answer" (func $answer (param i32 i32) (result i32)))
  (import "athanor" "reply" (func $reply (param i32 i32)))
  (import "athanor" "refuse" (func $refuse (param i32 i32)))`;

/** A module whose function \`act\` has this body; texts stand at multiples of 256. */
function moduleOf(body: string, texts: readonly string[] = [], more = ''): Uint8Array {
  const data = texts.map((text, index) => {
    return `(data (i32.const ${index * 256}) ${JSON.stringify(text).replaceAll('\\\\"', '\\\\22')})`;
  });
  return assemble(`(module ${IMPORTS} (memory (export "memory") 1) ${data.join(' ')} ${more}
    (func (export "act") ${body}))`);
}

function benchOf(bytes: Uint8Array): ReturnType<typeof serviceOf> {
  const def = worldOf(WORLD, new Map([['m.act', () => null]]));
  return serviceOf(def, { handlers: makeHandlers(def, [{ name: 'm', kind: 'wasm', bytes }]) });
}

/** Asks the text there; what was answered is replied. */
const ASK = (index: number, text: string): string =>
  `(drop (call $ask (i32.const ${index * 256}) (i32.const ${text.length})))`;
const ECHO = `
  (call $reply (i32.const 4096) (call $answer (i32.const 4096) (i32.const 4096)))`;

describe('FH-14 FH-15: handlers of compiled WebAssembly', () => {
  test('get arguments and time, ask tables, and reply', () => {
    const bench = benchOf(moduleOf(ECHO));
    expect(bench.call('act', { text: 'é' })).toEqual({
      kind: 'result',
      value: { args: { text: 'é' }, now: '2026-01-01T00:00:00Z', now_ns: 0 },
    });
    const insert = '{"do":"insert","table":"notes","values":{"text":"a","size":2}}';
    const writes = benchOf(moduleOf(ASK(0, insert) + ECHO, [insert]));
    expect(writes.call('act')).toEqual({
      kind: 'result',
      value: { kind: 'value', value: { id: 1, text: 'a', size: 2 } },
    });
    expect(writes.service.world.revision).toBe(1);
  });

  test('reply null where they say nothing, and the last where they say twice', () => {
    expect(benchOf(moduleOf('')).call('act')).toEqual({ kind: 'result', value: null });
    const twice = ['1', '[2]'].map((text, index) => {
      return `(call $reply (i32.const ${index * 256}) (i32.const ${text.length}))`;
    });
    const bench = benchOf(moduleOf(twice.join(''), ['1', '[2]']));
    expect(bench.call('act')).toEqual({ kind: 'result', value: [2] });
  });

  test('FH-19: refuse and have written nothing; hear refusals of tables as answers', () => {
    const insert = '{"do":"insert","table":"notes","values":{}}';
    const refuse = '(call $refuse (i32.const 256) (i32.const 6))';
    const bench = benchOf(moduleOf(ASK(0, insert) + refuse, [insert, 'no way']));
    expect(bench.call('act')).toMatchObject({ kind: 'refusal', message: 'no way' });
    expect(bench.service.world.snapshot()).toMatchObject({ notes: [] });
    const get = '{"do":"get","table":"notes","id":9}';
    expect(benchOf(moduleOf(ASK(0, get) + ECHO, [get])).call('act')).toMatchObject({
      value: { kind: 'refusal', refusal: 'not_found' },
    });
  });

  test('leave no state from one call to the next', () => {
    const body = `
      (global.set $count (i32.add (global.get $count) (i32.const 1)))
      (i32.store8 (i32.const 0) (i32.add (i32.const 48) (global.get $count)))
      (call $reply (i32.const 0) (i32.const 1))`;
    const bench = benchOf(moduleOf(body, [], '(global $count (mut i32) (i32.const 0))'));
    const first = { kind: 'result', value: 1 };
    expect([bench.call('act'), bench.call('act')]).toEqual([first, first]);
  });

  const DEEP =
    '(func $deep (param i32) (result i32) (i32.add (i32.const 1) (call $deep (local.get 0))))';
  test.each([
    ['a trap', 'unreachable', 'm.act: it trapped: unreachable'],
    ['a load beyond its memory', '(drop (i32.load (i32.const -8)))', 'out-of-bounds-memory'],
    ['a loop without an end', '(loop (br 0))', `executed more than ${HANDLER_FUEL} instructions`],
    ['calls without an end', '(drop (call $deep (i32.const 0)))', 'its calls are too deep'],
    ['a reply that is no JSON', '(call $reply (i32.const 0) (i32.const 2))', 'm.act replies in'],
    [
      'a question that is no JSON',
      '(drop (call $ask (i32.const 0) (i32.const 2)))',
      'm.act asks in',
    ],
    ['a question that is none', '(drop (call $ask (i32.const 256) (i32.const 2)))', 'no such re'],
    ['a text beyond its memory', '(call $reply (i32.const 65530) (i32.const 9))', 'lies outside'],
    ['a text that is not UTF-8', '(call $reply (i32.const 512) (i32.const 1))', 'not UTF-8'],
  ])('%s is a crash, and wrote nothing', (_title, body, message) => {
    const texts = ['{x', '{}'];
    const more = `${DEEP} (data (i32.const 512) "\\ff")`;
    const insert = '{"do":"insert","table":"notes","values":{}}';
    const bench = benchOf(moduleOf(ASK(4, insert) + body, [...texts, '', '', insert], more));
    expect(() => bench.call('act')).toThrow(message);
    expect(bench.service.world.snapshot()).toMatchObject({ notes: [] });
  });

  test.each([
    ['a clock', '(import "env" "now" (func (result i64)))'],
    ['another of athanor', '(import "athanor" "call" (func))'],
    ['another type', '(import "athanor" "ask" (func (param i64 i32) (result i32)))'],
    ['a memory', '(import "env" "memory" (memory 1))'],
  ])('import nothing else: %s', (_title, text) => {
    const bytes = assemble(`(module ${text} (func (export "act")))`);
    expect(() => benchOf(bytes)).toThrow(/^the module imports .*, which handlers have not$/);
  });

  test('link libraries, whose calls of WASI answer that there is no such thing; an exit is a crash', () => {
    const wasi = (name: string, type: string): string => {
      return `(import "wasi_snapshot_preview1" "${name}" (func $${name} ${type}))`;
    };
    const text = `(module ${IMPORTS} ${wasi('fd_write', '(param i32 i32 i32 i32) (result i32)')}
      ${wasi('proc_exit', '(param i32)')} (memory (export "memory") 1)
      (func (export "act") (local $code i32)
        (local.set $code (call $fd_write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
        (i32.store8 (i32.const 0) (i32.add (i32.const 48) (i32.rem_u (local.get $code) (i32.const 10))))
        (call $reply (i32.const 0) (i32.const 1)))
      (func (export "leave") (call $proc_exit (i32.const 0))))`;
    expect(benchOf(assemble(text)).call('act')).toEqual({ kind: 'result', value: 2 });
    const leaving = text.replace('"act"', '"other"').replace('"leave"', '"act"');
    expect(() => benchOf(assemble(leaving)).call('act')).toThrow('m.act: it exited');
  });

  test('a module that lacks the function, or is none, is told before anything runs', () => {
    const other = assemble('(module (memory (export "memory") 1) (func (export "other")))');
    expect(() => benchOf(other)).toThrow('the module "m" exports no function "act"');
    expect(() => benchOf(Uint8Array.from([0, 97, 115, 109, 9]))).toThrow();
  });
});
