import { InstructionReader } from '../../binary/instruction.ts';
import { KIND, MODE, type ParsedModule } from '../../binary/module.ts';
import { OP } from '../../binary/opcodes.ts';
import { refused } from '../../binary/errors.ts';
import type { WireTarget, Wiring } from './wiring.ts';

/**
 * Encoders of components (wit-component) break the cycle between a module and what it imports by
 * two more modules: one of trampolines `(i32.const k) (call_indirect)` over a table that it
 * exports, and one that fills that table from an element segment and has no code. Both are only
 * wires, so we follow them once and leave them out: no table is shared by instances then.
 */

/** Of a module of trampolines: the table slot that each of its own functions calls. */
type Slots = readonly number[];

/** Follows trampolines and re-exports to what really serves an import. */
export class TrampolineResolver {
  /** Modules that are wires only. */
  readonly dissolved: ReadonlySet<number>;
  /** Functions that a filling module starts: the program's own initialisers. */
  readonly initialisers: readonly WireTarget[];
  private readonly wiring: Wiring;
  private readonly slots = new Map<number, Slots>();
  private readonly filled = new Map<number, Map<number, WireTarget>>();

  constructor(wiring: Wiring) {
    this.wiring = wiring;
    const dissolved = new Set<number>();
    wiring.modules.forEach((module, index) => {
      const slots = readTrampolines(module);
      if (slots === null) return;
      this.slots.set(index, slots);
      dissolved.add(index);
    });
    const initialisers: WireTarget[] = [];
    wiring.modules.forEach((module, index) => {
      if (module.importedTableCount === 0) return;
      this.fill(module, index);
      dissolved.add(index);
      if (module.start >= 0) initialisers.push(this.imported(index, module.start));
    });
    this.dissolved = dissolved;
    this.initialisers = initialisers;
  }

  /** What a target comes to; a chain is never longer than the modules' functions together. */
  resolve(target: WireTarget): WireTarget {
    let at = target;
    for (let steps = 0; ; steps++) {
      const next = this.follow(at);
      if (next === null) return at;
      if (steps === CHAIN_MAX)
        throw refused(0, 'core modules that import from each other in a circle', BUILD);
      at = next;
    }
  }

  /** The target one step on, or null when a real function is reached. */
  private follow(target: WireTarget): WireTarget | null {
    if (target.kind !== 'export') return null;
    const { module: at, name } = target;
    const module = this.wiring.modules[at];
    const exported = module.exports.find((one) => one.name === name);
    if (exported === undefined || exported.kind !== KIND.function) return null;
    if (exported.index < module.importedFunctionCount) return this.imported(at, exported.index);
    const slots = this.slots.get(at);
    if (slots === undefined) return null;
    const slot = slots[exported.index - module.importedFunctionCount];
    const next = this.filled.get(at)?.get(slot);
    if (next === undefined) throw refused(0, `a trampoline to slot ${slot}, which is empty`, BUILD);
    return next;
  }

  /** Reads what a filling module puts into the tables that it imports. */
  private fill(module: ParsedModule, index: number): void {
    const tables = module.imports.flatMap((item, place) =>
      item.kind === KIND.table ? [this.wiring.targets[index][place]] : [],
    );
    const plain =
      module.bodies.length === 0 &&
      module.data.length === 0 &&
      tables.every((table) => table.kind === 'export' && this.slots.has(table.module));
    if (!plain) throw sharedTable();
    for (const segment of module.elements) {
      const table = tables.at(segment.table);
      const [first, ...more] = segment.offset?.instructions ?? [];
      const constant = more.length === 0 && first?.op === OP.i32Const;
      if (segment.mode !== MODE.active || !constant || table?.kind !== 'export')
        throw sharedTable();
      const filled = this.filled.get(table.module) ?? new Map<number, WireTarget>();
      this.filled.set(table.module, filled);
      if (segment.functions === null) throw sharedTable();
      segment.functions.forEach((functionIndex, place) => {
        filled.set(first.a + place, this.imported(index, functionIndex));
      });
    }
  }

  /** What serves an imported function of a module. */
  private imported(at: number, functionIndex: number): WireTarget {
    const place = this.wiring.modules[at].imports.findIndex(
      (item) => item.kind === KIND.function && item.index === functionIndex,
    );
    if (place < 0) throw sharedTable();
    return this.wiring.targets[at][place];
  }
}

const CHAIN_MAX = 100_000;
const BUILD = 'build the component with wit-component, as jco, wasm-tools and cargo do';

function sharedTable(): Error {
  return refused(0, 'core modules that share a table', BUILD);
}

/** The slots of a module that consists of trampolines over one table of its own, else null. */
function readTrampolines(module: ParsedModule): Slots | null {
  const wiresOnly =
    module.imports.length === 0 &&
    module.tables.length === 1 &&
    module.memories.length === 0 &&
    module.globals.length === 0 &&
    module.elements.length === 0 &&
    module.data.length === 0 &&
    module.start < 0 &&
    module.bodies.length > 0 &&
    module.exports.some((one) => one.kind === KIND.table);
  if (!wiresOnly) return null;
  const slots: number[] = [];
  for (const [index, body] of module.bodies.entries()) {
    const slot = readTrampoline(module, index, body.start, body.end);
    if (slot < 0) return null;
    slots.push(slot);
  }
  return slots;
}

/** The slot that a function passes its arguments on to, or -1 if it does anything else. */
function readTrampoline(module: ParsedModule, index: number, start: number, end: number): number {
  const { type } = module.functions[index];
  const reader = new InstructionReader(module.bytes, start, end);
  if (reader.u32() !== 0) return -1;
  for (let param = 0; param < type.params.length; param++) {
    if (!reads(reader, OP.localGet) || reader.a !== param) return -1;
  }
  if (!reads(reader, OP.i32Const)) return -1;
  const slot = reader.a;
  if (!reads(reader, OP.callIndirect) || reader.b !== 0) return -1;
  if (module.types.at(reader.a)?.key !== type.key) return -1;
  return reads(reader, OP.end) && reader.position === end ? slot : -1;
}

/** Whether the next instruction is this one. */
function reads(reader: InstructionReader, op: number): boolean {
  reader.next();
  return reader.op === op;
}
