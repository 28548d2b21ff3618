import type { ParsedModule } from '../binary/module.ts';
import { OP } from '../binary/opcodes.ts';
import {
  functionType,
  isReference,
  TYPE,
  typeBytes,
  type FunctionType,
  type ValueType,
} from '../binary/types.ts';
import { CodeWriter } from './code-writer.ts';
import {
  CONTROL,
  DIRTY_MAP_BASE,
  GROWS_IN_PLACE,
  PAGE_BYTES,
  PAGE_MARK,
  PAGE_SHIFT,
  RESERVE_BYTES,
  RESERVE_PAGES,
  TRAP,
} from './layout.ts';
import { findLowered } from './lowered-start.ts';
import { referenceTable, type ModulePlan } from './module-plan.ts';

/** A function of ours: its type and its body with local declarations. */
export interface HelperFunction {
  readonly name: string;
  readonly type: FunctionType;
  build(plan: ModulePlan): Uint8Array;
}

const I32 = TYPE.i32;
const THREE = functionType([I32, I32, I32], []);
/** Destinations above this wrap around when the reserve is added; they trap in any case. */
const DESTINATION_MAX = 0x1_0000_0000 - 1 - RESERVE_BYTES;

/** Which helpers a module needs, in order of their function indexes. */
export function neededHelpers(plan: {
  module: ParsedModule;
  uses: Uint32Array;
  suspends: boolean;
  hasReferences: boolean;
  initPairs: ReadonlySet<string>;
}): HelperFunction[] {
  const { module, uses, initPairs } = plan;
  const list: HelperFunction[] = [];
  if (plan.suspends) {
    for (const type of [TYPE.funcref, TYPE.externref]) {
      if (!plan.hasReferences) break;
      list.push({
        name: `keep${type}`,
        type: functionType([I32, type], []),
        build: (full) => buildKeep(full, type),
      });
    }
    list.push({ name: 'push', type: functionType([I32, I32, I32], [I32]), build: buildPush });
  }
  if (uses[OP.memoryGrow] > 0) {
    list.push({ name: 'grow', type: functionType([I32], [I32]), build: buildGrow });
  }
  if (uses[OP.memoryFill] > 0) list.push({ name: 'fill', type: THREE, build: buildFill });
  if (uses[OP.memoryCopy] > 0) list.push({ name: 'copy', type: THREE, build: buildCopy });
  for (const key of initPairs) {
    const [segment, table] = key.split(',').map(Number);
    if (key.includes(',')) {
      list.push({
        name: `tableInit${key}`,
        type: THREE,
        build: (full) => buildTableInit(full, segment, table),
      });
    } else {
      list.push({ name: `init${key}`, type: THREE, build: (full) => buildInit(full, segment) });
    }
  }
  const globals = savedGlobals(module);
  if (globals.length > 0) {
    const type = functionType([], []);
    list.push({ name: 'save', type, build: (full) => buildSave(full, globals) });
    list.push({ name: 'load', type, build: (full) => buildLoad(full, globals) });
  }
  return list;
}

export interface SavedGlobal {
  readonly index: number;
  readonly type: number;
  /** From GLOBALS_BASE, or -1 for a reference. */
  readonly offset: number;
}

/** The module's own globals that code sets (start code too), and their places in the area. */
export function savedGlobals(module: ParsedModule): SavedGlobal[] {
  const list: SavedGlobal[] = [];
  const lowered = findLowered(module).globals;
  let offset = 0;
  module.globals.forEach(({ type, mutable }, index) => {
    if ((!mutable && !lowered.has(index)) || index < module.importedGlobalCount) return;
    if (isReference(type)) list.push({ index, type, offset: -1 });
    else {
      list.push({ index, type, offset });
      offset += Math.max(8, typeBytes(type));
    }
  });
  return list;
}

export function savedGlobalsBytes(globals: readonly SavedGlobal[]): number {
  return globals.reduce(
    (end, { offset, type }) =>
      offset < 0 ? end : Math.max(end, offset + Math.max(8, typeBytes(type))),
    0,
  );
}

function begin(locals: readonly [count: number, type: number][]): CodeWriter {
  const code = new CodeWriter(128);
  code.u32(locals.length);
  for (const [count, type] of locals) {
    code.u32(count);
    code.byte(type);
  }
  return code;
}

function finish(code: CodeWriter): Uint8Array {
  code.end();
  return code.view();
}

