import type { ParsedModule } from '../binary/module.ts';
import { OP } from '../binary/opcodes.ts';
import { TYPE } from '../binary/types.ts';
import type { Survey } from './call-graph.ts';

type OpcodeTest = (op: number) => boolean;

/** Features that an opcode shows, by the names of the specification's proposals. */
const BY_OPCODE: readonly (readonly [name: string, test: OpcodeTest])[] = [
  ['sign-extension', (op) => op >= 0xc0 && op <= 0xc4],
  ['saturating-float-to-int', (op) => op >= 0x100 && op <= 0x107],
  ['bulk-memory', (op) => op >= 0x108 && op <= 0x10e],
  ['reference-types', isReferenceOp],
  ['simd', (op) => op >= 0x200],
  ['tail-call', (op) => op === OP.returnCall || op === OP.returnCallIndirect],
  ['exceptions-legacy', isLegacyException],
  ['exnref', (op) => op === OP.tryTable || op === OP.throwRef],
];

function isReferenceOp(op: number): boolean {
  const table = op === OP.tableGet || op === OP.tableSet || (op >= 0x10f && op <= 0x111);
  return table || op === OP.selectTyped || (op >= OP.refNull && op <= OP.refFunc);
}

function isLegacyException(op: number): boolean {
  return (
    op === OP.try ||
    op === OP.catch ||
    op === OP.catchAll ||
    op === OP.rethrow ||
    op === OP.delegate
  );
}

/** The names of the features beyond the first version that a module uses, sorted. */
export function usedFeatures(module: ParsedModule, survey: Survey): readonly string[] {
  const found = new Set<string>();
  survey.opcodeUses.forEach((uses, op) => {
    if (uses === 0) return;
    for (const [name, test] of BY_OPCODE) if (test(op)) found.add(name);
  });
  const expressions = [
    ...module.globals.map(({ init }) => init),
    ...module.elements.map(({ offset }) => offset),
    ...module.data.map(({ offset }) => offset),
  ];
  if (expressions.some((expression) => expression?.extended)) found.add('extended-const');
  if (module.types.some(({ results }) => results.length > 1)) found.add('multi-value');
  if (module.tables.length > 1) found.add('reference-types');
  if (module.tags.length > 0 && !found.has('exnref')) found.add('exceptions-legacy');
  const types = module.types.flatMap(({ params, results }) => [...params, ...results]);
  if (types.includes(TYPE.exnref)) found.add('exnref');
  if (module.importedGlobalCount > 0 && importsMutable(module)) found.add('mutable-globals');
  return [...found].sort((a, b) => (a < b ? -1 : 1));
}

function importsMutable(module: ParsedModule): boolean {
  return module.globals.slice(0, module.importedGlobalCount).some(({ mutable }) => mutable);
}
