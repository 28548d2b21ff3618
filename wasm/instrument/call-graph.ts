import { malformed } from '../binary/errors.ts';
import { InstructionReader } from '../binary/instruction.ts';
import { KIND, type ParsedModule } from '../binary/module.ts';
import { OP } from '../binary/opcodes.ts';
import { isReference } from '../binary/types.ts';

/** What one quick look at all bodies tells. */
export interface Survey {
  /** Numbers of opcodes used, by opcode. */
  readonly opcodeUses: Uint32Array;
  /** Offset of the first use of each opcode, 0 when unused. */
  readonly opcodeOffsets: Uint32Array;
  /** Of all functions: bit 0 has a loop, bit 1 has a call, bit 2 grows memory. */
  readonly traits: Uint8Array;
  /** Pairs callee, caller of direct calls. */
  readonly calls: number[];
  /** Pairs type id, caller of indirect calls. */
  readonly indirectCalls: number[];
  /** Functions that a reference may name: in a segment, a `ref.func`, a constant. */
  readonly referenced: ReadonlySet<number>;
  /** Of all type indexes: equal for equal types. */
  readonly typeIds: Int32Array;
  readonly typeIdCount: number;
  /** Whether some function declares a local that holds a reference. */
  readonly hasReferenceLocals: boolean;
  /** Segments that code initialises memory from, and `segment,table` pairs of table.init. */
  readonly initPairs: ReadonlySet<string>;
  /** Segments that code drops, `data<n>` or `elem<n>`. */
  readonly dropped: ReadonlySet<string>;
  /** Whether some table is changed by code. */
  readonly tablesMutate: boolean;
}

export const TRAIT = { loop: 1, call: 2, growth: 4 } as const;

/** Reads every body once. Linear in the module's size. */
export function surveyModule(module: ParsedModule): Survey {
  const opcodeUses = new Uint32Array(0x300);
  const opcodeOffsets = new Uint32Array(0x300);
  const traits = new Uint8Array(module.functions.length);
  const calls: number[] = [];
  const indirectCalls: number[] = [];
  const referenced = segmentReferences(module);
  const { typeIds, typeIdCount } = numberTypes(module);
  const initPairs = new Set<string>();
  const dropped = new Set<string>();
  let hasReferenceLocals = false;
  const reader = new InstructionReader(module.bytes);
  module.bodies.forEach((body, index) => {
    const caller = module.importedFunctionCount + index;
    reader.position = body.start;
    reader.end = body.end;
    if (skipLocals(reader)) hasReferenceLocals = true;
    while (reader.position < body.end) {
      reader.next();
      const { op } = reader;
      if (opcodeUses[op]++ === 0) opcodeOffsets[op] = reader.start;
      if (op === OP.loop) traits[caller] |= TRAIT.loop;
      else if (op === OP.memoryGrow) traits[caller] |= TRAIT.growth;
      else if (op === OP.refFunc) referenced.add(reader.a);
      else if (op === OP.call || op === OP.returnCall) {
        traits[caller] |= TRAIT.call;
        if (reader.a >= module.functions.length) {
          throw malformed(reader.start, 'there is no such function');
        }
        calls.push(reader.a, caller);
      } else if (op === OP.callIndirect || op === OP.returnCallIndirect) {
        traits[caller] |= TRAIT.call;
        if (reader.a >= module.types.length) throw malformed(reader.start, 'there is no such type');
        indirectCalls.push(typeIds[reader.a], caller);
      } else if (op === OP.memoryInit) initPairs.add(`${reader.a}`);
      else if (op === OP.tableInit) initPairs.add(`${reader.a},${reader.b}`);
      else if (op === OP.dataDrop) dropped.add(`data${reader.a}`);
      else if (op === OP.elemDrop) dropped.add(`elem${reader.a}`);
    }
  });
  const tablesMutate = changesTables(opcodeUses);
  return {
    opcodeUses,
    opcodeOffsets,
    traits,
    calls,
    indirectCalls,
    referenced,
    typeIds,
    typeIdCount,
    initPairs,
    dropped,
    hasReferenceLocals,
    tablesMutate,
  };
}

