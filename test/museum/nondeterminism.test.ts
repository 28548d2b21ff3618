import { describe, expect, it } from 'vitest';
import { PREVIEW1_FUNCTIONS } from '../../wasm/preview1/functions.ts';
import { scenario } from '../../scenarios/index.ts';
import { WasmEngine } from '../../wasm/index.ts';
import type { Prepared } from '../guests/simulate.ts';
import { failure } from '../support/failure.ts';
import {
  assemble,
  decisions,
  longs,
  run,
  textGuest,
  words,
  world,
  written,
} from './text-guests.ts';

/** A world of one node, `one`, with this guest. */
function alone(image: Uint8Array): Prepared {
  const builder = scenario('alone').until('stopped').node({ name: 'one', guest: 'guest' });
  return world(builder, { guest: image });
}

/** A guest of another kind that fills memory, grows it, and leaves it full. */
const HUNGRY = textGuest(`(func (export "_start")
  (drop (memory.grow (i32.const 40)))
  (memory.fill (i32.const 256) (i32.const 0xa5) (i32.const 2000000))
  (drop (call $draw)))`);

/** Draws once before `_start`, where no program of the guest's has run yet. */
const DRAWS_AT_START = textGuest(`
  (func $initialise (i32.store (i32.const 256) (call $draw)))
  (start $initialise)
  (func (export "_start")
    (call $say (i32.load (i32.const 256)))
    (call $say (call $draw)))`);

/** Makes objects of drawn sizes and iterates a set that hashes their addresses. */
const ADDRESS_SET = textGuest(`
  (global $top (mut i32) (i32.const 131072))
  (func $allocate (param $bytes i32) (result i32) (local $at i32)
    (local.set $at (global.get $top))
    (global.set $top (i32.add (local.get $at) (local.get $bytes)))
    (loop $more
      (if (i32.gt_u (global.get $top) (i32.mul (memory.size) (i32.const 65536)))
        (then (drop (memory.grow (i32.const 1))) (br $more))))
    (local.get $at))
  (func $insert (param $object i32) (local $slot i32)
    (local.set $slot (i32.shr_u
      (i32.mul (local.get $object) (i32.const 0x9e3779b1)) (i32.const 26)))
    (loop $next
      (if (i32.load (i32.add (i32.const 1024) (i32.mul (local.get $slot) (i32.const 4))))
        (then
          (local.set $slot (i32.and (i32.add (local.get $slot) (i32.const 1)) (i32.const 63)))
          (br $next))))
    (i32.store (i32.add (i32.const 1024) (i32.mul (local.get $slot) (i32.const 4)))
      (local.get $object)))
  (func (export "_start") (local $k i32) (local $object i32)
    (loop $again
      (local.set $object (call $allocate (i32.add (i32.const 16)
        (i32.and (call $draw) (i32.const 0xfff0)))))
      (i32.store (local.get $object) (local.get $k))
      (call $say (local.get $object))
      (call $insert (local.get $object))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 24))))
    (local.set $k (i32.const 1024))
    (loop $again
      (if (i32.load (local.get $k))
        (then (call $say (i32.load (i32.load (local.get $k))))))
      (local.set $k (i32.add (local.get $k) (i32.const 4)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 1280)))))`);

/** Makes statics at the first use: tells what it finds, makes them once, and tells what it drew. */
function lazyStatic(fields: string, found: string, make: string): Uint8Array {
  return textGuest(`
    (global $made (mut i32) (i32.const 0))
    (data $text "once")
    ${fields}
    (func (export "_start")
      (call $say (global.get $made))
      (call $say (i32.load (i32.const 100000)))
      (call $say ${found})
      (if (i32.eqz (global.get $made))
        (then
          (i32.store (i32.const 256) (call $draw))
          (memory.init $text (i32.const 100000) (i32.const 0) (i32.const 4))
          (data.drop $text)
          ${make}
          (global.set $made (i32.const 1))))
      (call $say (i32.load (i32.const 256))))`);
}

