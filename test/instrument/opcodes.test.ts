import { describe, expect, it } from 'vitest';
import { CONTROL, GROWS_IN_PLACE } from '../../wasm/instrument/layout.ts';
import { instrument } from '../../wasm/instrument/index.ts';
import { F32_EDGES, F64_EDGES, I32_EDGES, I64_EDGES, littleEndian } from './constants.ts';
import { randomVectorBytes } from './constants.ts';
import { EVERYTHING } from './differential.ts';
import { encode } from './encode.ts';
import { OPERANDS_ADDRESS, casesOf, opcodeModule, type OpcodeCase } from './opcode-module.ts';
import {
  MEMORY_OPCODES,
  SCALAR_OPCODES,
  VECTOR_OPCODES,
  type Opcode,
  type ValueType,
} from './opcodes.ts';
import { functionOf, memoryOf } from './plain-run.ts';
import { Draws } from './random-source.ts';
import { canonicaliser } from './rewriters.ts';
import { describeFailure } from './scripted-host.ts';

const VECTORS = (() => {
  const draws = new Draws(0x5eed);
  return Array.from({ length: 14 }, () => randomVectorBytes(draws));
})();

const EDGES: Partial<Record<ValueType, readonly (readonly number[])[]>> = {
  i32: I32_EDGES.map((value) => littleEndian(BigInt(value >>> 0), 4)),
  i64: I64_EDGES.map((value) => littleEndian(BigInt.asUintN(64, value), 8)),
  f32: F32_EDGES.map((bits) => littleEndian(BigInt(bits), 4)),
  f64: F64_EDGES.map((bits) => littleEndian(bits, 8)),
  v128: VECTORS,
};

const ADDRESSES = [0, 1, 4094, 4095, 4096, 65519, 65520, 65528, 65531, 65532, 65535, 65536, -1];

/** Every combination of edge values for the operands; addresses for memory accesses. */
function rowsOf({ opcode }: OpcodeCase): readonly (readonly number[])[][] {
  const isMemory = opcode.immediate.kind.startsWith('memory');
  const lists = opcode.params.map((type, index) => {
    if (isMemory && index === 0) return ADDRESSES.map((at) => littleEndian(BigInt(at >>> 0), 4));
    const edges = EDGES[type] ?? [];
    // Three operands, or one of many cases: a few values do.
    return isMemory || opcode.params.length > 2 ? edges.slice(0, 6) : edges;
  });
  return lists.reduce<(readonly number[])[][]>(
    (rows, list) => rows.flatMap((row) => list.map((operand) => [...row, operand])),
    [[]],
  );
}

interface Side {
  readonly memory: () => Uint8Array;
  readonly call: (name: string) => void;
}

function plainSide(model: ReturnType<typeof opcodeModule>): Side {
  const module = new WebAssembly.Module(encode(model, canonicaliser(true)));
  const { exports } = new WebAssembly.Instance(module, { env: { block: () => undefined } });
  return {
    memory: () => new Uint8Array(memoryOf(exports).buffer),
    call: (name) => {
      functionOf(exports, name)();
    },
  };
}

function instrumentedSide(model: ReturnType<typeof opcodeModule>): Side {
  const { binary, layout } = instrument(encode(model), EVERYTHING, () => true);
  const buffer = () => memoryOf(exports, layout.memory.exportName).buffer;
  const control = () => new Int32Array(buffer(), layout.controlBase, 4);
  const env = {
    block: () => {
      const words = control();
      words[CONTROL.state] = words[CONTROL.state] === 0 ? 1 : 0;
    },
  };
  const athanor = {
    preempt: () => undefined,
    trap: () => undefined,
    grow: () => GROWS_IN_PLACE,
  };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(binary), { env, athanor });
  return {
    memory: () => new Uint8Array(buffer(), layout.guestBaseBytes),
    call: (name) => {
      const words = control();
      words[CONTROL.fuel] = 1_000_000;
      words[CONTROL.depth] = layout.depthBudgetBytes;
      words[CONTROL.shadowSp] = layout.shadowStackTop;
      functionOf(exports, name)();
      expect(words[CONTROL.state]).toBe(1);
      words[CONTROL.state] = 2;
      functionOf(exports, name)();
    },
  };
}

function run(side: Side, name: string, row: readonly (readonly number[])[]): string {
  const memory = side.memory();
  memory.fill(0xa5);
  row.forEach((operand, index) => {
    memory.set(operand, OPERANDS_ADDRESS + 16 * index);
  });
  try {
    side.call(name);
  } catch (error) {
    return describeFailure(error);
  }
  return 'returned';
}

function compare(opcodes: readonly Opcode[]): { rows: number; differences: string[] } {
  const cases = opcodes.flatMap(casesOf);
  const model = opcodeModule(cases);
  const plain = plainSide(model);
  const instrumented = instrumentedSide(model);
  const differences: string[] = [];
  let rows = 0;
  cases.forEach((entry, index) => {
    for (const row of rowsOf(entry)) {
      rows += 1;
      const expected = run(plain, `case${index}`, row);
      const actual = run(instrumented, `case${index}`, row);
      const same = Buffer.compare(plain.memory(), instrumented.memory()) === 0;
      if (expected === actual && same) continue;
      const operands = row.map((bytes) => Buffer.from(bytes).toString('hex')).join(' ');
      differences.push(`${entry.opcode.name} ${entry.immediates.join()} ${operands}: ${actual}`);
    }
  });
  return { rows, differences };
}

describe('each opcode on edge values, its operands kept over a suspension, against plain V8', () => {
  const groups: readonly (readonly [string, readonly Opcode[], number])[] = [
    ['scalar', SCALAR_OPCODES, 40_000],
    ['vector', VECTOR_OPCODES, 20_000],
    ['memory access', MEMORY_OPCODES, 1_500],
  ];
  for (const [name, opcodes, rowsMin] of groups) {
    it(`${name} opcodes give the same results, traps and memory`, () => {
      const { rows, differences } = compare(opcodes);
      expect(differences.slice(0, 10)).toEqual([]);
      expect(rows).toBeGreaterThan(rowsMin);
    });
  }

  it('the table knows every opcode of the 2.0 core once', () => {
    const all = [...SCALAR_OPCODES, ...VECTOR_OPCODES, ...MEMORY_OPCODES];
    const keys = new Set(all.map(({ prefix, code }) => `${prefix} ${code}`));
    expect(keys.size).toBe(all.length);
    expect(SCALAR_OPCODES).toHaveLength(136);
    expect(VECTOR_OPCODES.length + MEMORY_OPCODES.length).toBe(236 - 1 + 23);
  });
});
