import { beforeAll, describe, expect, it } from 'vitest';
import { SimError } from '../../sim/index.ts';
import { explainModule, instrument } from '../../wasm/instrument/index.ts';
import { ALL_ON } from './wat-runs.ts';
import { openWabt, type Wabt } from './wabt.ts';

let wabt: Wabt;
beforeAll(async () => {
  wabt = await openWabt();
});

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
/** A module with one function `() -> ()` whose code is given. */
function withCode(...code: number[]): number[] {
  const body = [0, ...code, 0x0b];
  const types = [1, 4, 1, 0x60, 0, 0];
  return [...MAGIC, ...types, 3, 2, 1, 0, 10, body.length + 2, 1, body.length, ...body];
}

const REFUSED: readonly (readonly [feature: string, bytes: number[], offset: number])[] = [
  ['64-bit memory', [...MAGIC, 5, 3, 1, 4, 1], 11],
  ['shared memory', [...MAGIC, 5, 4, 1, 3, 1, 1], 11],
  ['more than one memory', [...MAGIC, 5, 5, 2, 0, 1, 0, 1], 13],
  ['garbage-collected types', [...MAGIC, 1, 3, 1, 0x5f, 0], 11],
  ['garbage-collected or typed references', [...MAGIC, 1, 5, 1, 0x60, 1, 0x63, 0], 13],
  ['relaxed SIMD', withCode(0xfd, 0x80, 2), 23],
  ['threads and atomics', withCode(0xfe, 0x03, 0), 23],
  ['garbage-collected objects', withCode(0xfb, 0), 23],
  ['typed function references', withCode(0x14, 0), 23],
  ['stack switching', withCode(0xe2, 0), 23],
  ['a component', [0x00, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0], 4],
];

function failure(bytes: Uint8Array): SimError {
  try {
    instrument(bytes, ALL_ON, () => true);
  } catch (error) {
    if (error instanceof SimError) return error;
    throw error;
  }
  throw new Error('the module was accepted');
}

describe('a module that cannot be made deterministic', () => {
  for (const [feature, bytes, offset] of REFUSED) {
    it(`is refused by name and offset: ${feature}`, () => {
      const error = failure(Uint8Array.from(bytes));
      expect(error.code).toBe('guest/feature');
      expect(error.message).toContain(feature);
      expect(error.place).toBe(`offset ${offset}`);
      const { refusal } = explainModule(Uint8Array.from(bytes));
      expect(refusal?.message).toBe(error.message);
    });
  }

  it('is refused when its memory starts above the cap', () => {
    const error = failure(wabt.assemble('(module (memory 17))'));
    expect(error.code).toBe('guest/limit');
  });

  it('is refused when it was instrumented before', () => {
    const plain = wabt.assemble('(module (memory 1) (func (export "run")))');
    const { binary } = instrument(plain, ALL_ON, () => true);
    expect(failure(binary).message).toContain('athanor:');
  });

  it('is refused when its operands do not fit', () => {
    expect(failure(Uint8Array.from(withCode(0x6a))).code).toBe('guest/malformed');
  });
});

describe('explain', () => {
  it('lists imports, exports and features', () => {
    const binary = wabt.assemble(`(module
      (import "wasi_snapshot_preview1" "fd_read" (func (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 2)
      (func (export "run") (param i64) (result f32) (memory.fill (i32.const 0) (i32.const 0) (i32.const 9))
        (f32.const 1)))`);
    expect(explainModule(binary)).toEqual({
      imports: [
        {
          kind: 'function',
          name: 'wasi_snapshot_preview1.fd_read',
          type: '(i32, i32, i32, i32) -> (i32)',
        },
      ],
      exports: [
        { kind: 'memory', name: 'memory', type: '' },
        { kind: 'function', name: 'run', type: '(i64) -> (f32)' },
      ],
      features: ['bulk-memory'],
      functionCount: 1,
      codeBytes: 16,
      dataBytes: 0,
      memoryPagesMin: 2,
      memoryPagesMax: -1,
      refusal: null,
    });
  });
});