/** Statics by where they are; the first leaves instances that the next simulation takes over. */
const LAZY_STATICS: readonly (readonly [where: string, image: Uint8Array])[] = [
  ['memory and globals', lazyStatic('', '(i32.load (i32.const 256))', '')],
  [
    'tables',
    lazyStatic(
      '(table $table 2 funcref) (elem declare func $value) (func $value)',
      '(i32.eqz (ref.is_null (table.get $table (i32.const 1))))',
      '(table.set $table (i32.const 1) (ref.func $value))',
    ),
  ],
  [
    'memory that grew',
    lazyStatic(
      '',
      '(i32.sub (memory.size) (i32.const 2))',
      '(drop (memory.grow (i32.const 3))) (i32.store (i32.const 300000) (i32.const 1))',
    ),
  ],
];

/** A hash map of the keys 1 to `count`, seeded by entropy as runtimes do; tells its order. */
function seededMap(count: number): Uint8Array {
  return textGuest(`
    (func (export "_start") (local $seed i32) (local $key i32) (local $at i32)
      (local.set $seed (i32.or (call $draw) (i32.const 1)))
      (local.set $key (i32.const 1))
      (loop $again
        (local.set $at (i32.shl
          (i32.shr_u (i32.mul (local.get $key) (local.get $seed)) (i32.const 24)) (i32.const 2)))
        (loop $next
          (if (i32.load (i32.add (i32.const 1024) (local.get $at)))
            (then
              (local.set $at (i32.and (i32.add (local.get $at) (i32.const 4)) (i32.const 1023)))
              (br $next))))
        (i32.store (i32.add (i32.const 1024) (local.get $at)) (local.get $key))
        (local.set $key (i32.add (local.get $key) (i32.const 1)))
        (br_if $again (i32.le_u (local.get $key) (i32.const ${count}))))
      (local.set $at (i32.const 1024))
      (loop $again
        (if (i32.load (local.get $at)) (then (call $say (i32.load (local.get $at)))))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br_if $again (i32.lt_u (local.get $at) (i32.const 2048)))))`);
}

/** Waits for four timers that are all due, sixteen times, and takes one of the ready by lot. */
const SELECT = textGuest(`
  (func (export "_start") (local $k i32) (local $at i32)
    (loop $again
      (local.set $at (i32.add (i32.const 512) (i32.mul (local.get $k) (i32.const 48))))
      (i64.store (local.get $at) (i64.extend_i32_u (local.get $k)))
      (i32.store offset=16 (local.get $at) (i32.const 1))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 4))))
    (local.set $k (i32.const 0))
    (loop $again
      (drop (call $poll_oneoff (i32.const 512) (i32.const 1024) (i32.const 4) (i32.const 8)))
      (call $say (i32.load (i32.const 8)))
      (call $say (i32.load (i32.add (i32.const 1024) (i32.shl
        (i32.rem_u (call $draw) (i32.load (i32.const 8))) (i32.const 5)))))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 16)))))`);

/** Uses entropy nowhere: mixes numbers, and tells what memory and arithmetic give. */
const DIGEST = textGuest(`
  (func (export "_start") (local $k i32) (local $sum i32)
    (loop $again
      (local.set $sum (i32.mul (i32.const 0x9e3779b1) (i32.add (local.get $sum)
        (i32.xor (local.get $k) (i32.load (i32.shl (local.get $k) (i32.const 2)))))))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $k) (i32.const 32768))))
    (call $say (local.get $sum)))`);

