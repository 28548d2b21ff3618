import { OP } from '../binary/opcodes.ts';
import { functionType, TYPE, type FunctionType } from '../binary/types.ts';
import { CodeWriter } from './code-writer.ts';
import { CONTROL, FUEL_MIN } from './layout.ts';
import { slowType, type ModulePlan } from './module-plan.ts';

const REWINDING = 2;

/**
 * What the host and other modules' imports call instead of a function of the guest: it takes the
 * counters from memory and puts them back. While frames are to be restored it enters the slow copy of
 * the frame on top of the shadow stack instead.
 */
export function buildEntry(plan: ModulePlan, type: FunctionType, target: number): Uint8Array {
  const { fuel, depth } = plan.options;
  const paramCount = type.params.length;
  const code = new CodeWriter(64);
  code.u32(1);
  code.u32(2);
  code.byte(TYPE.i32);
  const [fuelLocal, depthLocal] = [paramCount, paramCount + 1];
  if (depth) {
    code.loadControl(CONTROL.depth);
    code.localSet(depthLocal);
  }
  const resumes = plan.options.suspend !== 'none';
  if (resumes) openResume(code, plan, type, depth ? depthLocal : -1);
  type.params.forEach((_, index) => code.localGet(index));
  if (fuel) code.loadControl(CONTROL.fuel);
  if (depth) code.localGet(depthLocal);
  code.call(target);
  if (resumes) code.end();
  if (fuel) {
    // A guest that unwinds says so here; its counter was written back before the import's call.
    code.localTee(fuelLocal);
    code.i32Const(FUEL_MIN);
    code.byte(OP.i32GeS);
    code.if();
    code.storeControl(CONTROL.fuel, fuelLocal);
    code.end();
  }
  if (depth) code.storeControl(CONTROL.depth, depthLocal);
  code.end();
  return code.view();
}

/** What a table that modules share holds: like the function itself, and it can be entered again. */
export function buildTableEntry(plan: ModulePlan, type: FunctionType, target: number): Uint8Array {
  const { fuel, depth } = plan.options;
  const code = new CodeWriter(64);
  code.u32(0);
  const count = type.params.length + (fuel ? 1 : 0) + (depth ? 1 : 0);
  openResume(code, plan, type, depth ? count - 1 : -1);
  for (let index = 0; index < count; index += 1) code.localGet(index);
  code.call(target);
  code.end();
  code.end();
  return code.view();
}

/** if rewinding, the slow copy of the top frame; else, up to the caller's `end`, the function. */
function openResume(code: CodeWriter, plan: ModulePlan, type: FunctionType, depth: number): void {
  const slow = slowType(plan, type);
  code.loadControl(CONTROL.state);
  code.i32Const(REWINDING);
  code.byte(OP.i32Eq);
  code.byte(OP.if);
  code.blockType(functionType([], slow.results), plan.types);
  if (depth >= 0) code.localGet(depth);
  code.loadControl(CONTROL.shadowSp);
  code.access(OP.i32Load, 2, 4);
  code.byte(OP.callIndirect);
  code.u32(plan.types.index(slow));
  code.u32(plan.resumeTable);
  code.else();
}
