import { OP, opcodeBytes } from '../binary/opcodes.ts';
import { TYPE, type FunctionType, type ValueType } from '../binary/types.ts';
import { ByteWriter } from '../binary/writer.ts';
import { CONTROL_BASE } from './layout.ts';

const VOID_BLOCK = 0x40;

/** Where the locals of the input, ours, and the two counters stand in a function of the output. */
export interface LocalMapping {
  readonly paramCount: number;
  /** Added to the index of a parameter of the input, and of any other local. */
  readonly shiftParams: number;
  readonly shiftLocals: number;
  readonly fuelIndex: number;
  readonly depthIndex: number;
}

/** Names of the counters as locals: they are parameters, so their index depends on the function. */
export const FUEL_LOCAL = -1;
export const DEPTH_LOCAL = -2;

const NO_MAPPING: LocalMapping = {
  paramCount: 0,
  shiftParams: 0,
  shiftLocals: 0,
  fuelIndex: 0,
  depthIndex: 0,
};

/** Writes instructions. Each method emits what its name says. */
export class CodeWriter extends ByteWriter {
  private readonly mapping: LocalMapping;

  constructor(capacity: number, mapping: LocalMapping = NO_MAPPING) {
    super(capacity);
    this.mapping = mapping;
  }

  private local(opcode: number, local: number): void {
    const { mapping } = this;
    this.byte(opcode);
    if (local >= 0) {
      const { paramCount, shiftParams, shiftLocals } = mapping;
      this.u32(local + (local < paramCount ? shiftParams : shiftLocals));
    } else this.u32(local === FUEL_LOCAL ? mapping.fuelIndex : mapping.depthIndex);
  }

  op(opcode: number): void {
    if (opcode < 0x100) this.byte(opcode);
    else for (const byte of opcodeBytes(opcode)) this.byte(byte);
  }

  /** An opcode with one index. */
  opIndex(opcode: number, index: number): void {
    this.op(opcode);
    this.u32(index);
  }

  i32Const(value: number): void {
    this.byte(OP.i32Const);
    this.s32(value);
  }

  localGet(local: number): void {
    this.local(OP.localGet, local);
  }

  localSet(local: number): void {
    this.local(OP.localSet, local);
  }

  localTee(local: number): void {
    this.local(OP.localTee, local);
  }

  call(index: number): void {
    this.byte(OP.call);
    this.u32(index);
  }

  /** A load or store; `alignment` is a power of two's exponent. */
  access(opcode: number, alignment: number, offset: number): void {
    this.op(opcode);
    this.u32(alignment);
    this.u32(offset);
  }

  /** Pushes a control word. */
  loadControl(word: number): void {
    this.i32Const(0);
    this.access(OP.i32Load, 2, CONTROL_BASE + 4 * word);
  }

  /** Stores a local in a control word; leaves the operands as they are. */
  storeControl(word: number, local: number): void {
    this.i32Const(0);
    this.localGet(local);
    this.access(OP.i32Store, 2, CONTROL_BASE + 4 * word);
  }

  block(): void {
    this.byte(OP.block);
    this.byte(VOID_BLOCK);
  }

  loop(): void {
    this.byte(OP.loop);
    this.byte(VOID_BLOCK);
  }

  if(): void {
    this.byte(OP.if);
    this.byte(VOID_BLOCK);
  }

  else(): void {
    this.byte(OP.else);
  }

  end(): void {
    this.byte(OP.end);
  }

  br(label: number): void {
    this.byte(OP.br);
    this.u32(label);
  }

  brIf(label: number): void {
    this.byte(OP.brIf);
    this.u32(label);
  }

  /** Pushes zero or null. */
  zero(type: ValueType): void {
    switch (type) {
      case TYPE.i32:
        this.i32Const(0);
        return;
      case TYPE.i64:
        this.byte(OP.i64Const);
        this.byte(0);
        return;
      case TYPE.f32:
        this.byte(OP.f32Const);
        for (let index = 0; index < 4; index += 1) this.byte(0);
        return;
      case TYPE.f64:
        this.byte(OP.f64Const);
        for (let index = 0; index < 8; index += 1) this.byte(0);
        return;
      case TYPE.v128:
        this.op(OP.v128Const);
        for (let index = 0; index < 16; index += 1) this.byte(0);
        return;
      default:
        this.byte(OP.refNull);
        this.byte(type);
    }
  }

  /** A block type; `types` gives the index of one that is not just a value. */
  blockType(type: FunctionType, types: { index(type: FunctionType): number }): void {
    if (type.params.length > 0 || type.results.length > 1) this.s32(types.index(type));
    else this.byte(type.results.length === 0 ? VOID_BLOCK : type.results[0]);
  }

  zeros(types: readonly ValueType[]): void {
    for (const type of types) this.zero(type);
  }

  /** Loads a value of any numeric type at the address on the stack. */
  loadValue(type: ValueType, offset: number): void {
    const [opcode, alignment] = accessOf(type);
    this.access(opcode, alignment, offset);
  }

  storeValue(type: ValueType, offset: number): void {
    const [opcode, alignment] = accessOf(type);
    this.access(opcode === OP.v128Load ? OP.v128Store : opcode + 0x0e, alignment, offset);
  }
}

function accessOf(type: ValueType): readonly [opcode: number, alignment: number] {
  switch (type) {
    case TYPE.i64:
      return [OP.i64Load, 3];
    case TYPE.f32:
      return [OP.f32Load, 2];
    case TYPE.f64:
      return [OP.f64Load, 3];
    case TYPE.v128:
      return [OP.v128Load, 3];
    default:
      return [OP.i32Load, 2];
  }
}