describe('a source of nondeterminism inside a guest', () => {
  it('apple/foundationdb#11766: a draw before the seed is installed has the seed', () => {
    const prepared = alone(DRAWS_AT_START);
    const first = run(prepared, 1);
    expect(decisions(first).map(({ stream, ordinal }) => [stream, ordinal])).toEqual([
      ['node/one/entropy', 0],
      ['node/one/entropy', 1],
    ]);
    expect(run(prepared, 1).identity).toBe(first.identity);
    expect(run(prepared, 1, new WasmEngine({})).identity).toBe(first.identity);
    const [atStart, inMain] = words(first, 'one');
    const [otherAtStart, otherInMain] = words(run(prepared, 2), 'one');
    expect(atStart).not.toBe(otherAtStart);
    expect(inMain).not.toBe(otherInMain);
  });

  it('apple/foundationdb#6427, #4747: addresses are the same whatever ran before', () => {
    const prepared = alone(ADDRESS_SET);
    const first = run(prepared, 1);
    const used = new WasmEngine({});
    for (const seed of [5, 6]) run(alone(HUNGRY), seed, used);
    const others = [2, 3].map((seed) => words(run(prepared, seed, used), 'one'));
    expect(run(prepared, 1, used).identity).toBe(first.identity);
    const told = words(first, 'one');
    expect(told.length).toBe(48);
    expect(told.slice(24).toSorted((a, b) => a - b)).toEqual(Array.from(Array(24).keys()));
    for (const other of others) {
      expect(other.slice(0, 24)).not.toEqual(told.slice(0, 24));
      expect(other.slice(24)).not.toEqual(told.slice(24));
    }
  });

  it.each(LAZY_STATICS)(
    'MystenLabs/sui#5020, #16045: no static survives into the next simulation: %s',
    (_, image) => {
      const prepared = alone(image);
      const first = run(prepared, 1);
      expect(words(first, 'one').slice(0, 3)).toEqual([0, 0, 0]);
      expect(run(prepared, 1).identity).toBe(first.identity);
      const other = run(prepared, 2);
      expect(words(other, 'one').slice(0, 3)).toEqual([0, 0, 0]);
      expect(words(other, 'one')[3]).not.toBe(words(first, 'one')[3]);
      expect(other.identity).toBe(run(prepared, 2, new WasmEngine({})).identity);
      expect(run(prepared, 1).identity).toBe(first.identity);
    },
  );

  it('freenet/freenet-core#2810: hash maps iterate by the seed, large ones too', () => {
    const orders = (count: number): string[] => {
      const prepared = alone(seededMap(count));
      return [1, 2, 3, 4, 5, 6].map((seed) => {
        const first = run(prepared, seed);
        expect(run(prepared, seed, new WasmEngine({})).identity).toBe(first.identity);
        expect(words(first, 'one').length).toBe(count);
        return String(words(first, 'one'));
      });
    };
    expect(new Set(orders(2)).size).toBeLessThanOrEqual(2);
    expect(new Set(orders(120)).size).toBe(6);
  });

  it('asonnino/mysticeti#278: a select among ready sources is a logged decision', () => {
    const prepared = alone(SELECT);
    const first = run(prepared, 1);
    expect(run(prepared, 1, new WasmEngine({})).identity).toBe(first.identity);
    const told = words(first, 'one');
    expect(told.filter((_, at) => at % 2 === 0)).toEqual(Array(16).fill(4));
    const picks = told.filter((_, at) => at % 2 === 1);
    expect(new Set(picks)).toEqual(new Set([0, 1, 2, 3]));
    const streams = decisions(first).map(({ stream }) => stream);
    expect(streams).toEqual(Array(16).fill('node/one/entropy'));
    expect(words(run(prepared, 2), 'one')).not.toEqual(told);
  });

  it('bytecodealliance/wasmtime#13702: relaxed SIMD is refused by name and offset', () => {
    const code = [0, 0xfd, 0x80, 0x02, 0x0b];
    const body = [10, code.length + 2, 1, code.length, ...code];
    const start = [...Buffer.from('_start')];
    const exported = [7, start.length + 4, 1, start.length, ...start, 0, 0];
    const types = [1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0];
    const image = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...types, ...exported, ...body];
    const error = failure(() => run(alone(Uint8Array.from(image)), 1));
    expect(error.code).toBe('guest/feature');
    expect(error.message).toContain('relaxed SIMD');
    expect(error.place).toBe(`offset ${image.length - 4}`);
  });

  it('WebAssembly/design#619: NaNs have one sign and one payload', () => {
    const odd = ['nan:0x4000000000123', '-nan:0xfffffffffffff', 'nan', '-nan', '1'];
    const pairs = odd.flatMap((a) => odd.map((b) => [a, b] as const));
    const sums = pairs
      .filter(([a, b]) => a !== '1' || b !== '1')
      .flatMap(([a, b]) => {
        return ['add', 'sub', 'mul', 'div', 'min', 'max'].map(
          (name) => `(f64.${name} (f64.const ${a}) (f64.const ${b}))`,
        );
      });
    const singles = [
      '(f64.sqrt (f64.const -1))',
      '(f64.div (f64.const 0) (f64.const -0))',
      '(f64.sub (f64.const inf) (f64.const inf))',
      '(f64.mul (f64.const -inf) (f64.const 0))',
      '(f64.promote_f32 (f32.const -nan:0x200001))',
      '(f64.promote_f32 (f32.demote_f64 (f64.const -nan:0x4000000000123)))',
      '(f64.nearest (f64.const -nan:0x4000000000123))',
    ];
    const all = [...sums, ...singles];
    const says = all.map((code) => `(call $say64 (i64.reinterpret_f64 ${code}))`);
    const image = textGuest(`(func (export "_start") ${says.join('\n')})`);
    const bits = longs(run(alone(image), 1), 'one');
    expect(bits.length).toBe(all.length);
    expect(new Set(bits)).toEqual(new Set([0x7ff8000000000000n]));
  });

  it('shadow/shadow#2693: what a program gets at its start is what the scenario says', () => {
    const image = textGuest(
      `(func (export "_start")
        (drop (call $args_sizes_get (i32.const 256) (i32.const 260)))
        (drop (call $environ_sizes_get (i32.const 264) (i32.const 268)))
        (drop (call $args_get (i32.const 512) (i32.const 1024)))
        (drop (call $environ_get (i32.const 768) (i32.const 2048)))
        (call $write (i32.const 256) (i32.const 16))
        (call $write (i32.const 1024) (i32.load (i32.const 260)))
        (call $write (i32.const 2048) (i32.load (i32.const 268)))
        (call $write (i32.const 4096) (i32.const 126976)))`,
      ['args_sizes_get', 'args_get', 'environ_sizes_get', 'environ_get'],
    );
    const builder = scenario('start').until('stopped');
    builder.node({ name: 'one', guest: 'guest', args: ['two', 'three'], env: { HOME: '/' } });
    const prepared = world(builder, { guest: image });
    const first = run(prepared, 1);
    const view = written(first, 'one');
    const counts = Array.from({ length: 4 }, (_, at) => view.getUint32(4 * at, true));
    const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
    const [argCount, argBytes = 0, variableCount, variableBytes = 0] = counts;
    const texts = bytes.subarray(16, 16 + argBytes + variableBytes).toString();
    expect([argCount, variableCount]).toEqual([3, 1]);
    expect(texts).toBe('one\0two\0three\0HOME=/\0');
    expect(bytes.subarray(16 + argBytes + variableBytes).every((byte) => byte === 0)).toBe(true);
    expect(decisions(first)).toEqual([]);
    expect(run(prepared, 2).consoles).toEqual(first.consoles);
  });

  it('shadow/shadow#3629, systemd/systemd#17112: no instruction and no other import draws', () => {
    expect(
      PREVIEW1_FUNCTIONS.map(({ name }) => name).filter((name) => /rand|seed/.test(name)),
    ).toEqual(['random_get']);
    for (const [module, name] of [
      ['env', 'rdrand'],
      ['wasi_snapshot_preview1', 'random_seed'],
    ] as const) {
      const source = `(module (import "${module}" "${name}" (func (result i64)))
        (memory (export "memory") 1) (func (export "_start")))`;
      const error = failure(() => run(alone(assemble(source)), 1));
      expect([error.code, error.place]).toEqual(['guest/import', 'offset 21']);
      expect(error.message).toContain(`${module}.${name}`);
    }
    const unknown = Buffer.from(
      assemble('(module (memory (export "memory") 1) (func (export "_start") nop))'),
    );
    unknown[unknown.lastIndexOf(0x01)] = 0x27;
    expect(failure(() => run(alone(Uint8Array.from(unknown)), 1)).message).toContain('0x27');
    const digests = alone(DIGEST);
    expect(words(run(digests, 2), 'one')).toEqual(words(run(digests, 1), 'one'));
    expect(decisions(run(digests, 1))).toEqual([]);
  });
});