/** (index, reference): saves a reference of a frame; its table grows with the depth of the stack. */
function buildKeep(plan: ModulePlan, type: ValueType): Uint8Array {
  const code = begin([]);
  const table = referenceTable(plan, type);
  if (plan.references.size > 0) {
    code.localGet(0);
    code.opIndex(OP.tableSize, table);
    code.byte(OP.i32GeU);
    code.if();
    code.zero(type);
    code.localGet(0);
    code.i32Const(REFERENCES_ADDED);
    code.byte(OP.i32Add);
    code.opIndex(OP.tableSize, table);
    code.byte(OP.i32Sub);
    code.opIndex(OP.tableGrow, table);
    code.i32Const(0);
    code.byte(OP.i32LtS);
    code.if();
    code.i32Const(TRAP.hostMemory);
    code.call(plan.trapIndex);
    code.byte(OP.unreachable);
    code.end();
    code.end();
    code.localGet(0);
    code.localGet(1);
    code.opIndex(OP.tableSet, table);
  }
  return finish(code);
}

/** Entries that a table of saved references grows by. */
const REFERENCES_ADDED = 256;

/** (site, slot, bytes) -> address: a new frame with its header. A full stack ends below 0: a trap. */
function buildPush(): Uint8Array {
  const code = begin([]);
  const [site, slot, bytes] = [0, 1, 2];
  code.loadControl(CONTROL.shadowSp);
  code.localGet(bytes);
  code.byte(OP.i32Sub);
  code.localTee(bytes);
  code.localGet(site);
  code.access(OP.i32Store, 2, 0);
  code.localGet(bytes);
  code.localGet(slot);
  code.access(OP.i32Store, 2, 4);
  code.storeControl(CONTROL.shadowSp, bytes);
  code.localGet(bytes);
  return finish(code);
}

/**
 * memory.grow; below the cap a refusal is the host's failure, not the guest's. The real cap of an
 * imported memory is not known here: its refusals are taken as they are.
 */
function buildGrow(plan: ModulePlan): Uint8Array {
  const code = begin([[1, I32]]);
  if (plan.growIndex >= 0) returnIfHostGrows(code, plan);
  code.localGet(0);
  code.byte(OP.memoryGrow);
  code.byte(0);
  code.localTee(1);
  code.i32Const(-1);
  code.byte(OP.i32Eq);
  code.if();
  if (plan.module.importedMemoryCount === 0) trapBelowCap(code, plan);
  code.i32Const(-1);
  code.byte(OP.return);
  code.end();
  if (plan.options.dirtyPages) markGrown(code, { delta: 0, before: 1 });
  code.localGet(1);
  code.i32Const(RESERVE_PAGES);
  code.byte(OP.i32Sub);
  return finish(code);
}

/** The host has enlarged memory, or the guest is to stop for that. */
function returnIfHostGrows(code: CodeWriter, plan: ModulePlan): void {
  code.localGet(0);
  code.call(plan.growIndex);
  code.localTee(1);
  code.i32Const(GROWS_IN_PLACE);
  code.byte(OP.i32Ne);
  code.if();
  code.localGet(1);
  code.byte(OP.return);
  code.end();
}

/** The pages that came are untouched; `before` is the size in physical 64 KiB pages. */
function markGrown(code: CodeWriter, locals: { delta: number; before: number }): void {
  code.localGet(locals.before);
  code.i32Const(RESERVE_PAGES);
  code.byte(OP.i32Sub);
  code.i32Const(16 - PAGE_SHIFT);
  code.byte(OP.i32Shl);
  code.i32Const(DIRTY_MAP_BASE);
  code.byte(OP.i32Add);
  code.i32Const(PAGE_MARK.untouched);
  code.localGet(locals.delta);
  code.i32Const(16 - PAGE_SHIFT);
  code.byte(OP.i32Shl);
  code.op(OP.memoryFill);
  code.byte(0);
}

/** pagesMax - size < delta, unsigned: the guest asked for too much; else the host had too little. */
function trapBelowCap(code: CodeWriter, plan: ModulePlan): void {
  code.localGet(0);
  code.i32Const(plan.physicalPagesMax);
  code.byte(OP.memorySize);
  code.byte(0);
  code.byte(OP.i32Sub);
  code.byte(OP.i32LeU);
  code.if();
  code.i32Const(TRAP.hostMemory);
  code.call(plan.trapIndex);
  code.byte(OP.unreachable);
  code.end();
}

