import { InstructionReader } from '../wasm/binary/instruction.ts';
import { KIND, parseModule, TYPE, type Range } from '../wasm/binary/index.ts';
import { OP } from '../wasm/binary/opcodes.ts';
import { ByteWriter } from '../wasm/binary/writer.ts';

const SECTION = { type: 1, function: 3, global: 6, export: 7, code: 10 } as const;
const NO_RESULT = 0x40;
const OPENERS: ReadonlySet<number> = new Set([OP.block, OP.loop, OP.if]);

/** Names of what `addFuel` exports. */
export const FUEL_GLOBAL = 'fuel';
export const REFUEL_FUNCTION = 'refuel';

/**
 * Fuel as it is added to a module by hand: a mutable global that each function's entry and each
 * head of a loop lowers by the number of instructions that lie directly in it, both ways of a
 * condition counted. Below zero an empty function is called, exported for another tool to replace.
 */
export function addFuel(binary: Uint8Array): Uint8Array {
  const module = parseModule(binary);
  const [global, refuel] = [module.globals.length, module.functions.length];
  const type = module.types.length;
  const writer = new ByteWriter(binary.length * 2);
  const reader = new InstructionReader(binary, 8);
  writer.copy(binary, 0, 8);
  while (reader.position < binary.length) {
    const id = reader.byte();
    const end = reader.u32() + reader.position;
    const section = new ByteWriter(end - reader.position);
    if (id === SECTION.type) {
      append(section, reader, end, [0x60, 0, 0]);
    } else if (id === SECTION.function) {
      append(section, reader, end, leb(type));
    } else if (id === SECTION.global) {
      append(section, reader, end, [TYPE.i32, 1, OP.i32Const, 0, OP.end]);
    } else if (id === SECTION.export) {
      const exports = new ByteWriter();
      exports.name(FUEL_GLOBAL);
      exports.byte(KIND.global);
      exports.u32(global);
      exports.name(REFUEL_FUNCTION);
      exports.byte(KIND.function);
      exports.u32(refuel);
      append(section, reader, end, exports.view(), 2);
    } else if (id === SECTION.code) {
      section.u32(module.bodies.length + 1);
      for (const body of module.bodies) {
        const code = fuelledBody(binary, body, global, refuel);
        section.u32(code.length);
        section.copy(code);
      }
      section.copy(Uint8Array.of(2, 0, OP.end));
    } else {
      section.copy(binary, reader.position, end);
    }
    writer.byte(id);
    writer.u32(section.length);
    writer.copy(section.view());
    reader.position = end;
  }
  return writer.view();
}

/** A vector with more at its end. */
function append(
  section: ByteWriter,
  reader: InstructionReader,
  end: number,
  bytes: Iterable<number>,
  count = 1,
): void {
  section.u32(reader.u32() + count);
  section.copy(reader.bytes, reader.position, end);
  section.copy(Uint8Array.from(bytes));
}

function leb(value: number): Uint8Array {
  const writer = new ByteWriter();
  writer.u32(value);
  return writer.view();
}

interface Charge {
  /** Where the code goes, and how many instructions it stands for. */
  readonly at: number;
  count: number;
}

function fuelledBody(binary: Uint8Array, body: Range, global: number, refuel: number): Uint8Array {
  const charges = findCharges(binary, body);
  const writer = new ByteWriter((body.end - body.start) * 2);
  let from = body.start;
  for (const { at, count } of charges) {
    writer.copy(binary, from, at);
    from = at;
    writer.byte(OP.globalGet);
    writer.u32(global);
    writer.byte(OP.i32Const);
    writer.s32(count);
    writer.byte(OP.i32Sub);
    writer.byte(OP.globalSet);
    writer.u32(global);
    writer.byte(OP.globalGet);
    writer.u32(global);
    writer.copy(Uint8Array.of(OP.i32Const, 0, OP.i32LtS, OP.if, NO_RESULT, OP.call));
    writer.u32(refuel);
    writer.byte(OP.end);
  }
  writer.copy(binary, from, body.end);
  return writer.view();
}

function findCharges(binary: Uint8Array, body: Range): readonly Charge[] {
  const reader = new InstructionReader(binary, body.start, body.end);
  for (let groups = reader.u32(); groups > 0; groups--) {
    reader.u32();
    reader.byte();
  }
  const charges: Charge[] = [{ at: reader.position, count: 0 }];
  const open = [charges[0] as Charge];
  while (reader.position < body.end) {
    reader.next();
    const current = open[open.length - 1] as Charge;
    current.count++;
    if (reader.op === OP.end) {
      open.pop();
    } else if (reader.op === OP.loop) {
      const charge = { at: reader.position, count: 0 };
      charges.push(charge);
      open.push(charge);
    } else if (OPENERS.has(reader.op)) {
      open.push(current);
    }
  }
  return charges;
}
