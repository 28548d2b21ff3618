import { TYPE, type ValueType } from '../binary/types.ts';
import type { ByteWriter } from '../binary/writer.ts';

/** Hands out our locals behind the guest's own and writes the declarations. */
export class LocalSpace {
  /** Of the guest's locals, then ours. */
  readonly types: ValueType[];
  private readonly slots = new Map<number, number>();
  private readonly paramCount: number;

  constructor(guestLocals: readonly ValueType[], paramCount: number) {
    this.types = [...guestLocals];
    this.paramCount = paramCount;
  }

  /** A new local. */
  add(type: ValueType): number {
    this.types.push(type);
    return this.types.length - 1;
  }

  /** The local that holds the operand at a height of the stack; one for each height and type. */
  slot(height: number, type: ValueType): number {
    return this.keyed(height * 256 + type, type);
  }

  /** A scratch local that lives within one instruction; `use` tells several of a type apart. */
  scratch(type: ValueType, use: number): number {
    return this.keyed(-(use * 256 + type) - 1, type);
  }

  private keyed(key: number, type: ValueType): number {
    const known = this.slots.get(key);
    if (known !== undefined) return known;
    const local = this.add(type);
    this.slots.set(key, local);
    return local;
  }

  /** Writes the declarations of the fast copy: all but the parameters, which ours follow. */
  writeDeclarations(writer: ByteWriter): void {
    writeRuns(writer, this.types.slice(this.paramCount));
  }

  /** Those of the slow copy, where the parameters are plain locals and the counter stands behind. */
  writeSlowDeclarations(writer: ByteWriter, fuel: boolean): void {
    const params = this.types.slice(0, this.paramCount);
    writeRuns(writer, [
      ...params,
      ...(fuel ? [TYPE.i32] : []),
      ...this.types.slice(this.paramCount),
    ]);
  }
}

function writeRuns(writer: ByteWriter, types: readonly ValueType[]): void {
  const runs: [count: number, type: ValueType][] = [];
  for (const type of types) {
    const last = runs.at(-1);
    if (last?.[1] === type) last[0] += 1;
    else runs.push([1, type]);
  }
  writer.u32(runs.length);
  for (const [count, type] of runs) {
    writer.u32(count);
    writer.byte(type);
  }
}
