import { joinData } from './merge-data.ts';
import { KIND, MODE, type ConstExpression, type ParsedModule } from '../binary/module.ts';
import { functionType, TYPE, type FunctionType } from '../binary/types.ts';
import { ByteReader } from '../binary/reader.ts';
import { ByteWriter } from '../binary/writer.ts';
import { CodeWriter } from './code-writer.ts';
import { CONTROL_BASE, RESERVE_BYTES, RESERVE_PAGES, SHADOW_STACK_TOP } from './layout.ts';
import { outputMode, writeConst, type Lowered } from './lowered-start.ts';
import { mappedFunction, referenceIndex, type ModulePlan } from './module-plan.ts';

/** One export of the output. */
export interface OutputExport {
  readonly name: string;
  readonly kind: number;
  readonly index: number;
}

export function writeType(writer: ByteWriter, type: FunctionType): void {
  writer.byte(0x60);
  for (const list of [type.params, type.results]) {
    writer.u32(list.length);
    for (const value of list) writer.byte(value);
  }
}

export function writeTypes(plan: ModulePlan): ByteWriter {
  const { types } = plan.module;
  const writer = new ByteWriter(types.length * 8 + 64);
  writer.u32(types.length + plan.types.added.length);
  for (const type of types) writeType(writer, type);
  for (const type of plan.types.added) writeType(writer, type);
  return writer;
}

/** The module's imports with its memory enlarged, then ours. */
export function writeImports(plan: ModulePlan): ByteWriter {
  const { module, types } = plan;
  const writer = new ByteWriter(1024);
  const addsMemory = importsOurMemory(plan);
  writer.u32(module.imports.length + plan.addedImportCount + (addsMemory ? 1 : 0));
  for (const entry of module.imports) {
    if (entry.kind !== KIND.memory) {
      writer.copy(module.bytes, entry.start, entry.end);
      continue;
    }
    writer.name(entry.module);
    writer.name(entry.name);
    writer.byte(KIND.memory);
    writeMemoryLimits(writer, plan);
  }
  const ours: [name: string, type: FunctionType][] = [
    ['preempt', functionType([], [])],
    ['trap', functionType([TYPE.i32], [])],
  ];
  if (plan.growIndex >= 0) ours.push(['grow', functionType([TYPE.i32], [TYPE.i32])]);
  for (const [name, type] of ours) {
    writer.name('athanor');
    writer.name(name);
    writer.byte(KIND.function);
    writer.u32(types.index(type));
  }
  if (addsMemory) {
    writer.name('athanor');
    writer.name('memory');
    writer.byte(KIND.memory);
    writer.byte(0);
    writer.u32(RESERVE_PAGES);
  }
  return writer;
}

/** An auxiliary module without memory takes the main module's for our data. */
export function importsOurMemory(plan: ModulePlan): boolean {
  return plan.module.memories.length === 0 && plan.options.sharedState === 'import';
}

/** Physical limits. The maximum is always stated, so that growth fails at the same size everywhere. */
function writeMemoryLimits(writer: ByteWriter, plan: ModulePlan): void {
  const memory = plan.module.memories[0];
  const min = (memory?.min ?? 0) + RESERVE_PAGES;
  writer.byte(1);
  writer.u32(min);
  writer.u32(Math.max(min, plan.physicalPagesMax));
}

export function writeMemories(plan: ModulePlan): ByteWriter | null {
  if (plan.module.importedMemoryCount > 0 || importsOurMemory(plan)) return null;
  const writer = new ByteWriter();
  writer.u32(1);
  writeMemoryLimits(writer, plan);
  return writer;
}

export function writeTables(plan: ModulePlan, resumeSlots: number): ByteWriter {
  const { module } = plan;
  const own = module.tables.slice(module.importedTableCount);
  const writer = new ByteWriter();
  writer.u32(own.length + 1 + (plan.references.size > 0 ? 2 : 0));
  for (const { type, min, max } of own) {
    writer.byte(type);
    writer.byte(max < 0 ? 0 : 1);
    writer.u32(min);
    if (max >= 0) writer.u32(max);
  }
  writer.byte(TYPE.funcref);
  writer.byte(1);
  writer.u32(resumeSlots);
  writer.u32(resumeSlots);
  if (plan.references.size === 0) return writer;
  for (const type of [TYPE.funcref, TYPE.externref]) {
    writer.byte(type);
    writer.byte(0);
    writer.u32(0);
  }
  return writer;
}

export function writeGlobals(plan: ModulePlan, lowered: Lowered): ByteWriter {
  const { module } = plan;
  const code = new CodeWriter(1024);
  code.u32(module.globals.length - module.importedGlobalCount);
  module.globals.forEach(({ type, mutable, init }, index) => {
    if (init === null) return;
    code.byte(type);
    if (lowered.globals.has(index)) {
      code.byte(1);
      code.zero(type);
    } else {
      code.byte(mutable ? 1 : 0);
      writeConst(code, plan, init);
    }
    code.end();
  });
  return code;
}

export function writeExports(exports: readonly OutputExport[]): ByteWriter {
  const writer = new ByteWriter(exports.length * 24 + 16);
  writer.u32(exports.length);
  for (const { name, kind, index } of exports) {
    writer.name(name);
    writer.byte(kind);
    writer.u32(index);
  }
  return writer;
}