/** Replaces the address in a local by the physical one; too high ones stay out of bounds. */
function shiftAddress(code: CodeWriter, local: number): void {
  code.i32Const(-1);
  code.localGet(local);
  code.i32Const(RESERVE_BYTES);
  code.byte(OP.i32Add);
  code.localGet(local);
  code.i32Const(DESTINATION_MAX | 0);
  code.byte(OP.i32GtU);
  code.byte(OP.select);
  code.localSet(local);
}

/** Marks the pages of `length` bytes at the physical address in `address`, after the write. */
function markRange(
  plan: ModulePlan,
  code: CodeWriter,
  locals: { address: number; length: number; page: number; last: number },
): void {
  if (!plan.options.dirtyPages) return;
  const { address, length, page, last } = locals;
  code.localGet(length);
  code.if();
  code.localGet(address);
  code.i32Const(RESERVE_BYTES);
  code.byte(OP.i32Sub);
  code.localTee(page);
  code.localGet(length);
  code.byte(OP.i32Add);
  code.i32Const(1);
  code.byte(OP.i32Sub);
  code.i32Const(PAGE_SHIFT);
  code.byte(OP.i32ShrU);
  code.localSet(last);
  code.localGet(page);
  code.i32Const(PAGE_SHIFT);
  code.byte(OP.i32ShrU);
  code.localTee(page);
  code.i32Const(1);
  code.access(OP.i32Store8, 0, DIRTY_MAP_BASE);
  code.localGet(last);
  code.i32Const(1);
  code.access(OP.i32Store8, 0, DIRTY_MAP_BASE);
  code.localGet(last);
  code.localGet(page);
  code.byte(OP.i32Sub);
  code.localTee(last);
  code.i32Const(1);
  code.byte(OP.i32GtU);
  code.if();
  code.localGet(page);
  code.i32Const(DIRTY_MAP_BASE);
  code.byte(OP.i32Add);
  code.i32Const(1);
  code.localGet(last);
  code.op(OP.memoryFill);
  code.byte(0);
  code.end();
  code.end();
}

/** Shorter fills than this are done without a look at the map. */
const FILL_BY_PAGES_MIN = 2 * PAGE_BYTES;

function buildFill(plan: ModulePlan): Uint8Array {
  const code = begin([[3, I32]]);
  shiftAddress(code, 0);
  if (plan.options.dirtyPages) clearByPages(code, { page: 3, mark: 4, end: 5 });
  for (const local of [0, 1, 2]) code.localGet(local);
  code.op(OP.memoryFill);
  code.byte(0);
  markRange(plan, code, { address: 0, length: 2, page: 3, last: 4 });
  return finish(code);
}

/**
 * Clears a long range page by page and returns; falls through to the plain fill when it is another
 * value, or a short range, or one that ends beyond 2^32 and traps. Pages that were never written are
 * left alone: they cost a host a page fault each, and would count as changed. Go's allocator clears
 * megabytes of memory that has just grown.
 */
function clearByPages(code: CodeWriter, locals: { page: number; mark: number; end: number }): void {
  const [address, value, length] = [0, 1, 2];
  const { end } = locals;
  code.localGet(value);
  code.i32Const(0xff);
  code.byte(OP.i32And);
  code.byte(OP.i32Eqz);
  code.localGet(length);
  code.i32Const(FILL_BY_PAGES_MIN);
  code.byte(OP.i32GeU);
  code.byte(OP.i32And);
  code.localGet(address);
  code.localGet(length);
  code.byte(OP.i32Add);
  code.localTee(end);
  code.localGet(address);
  code.byte(OP.i32GtU);
  code.byte(OP.i32And);
  code.if();
  // Filling nothing at the end traps where filling all of it would.
  code.localGet(end);
  code.i32Const(0);
  code.i32Const(0);
  code.op(OP.memoryFill);
  code.byte(0);
  loadMarkAt(code, address, DIRTY_MAP_BASE - 1);
  code.localSet(value);
  code.loop();
  clearPage(code, { address, length, before: value, ...locals });
  code.localGet(address);
  code.localGet(length);
  code.byte(OP.i32Add);
  code.localTee(address);
  code.localGet(end);
  code.byte(OP.i32Ne);
  code.brIf(0);
  code.end();
  code.byte(OP.return);
  code.end();
}

/** Pushes a byte of the dirty map for the page of a physical address. */
function loadMarkAt(code: CodeWriter, address: number, base: number): void {
  code.localGet(address);
  code.i32Const(RESERVE_BYTES);
  code.byte(OP.i32Sub);
  code.i32Const(PAGE_SHIFT);
  code.byte(OP.i32ShrU);
  code.access(OP.i32Load8U, 0, base);
}