/** Passes the declarations; whether one is of a reference. */
function skipLocals(reader: InstructionReader): boolean {
  let found = false;
  const groups = reader.count();
  for (let group = 0; group < groups; group += 1) {
    reader.u32();
    if (isReference(reader.byte())) found = true;
  }
  return found;
}

function changesTables(uses: Uint32Array): boolean {
  const changing = [OP.tableSet, OP.tableInit, OP.tableCopy, OP.tableGrow, OP.tableFill];
  return changing.some((op) => uses[op] > 0);
}

function segmentReferences(module: ParsedModule): Set<number> {
  const referenced = new Set<number>();
  for (const segment of module.elements) {
    for (const index of segment.functions ?? []) referenced.add(index);
    for (const expression of segment.expressions ?? []) {
      for (const { op, a } of expression.instructions) if (op === OP.refFunc) referenced.add(a);
    }
  }
  for (const global of module.globals) {
    for (const { op, a } of global.init?.instructions ?? []) {
      if (op === OP.refFunc) referenced.add(a);
    }
  }
  return referenced;
}

function numberTypes(module: ParsedModule): { typeIds: Int32Array; typeIdCount: number } {
  const ids = new Map<string, number>();
  const typeIds = new Int32Array(module.types.length);
  module.types.forEach((type, index) => {
    const known = ids.get(type.key);
    typeIds[index] = known ?? ids.size;
    if (known === undefined) ids.set(type.key, ids.size);
  });
  return { typeIds, typeIdCount: ids.size };
}

export interface HotSet {
  /** Of all functions, imports included: a call of it may suspend. */
  readonly functions: Uint8Array;
  /** Of type ids: an indirect call of that type may suspend. */
  readonly types: Uint8Array;
}

/**
 * Which calls may suspend: callers of suspending functions, transitively; an indirect call reaches
 * the referenced functions of its type, and anything at all when the table is shared (`openTables`).
 */
export function findHot(
  module: ParsedModule,
  survey: Survey,
  seeds: readonly number[],
  openTables: boolean,
): HotSet {
  const functions = new Uint8Array(module.functions.length);
  const types = new Uint8Array(survey.typeIdCount);
  const callers = groupPairs(survey.calls, module.functions.length);
  const indirect = groupPairs(survey.indirectCalls, survey.typeIdCount);
  const queue: number[] = [];
  const add = (index: number): void => {
    if (functions[index] === 1) return;
    functions[index] = 1;
    queue.push(index);
  };
  const addType = (id: number): void => {
    if (types[id] === 1) return;
    types[id] = 1;
    indirect.each(id, add);
  };
  if (openTables) for (let id = 0; id < survey.typeIdCount; id += 1) addType(id);
  for (const seed of seeds) add(seed);
  for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
    callers.each(index, add);
    if (survey.referenced.has(index)) addType(survey.typeIds[module.functions[index].typeIndex]);
  }
  return { functions, types };
}

/** Pairs (key, value) grouped by key in two flat arrays. */
function groupPairs(
  pairs: readonly number[],
  keyCount: number,
): { each(key: number, visit: (value: number) => void): void } {
  const starts = new Uint32Array(keyCount + 1);
  for (let at = 0; at < pairs.length; at += 2) starts[pairs[at] + 1] += 1;
  for (let key = 0; key < keyCount; key += 1) starts[key + 1] += starts[key];
  const next = starts.slice();
  const values = new Uint32Array(pairs.length / 2);
  for (let at = 0; at < pairs.length; at += 2) values[next[pairs[at]]++] = pairs[at + 1];
  return {
    each(key, visit) {
      for (let at = starts[key]; at < starts[key + 1]; at += 1) visit(values[at]);
    },
  };
}

/** Whether code outside the module can put functions into its tables. */
export function hasImportedTable(module: ParsedModule): boolean {
  return module.importedTableCount > 0;
}

export function exportsTable(module: ParsedModule): boolean {
  return module.exports.some((entry) => entry.kind === KIND.table);
}