/** The module's segments, then the stand-ins for dropped ones, then the table of slow copies. */
export function writeElements(
  plan: ModulePlan,
  lowered: Lowered,
  slowIndexes: readonly number[],
): ByteWriter {
  const { module } = plan;
  const code = new CodeWriter(4096);
  code.u32(module.elements.length + plan.emptyElements.size + 2);
  module.elements.forEach((segment, index) => {
    const mode = outputMode(segment.mode, lowered.elements.has(index));
    const kind = mode === MODE.active ? 2 : mode === MODE.passive ? 1 : 3;
    const byExpression = segment.expressions !== null;
    code.u32(kind | (byExpression ? 4 : 0));
    if (mode === MODE.active) {
      code.u32(segment.table);
      writeOffset(code, plan, segment.offset);
    }
    code.byte(byExpression ? segment.type : 0);
    writeItems(code, plan, segment);
  });
  for (const type of plan.emptyElements.keys()) {
    code.u32(5);
    code.byte(type);
    code.u32(0);
  }
  code.u32(2);
  code.u32(plan.resumeTable);
  code.i32Const(0);
  code.end();
  code.byte(0);
  code.u32(slowIndexes.length);
  for (const index of slowIndexes) code.u32(index);
  // Declares what `ref.func` may name: exports do it in the module, but ours are wrappers.
  code.u32(3);
  code.byte(0);
  const declared = [...plan.survey.referenced];
  code.u32(declared.length);
  for (const index of declared) code.u32(referenceIndex(plan, index));
  return code;
}

function writeOffset(code: CodeWriter, plan: ModulePlan, offset: ConstExpression | null): void {
  if (offset !== null) writeConst(code, plan, offset);
  code.end();
}

function writeItems(
  code: CodeWriter,
  plan: ModulePlan,
  segment: ParsedModule['elements'][number],
): void {
  if (segment.functions !== null) {
    code.u32(segment.functions.length);
    for (const index of segment.functions) {
      code.u32(referenceIndex(plan, index));
    }
    return;
  }
  const expressions = segment.expressions ?? [];
  code.u32(expressions.length);
  for (const expression of expressions) {
    writeConst(code, plan, expression);
    code.end();
  }
}

/** Data segments written behind the module's own. */
export function addedDataCount(plan: ModulePlan): number {
  return (plan.emptyData >= 0 ? 1 : 0) + (definesState(plan) ? 1 : 0);
}

function definesState(plan: ModulePlan): boolean {
  return plan.options.sharedState !== 'import';
}

export function writeData(
  plan: ModulePlan,
  lowered: Lowered,
  depthBudgetBytes: number,
): ByteWriter {
  const { module } = plan;
  const code = new CodeWriter(module.bytes.length >> 2);
  const written = joinData(module.data, addedDataCount(plan));
  code.u32(written.length + addedDataCount(plan));
  written.forEach(({ segment: { mode, offset }, pieces }, index) => {
    const first = offset?.instructions[0];
    if (mode === MODE.active && !lowered.data.has(index) && first) {
      code.u32(0);
      // Clamped: an address that does not fit is out of bounds in the plain module too.
      code.i32Const(Math.min((first.a >>> 0) + RESERVE_BYTES, 0xffffffff));
      code.end();
    } else code.u32(1);
    code.u32(
      pieces.reduce(
        (sum, { content, gapBytes }) => sum + gapBytes + content.end - content.start,
        0,
      ),
    );
    for (const { content, gapBytes } of pieces) {
      for (let gap = 0; gap < gapBytes; gap++) code.byte(0);
      code.copy(module.bytes, content.start, content.end);
    }
  });
  if (plan.emptyData >= 0) {
    code.u32(1);
    code.u32(0);
  }
  if (definesState(plan)) {
    code.u32(0);
    code.i32Const(CONTROL_BASE);
    code.end();
    const words = [0, SHADOW_STACK_TOP, 0, depthBudgetBytes];
    code.u32(words.length * 4);
    for (const word of words) {
      for (let shift = 0; shift < 32; shift += 8) code.byte((word >>> shift) & 0xff);
    }
  }
  return code;
}

/**
 * The name section with function indexes moved behind our imports; other subsections are dropped.
 * Null when there is none or it is damaged: names are a comfort, not part of the module.
 */
export function writeNames(plan: ModulePlan): ByteWriter | null {
  const section = plan.module.customs.find(({ name }) => name === 'name');
  if (!section) return null;
  try {
    const reader = new ByteReader(plan.module.bytes, section.start, section.end);
    while (reader.position < section.end) {
      const id = reader.byte();
      const size = reader.u32();
      if (id === 1) return moveNames(plan, reader);
      reader.skip(size);
    }
  } catch {
    return null;
  }
  return null;
}

function moveNames(plan: ModulePlan, reader: ByteReader): ByteWriter {
  const names = new ByteWriter(4096);
  const count = reader.count(2);
  names.u32(count);
  for (let item = 0; item < count; item += 1) {
    names.u32(mappedFunction(plan, reader.u32()));
    const size = reader.u32();
    names.u32(size);
    const from = reader.position;
    reader.skip(size);
    names.copy(reader.bytes, from, reader.position);
  }
  const writer = new ByteWriter(names.length + 16);
  writer.name('name');
  writer.byte(1);
  writer.u32(names.length);
  writer.copy(names.view());
  return writer;
}
