import type { ParsedModule } from '../binary/module.ts';
import { functionType, TYPE, type FunctionType, type ValueType } from '../binary/types.ts';
import type { HotSet, Survey } from './call-graph.ts';
import type { InstrumentOptions } from './options.ts';

/** Index spaces of the output and what each function of the module becomes. */
export interface ModulePlan {
  readonly module: ParsedModule;
  readonly options: InstrumentOptions;
  readonly survey: Survey;
  readonly hot: HotSet;
  /** Imported functions whose call may suspend. */
  readonly suspendingImports: Uint8Array;
  /** Output index of `athanor.preempt` and `athanor.trap`. */
  readonly preemptIndex: number;
  readonly trapIndex: number;
  /** Output index of `athanor.grow`; -1 where memory grows without a question. */
  readonly growIndex: number;
  readonly addedImportCount: number;
  readonly types: TypeSpace;
  /** Output index of a helper. */
  readonly helpers: ReadonlyMap<string, number>;
  /** Byte of each passive segment that code drops and uses, by `data<n>` or `elem<n>`. */
  readonly segmentFlags: ReadonlyMap<string, number>;
  /** Indexes of segments without content that stand in for dropped ones; -1 or absent when unused. */
  readonly emptyData: number;
  readonly emptyElements: ReadonlyMap<number, number>;
  /** The function of the module that stands for an import outside direct calls: its thunk. */
  target(index: number): number;
  /** Output index of the table of slow copies. */
  readonly resumeTable: number;
  /** Reference types that some frame saves; filled while code is written. */
  readonly references: Set<ValueType>;
  /** Tables are shared with other modules: their functions are entered through wrappers. */
  readonly openTables: boolean;
  /** Where this module's segment flags and globals are saved. */
  readonly flagsBase: number;
  readonly flagsBytes: number;
  readonly globalsBase: number;
  readonly globalsBytesMax: number;
  /** Bytes to add to each static offset: the reserve, or 0 without a memory of the guest. */
  readonly memoryShift: number;
  /** Pages that memory may have in all. */
  readonly physicalPagesMax: number;
}

/** The output index of a function of the input. */
export function mappedFunction(plan: ModulePlan, index: number): number {
  return index < plan.module.importedFunctionCount ? index : index + plan.addedImportCount;
}

/**
 * How functions of the guest are called in the output: the fuel counter travels in and out in
 * registers, as the last result and behind the guest's parameters; the stack bytes left travel in.
 */
export function convention(plan: Pick<ModulePlan, 'options'>, type: FunctionType): FunctionType {
  const { fuel, depth } = plan.options;
  if (!fuel && !depth) return type;
  const counters = [...(fuel ? [TYPE.i32] : []), ...(depth ? [TYPE.i32] : [])];
  const results = fuel ? [...type.results, TYPE.i32] : type.results;
  return functionType([...type.params, ...counters], results);
}

/** The type of a slow copy: stack bytes left -> results, fuel. */
export function slowType(plan: ModulePlan, type: FunctionType): FunctionType {
  const { fuel, depth } = plan.options;
  const results = fuel ? [...type.results, TYPE.i32] : type.results;
  return functionType(depth ? [TYPE.i32] : [], results);
}

/** The table in which references of a type are saved: one of the two behind the resume table. */
export function referenceTable(plan: ModulePlan, type: ValueType): number {
  return plan.resumeTable + (type === TYPE.funcref ? 1 : 2);
}

/** The output index that a reference to a function names. */
export function referenceIndex(plan: ModulePlan, index: number): number {
  const wrapper = plan.openTables ? plan.helpers.get(`table${plan.target(index)}`) : undefined;
  return wrapper ?? mappedFunction(plan, plan.target(index));
}

/** The output index that the host calls for a function. */
export function entryIndex(plan: ModulePlan, index: number): number {
  const target = plan.target(index);
  return plan.helpers.get(`enter${target}`) ?? mappedFunction(plan, target);
}

/** The module's types and those that we add. */
export class TypeSpace {
  readonly added: FunctionType[] = [];
  private readonly indexes = new Map<string, number>();
  private readonly base: number;

  constructor(types: readonly FunctionType[]) {
    this.base = types.length;
    types.forEach((type, index) => {
      if (!this.indexes.has(type.key)) this.indexes.set(type.key, index);
    });
  }

  /** The index of a type; adds it when missing. */
  index(type: FunctionType): number {
    const known = this.indexes.get(type.key);
    if (known !== undefined) return known;
    const index = this.base + this.added.length;
    this.added.push(type);
    this.indexes.set(type.key, index);
    return index;
  }
}
