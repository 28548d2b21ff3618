import { describe, expect, it } from 'vitest';
import { encode } from './encode.ts';
import { bodiesOf, moduleSize, type Instruction } from './model.ts';
import { MEMORY_OPCODES, SCALAR_OPCODES, VECTOR_OPCODES } from './opcodes.ts';
import { randomModule } from './random-module.ts';
import { canonicaliser, counting, withCount } from './rewriters.ts';
import { featuresOf } from './test-features.ts';

const SEED_COUNT = 1200;

function countNames(body: readonly Instruction[], counts: Map<string, number>): void {
  for (const instruction of body) {
    counts.set(instruction.name, (counts.get(instruction.name) ?? 0) + 1);
    if (instruction.kind === 'block') {
      for (const inner of bodiesOf(instruction)) countNames(inner, counts);
    }
  }
}

describe('the generator of random modules', () => {
  it('makes valid modules only, plain and rewritten, and uses every instruction', () => {
    const counts = new Map<string, number>();
    const invalid: number[] = [];
    for (let seed = 0; seed < SEED_COUNT; seed += 1) {
      const model = randomModule(seed, featuresOf(seed, { exnref: false }));
      for (const { body } of model.functions) countNames(body, counts);
      const rewriter = counting(canonicaliser(true), {
        global: model.globals.length,
        countsCanonicaliser: true,
      });
      const valid =
        WebAssembly.validate(encode(model)) &&
        WebAssembly.validate(encode(withCount(model), rewriter));
      if (!valid) invalid.push(seed);
    }
    expect(invalid).toEqual([]);
    const names = [...SCALAR_OPCODES, ...MEMORY_OPCODES, ...VECTOR_OPCODES].map(({ name }) => name);
    const control =
      'block loop if try try-delegate br br_if br_table return unreachable call call_indirect ' +
      'return_call return_call_indirect throw rethrow drop select nop';
    const state =
      'local.get local.set local.tee global.get global.set memory.size memory.grow memory.copy ' +
      'memory.fill memory.init data.drop table.get table.set table.size table.grow table.copy ' +
      'table.fill table.init elem.drop ref.null ref.func ref.is_null';
    const wanted = [...names, ...control.split(' '), ...state.split(' '), 'select t'];
    const rows = wanted.map((name) => `${name} ${counts.get(name) ?? 0}`);
    console.log(rows.join(', '));
    expect(wanted.filter((name) => !counts.has(name))).toEqual([]);
  });

  it('gives equal bytes for equal seeds, other bytes for other seeds', () => {
    const make = (seed: number) => encode(randomModule(seed, featuresOf(seed, { exnref: false })));
    expect(Buffer.compare(make(7), make(7))).toBe(0);
    expect(Buffer.compare(make(7), make(37))).not.toBe(0);
  });

  it('makes modules of a useful size', () => {
    const sizes = Array.from({ length: 300 }, (_, seed) =>
      moduleSize(randomModule(seed, featuresOf(seed, { exnref: false }))),
    );
    const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    expect(mean).toBeGreaterThan(100);
    expect(mean).toBeLessThan(1000);
  });
});
