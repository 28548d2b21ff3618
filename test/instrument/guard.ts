import { opcode, plain, zero } from './instructions.ts';
import type { Block, Instruction } from './model.ts';
import type { ValueType } from './opcodes.ts';

/** The global that holds the budget: loop headers and function entries that may still run. */
export const BUDGET_GLOBAL = 0;

/**
 * What makes each generated program end: at the entry of a function and at each pass of a loop,
 * `if (budget == 0) return zeros; budget -= 1`. The encoder adds it, so no shrinker can remove it.
 */
export function guard(results: readonly ValueType[]): Instruction[] {
  const budget = plain('global.get', [0x23, BUDGET_GLOBAL], [], ['i32']);
  const leave: Block = {
    kind: 'block',
    name: 'if',
    typeIndex: null,
    shape: { params: [], results: [] },
    body: [...results.map(zero), plain('return', [0x0f], results, [], { terminal: true })],
    otherwise: null,
    handlers: [],
    clauses: [],
    delegate: 0,
  };
  return [
    budget,
    opcode('i32.eqz'),
    leave,
    budget,
    plain('i32.const', [0x41, 1], [], ['i32']),
    opcode('i32.sub'),
    plain('global.set', [0x24, BUDGET_GLOBAL], ['i32'], []),
  ];
}
