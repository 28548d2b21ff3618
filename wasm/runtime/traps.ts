/**
 * Stable names for traps. Engines word their messages differently; the names come from the
 * WebAssembly core test suite's wording. The order matters: the first match wins.
 */
const TRAPS: readonly (readonly [pattern: RegExp, code: string])[] = [
  [/unreachable/, 'unreachable'],
  [/table index|table access|element segment|out of bounds table/, 'out-of-bounds-table'],
  [/memory access|out of bounds memory|data segment|memory.*out of bounds/, 'out-of-bounds-memory'],
  [/divide result unrepresentable|integer overflow/, 'integer-overflow'],
  [/divide by zero|remainder by zero|integer divide/, 'integer-divide-by-zero'],
  [/float unrepresentable|invalid conversion/, 'invalid-conversion-to-integer'],
  [/null function|signature mismatch|indirect call/, 'indirect-call-type-mismatch'],
  [/null reference|null pointer|dereferencing/, 'null-reference'],
];

/** The stable code of a trap with this message. */
export function trapCode(message: string): string {
  for (const [pattern, code] of TRAPS) if (pattern.test(message)) return code;
  return 'trap';
}