/**
 * Clears from `address` to the end of its page or to `end`; `length` becomes how much that is. `before`
 * is the mark that the page before had: a store there may have reached this page unmarked. Page 0
 * is never untouched.
 */
function clearPage(
  code: CodeWriter,
  locals: Record<'address' | 'length' | 'before' | 'page' | 'mark' | 'end', number>,
): void {
  const { address, length, before, page, mark, end } = locals;
  code.localGet(end);
  code.localGet(address);
  code.byte(OP.i32Sub);
  code.localTee(length);
  code.i32Const(PAGE_BYTES);
  code.localGet(address);
  code.i32Const(PAGE_BYTES - 1);
  code.byte(OP.i32And);
  code.byte(OP.i32Sub);
  code.localTee(page);
  code.localGet(length);
  code.localGet(page);
  code.byte(OP.i32LtU);
  code.byte(OP.select);
  code.localSet(length);
  loadMarkAt(code, address, DIRTY_MAP_BASE);
  code.localTee(mark);
  code.i32Const(PAGE_MARK.untouched);
  code.byte(OP.i32Ne);
  code.localGet(before);
  code.i32Const(PAGE_MARK.changed);
  code.byte(OP.i32Eq);
  code.byte(OP.i32Or);
  code.if();
  code.localGet(address);
  code.i32Const(0);
  code.localGet(length);
  code.op(OP.memoryFill);
  code.byte(0);
  code.localGet(address);
  code.i32Const(RESERVE_BYTES);
  code.byte(OP.i32Sub);
  code.i32Const(PAGE_SHIFT);
  code.byte(OP.i32ShrU);
  code.i32Const(PAGE_MARK.changed);
  code.access(OP.i32Store8, 0, DIRTY_MAP_BASE);
  code.end();
  code.localGet(mark);
  code.localSet(before);
}

function buildCopy(plan: ModulePlan): Uint8Array {
  const code = begin([[2, I32]]);
  shiftAddress(code, 0);
  shiftAddress(code, 1);
  for (const local of [0, 1, 2]) code.localGet(local);
  code.op(OP.memoryCopy);
  code.byte(0);
  code.byte(0);
  markRange(plan, code, { address: 0, length: 2, page: 3, last: 4 });
  return finish(code);
}

/** memory.init, which finds an empty segment once the guest has dropped this one. */
function buildInit(plan: ModulePlan, segment: number): Uint8Array {
  const code = begin([[2, I32]]);
  shiftAddress(code, 0);
  const flag = plan.segmentFlags.get(`data${segment}`);
  const init = (index: number): void => {
    for (const local of [0, 1, 2]) code.localGet(local);
    code.op(OP.memoryInit);
    code.u32(index);
    code.byte(0);
  };
  if (flag === undefined) init(segment);
  else {
    code.i32Const(0);
    code.access(OP.i32Load8U, 0, plan.flagsBase + flag);
    code.if();
    init(plan.emptyData);
    code.else();
    init(segment);
    code.end();
  }
  markRange(plan, code, { address: 0, length: 2, page: 3, last: 4 });
  return finish(code);
}

function buildTableInit(plan: ModulePlan, segment: number, table: number): Uint8Array {
  const code = begin([]);
  const flag = plan.segmentFlags.get(`elem${segment}`);
  const init = (index: number): void => {
    for (const local of [0, 1, 2]) code.localGet(local);
    code.op(OP.tableInit);
    code.u32(index);
    code.u32(table);
  };
  if (flag === undefined) init(segment);
  else {
    code.i32Const(0);
    code.access(OP.i32Load8U, 0, plan.flagsBase + flag);
    code.if();
    init(plan.emptyElements.get(plan.module.elements[segment].type) ?? 0);
    code.else();
    init(segment);
    code.end();
  }
  return finish(code);
}

function buildSave(plan: ModulePlan, globals: readonly SavedGlobal[]): Uint8Array {
  const code = begin([]);
  for (const { index, type, offset } of globals) {
    if (offset < 0) continue;
    code.i32Const(0);
    code.opIndex(OP.globalGet, index);
    code.storeValue(type, plan.globalsBase + offset);
  }
  return finish(code);
}

function buildLoad(plan: ModulePlan, globals: readonly SavedGlobal[]): Uint8Array {
  const code = begin([]);
  for (const { index, type, offset } of globals) {
    if (offset < 0) continue;
    code.i32Const(0);
    code.loadValue(type, plan.globalsBase + offset);
    code.opIndex(OP.globalSet, index);
  }
  return finish(code);
}
