import { malformed, refused, tooLarge } from './errors.ts';
import { IMMEDIATE, OPCODE_IMMEDIATES } from './opcodes.ts';
import { ByteReader } from './reader.ts';

/** Longest br_table (V8: kV8MaxWasmFunctionBrTableSize). */
const TABLE_MAX = 65_520;

/** Walks instructions. After `next()` the fields hold the one just read. */
export class InstructionReader extends ByteReader {
  op = 0;
  /** Offset of the opcode. */
  start = 0;
  /** First immediate: an index, a label, a constant's low bits, or the alignment. */
  a = 0;
  /** Second immediate: a table or segment, or the static offset. */
  b = 0;
  /** Labels of the last br_table, the default last; or clauses of a try_table, three numbers each. */
  labels: number[] = [];

  next(): void {
    const start = this.position;
    this.start = start;
    this.a = 0;
    this.b = 0;
    const first = this.byte();
    this.op = first < 0xfc ? first : this.prefixed(first);
    const kind = OPCODE_IMMEDIATES[this.op];
    if (kind > IMMEDIATE.none) this.immediates(kind);
    else if (kind === IMMEDIATE.unknown) throw unknownOpcode(start, first);
  }

  private prefixed(first: number): number {
    const sub = this.u32();
    if (first === 0xfc && sub < 0x100) return 0x100 | sub;
    if (first === 0xfd && sub < 0x100) return 0x200 | sub;
    if (first === 0xfd) throw refused(this.start, 'relaxed SIMD', 'build without relaxed-simd');
    if (first === 0xfe) throw refused(this.start, 'threads and atomics', 'build without threads');
    throw malformed(this.start, `unknown instruction 0x${first.toString(16)} ${sub}`);
  }

  private immediates(kind: number): void {
    switch (kind) {
      case IMMEDIATE.label:
      case IMMEDIATE.func:
      case IMMEDIATE.local:
      case IMMEDIATE.global:
      case IMMEDIATE.table:
      case IMMEDIATE.data:
      case IMMEDIATE.elem:
      case IMMEDIATE.tag:
        this.a = this.u32();
        return;
      case IMMEDIATE.memoryAccess:
        this.memoryAccess();
        return;
      case IMMEDIATE.i32:
        this.a = this.s32();
        return;
      case IMMEDIATE.i64:
        this.skipS64();
        return;
      case IMMEDIATE.f32:
        this.skip(4);
        return;
      case IMMEDIATE.f64:
        this.skip(8);
        return;
      case IMMEDIATE.blockType:
        this.a = this.s33();
        return;
      case IMMEDIATE.heapType:
        this.a = this.byte();
        return;
      case IMMEDIATE.typeTable:
      case IMMEDIATE.elemTable:
      case IMMEDIATE.tableTable:
        this.a = this.u32();
        this.b = this.u32();
        return;
      default:
        this.rareImmediates(kind);
    }
  }

  private rareImmediates(kind: number): void {
    switch (kind) {
      case IMMEDIATE.labelTable:
        this.labelTable();
        return;
      case IMMEDIATE.memory:
        this.zero();
        return;
      case IMMEDIATE.dataMemory:
        this.a = this.u32();
        this.zero();
        return;
      case IMMEDIATE.memoryMemory:
        this.zero();
        this.zero();
        return;
      case IMMEDIATE.lane:
        this.a = this.byte();
        return;
      case IMMEDIATE.bytes16:
        this.skip(16);
        return;
      case IMMEDIATE.memoryLane:
        this.memoryAccess();
        this.byte();
        return;
      case IMMEDIATE.selectTypes: {
        const at = this.position;
        if (this.u32() !== 1) throw malformed(at, 'a select has not one type');
        this.a = this.byte();
        return;
      }
      default:
        this.tryTable();
    }
  }

  private memoryAccess(): void {
    const at = this.position;
    this.a = this.u32();
    if (this.a >= 0x40) throw refused(at, 'more than one memory', 'build with a single memory');
    this.b = this.u32();
  }

  private zero(): void {
    const at = this.position;
    if (this.byte() !== 0) throw malformed(at, 'a memory index is not zero');
  }

  private labelTable(): void {
    const at = this.position;
    const count = this.count();
    if (count > TABLE_MAX) throw tooLarge(at, 'br_table entries', TABLE_MAX);
    const labels: number[] = [];
    for (let index = 0; index <= count; index += 1) labels.push(this.u32());
    this.labels = labels;
  }

  /** A block type, then clauses: kind, tag (0 for catch_all), label. */
  private tryTable(): void {
    this.a = this.s33();
    const at = this.position;
    const count = this.count();
    if (count > TABLE_MAX) throw tooLarge(at, 'catch clauses', TABLE_MAX);
    const labels: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const kind = this.byte();
      if (kind > 3) throw malformed(this.position - 1, `unknown catch clause ${kind}`);
      labels.push(kind, kind < 2 ? this.u32() : 0, this.u32());
    }
    this.labels = labels;
  }
}

function unknownOpcode(at: number, first: number): Error {
  if (first === 0xfb) {
    return refused(at, 'garbage-collected objects', 'build without the gc feature');
  }
  if (first === 0x14 || first === 0x15 || (first >= 0xd3 && first <= 0xd6)) {
    return refused(at, 'typed function references', 'build without function references');
  }
  if (first >= 0xe0 && first <= 0xe6) {
    return refused(at, 'stack switching', 'build without stack switching');
  }
  return malformed(at, `unknown instruction 0x${first.toString(16)}`);
}
