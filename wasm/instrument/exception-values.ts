import type { ParsedModule } from '../binary/module.ts';
import { OP } from '../binary/opcodes.ts';
import { functionType, TYPE, type FunctionType, type ValueType } from '../binary/types.ts';
import type { CodeWriter } from './code-writer.ts';

/**
 * How a caught exception is kept as plain values: the number of its tag (0 is null, else the tag's
 * index plus one) and a cell for each parameter; tags share cells of equal type. The host throws
 * none of the module's tags, so nothing else can be caught.
 */
export class ExceptionValues {
  /** Types that stand for one exnref. */
  readonly types: readonly ValueType[];
  readonly tagCount: number;
  private readonly tags: readonly FunctionType[];
  /** Of each tag: the cell of each parameter. */
  private readonly cells: readonly (readonly number[])[];

  constructor(module: ParsedModule) {
    this.tags = module.tags;
    this.tagCount = module.tags.length;
    const cellTypes: ValueType[] = [TYPE.i32];
    this.cells = module.tags.map(({ params }) => {
      const used = new Set<number>();
      return params.map((type) => {
        let cell = 1;
        while (cell < cellTypes.length && (cellTypes[cell] !== type || used.has(cell))) cell += 1;
        if (cell === cellTypes.length) cellTypes.push(type);
        used.add(cell);
        return cell;
      });
    });
    this.types = cellTypes;
  }

  params(tag: number): readonly ValueType[] {
    return this.tags[tag].params;
  }

  /** Types with each exnref replaced. */
  expand(types: readonly ValueType[]): ValueType[] {
    return types.flatMap((type) => (type === TYPE.exnref ? this.types : [type]));
  }

  expandType(type: FunctionType): FunctionType {
    if (!type.params.includes(TYPE.exnref) && !type.results.includes(TYPE.exnref)) return type;
    return functionType(this.expand(type.params), this.expand(type.results));
  }

  /** Pops a tag's parameters into the cells that begin at local `first`, and notes the tag. */
  store(code: CodeWriter, tag: number, first: number): void {
    const cells = this.cells[tag];
    for (let item = cells.length - 1; item >= 0; item -= 1) code.localSet(first + cells[item]);
    // Cells of other tags must not keep what an earlier exception left there.
    for (let cell = 1; cell < this.types.length; cell += 1) {
      if (cells.includes(cell)) continue;
      code.zero(this.types[cell]);
      code.localSet(first + cell);
    }
    code.i32Const(tag + 1);
    code.localSet(first);
  }

  /** Pushes a tag's parameters from its cells. */
  loadParams(code: CodeWriter, tag: number, first: number): void {
    for (const cell of this.cells[tag]) code.localGet(first + cell);
  }

  /** Pushes all cells: the value itself. */
  load(code: CodeWriter, first: number): void {
    for (let cell = 0; cell < this.types.length; cell += 1) code.localGet(first + cell);
  }

  /** Pops the value into its cells. */
  set(code: CodeWriter, first: number): void {
    for (let cell = this.types.length - 1; cell >= 0; cell -= 1) code.localSet(first + cell);
  }

  /** Throws what the cells hold; null traps. */
  throwStored(code: CodeWriter, first: number): void {
    for (let tag = 0; tag < this.tagCount; tag += 1) {
      code.localGet(first);
      code.i32Const(tag + 1);
      code.byte(OP.i32Eq);
      code.if();
      this.loadParams(code, tag, first);
      code.opIndex(OP.throw, tag);
      code.end();
    }
    code.byte(OP.unreachable);
  }
}
