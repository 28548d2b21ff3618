import { OP } from '../binary/opcodes.ts';
import { functionType, type FunctionType } from '../binary/types.ts';
import { CodeWriter } from './code-writer.ts';
import { CONTROL, CONTROL_BASE, FUEL_MIN } from './layout.ts';
import type { ModulePlan } from './module-plan.ts';

const REWINDING = 2;

/**
 * What the host calls instead of a function that may suspend: starts it, or, when the state says
 * so, enters the slow copy of the frame on top of the shadow stack.
 */
export function buildWrapper(plan: ModulePlan, type: FunctionType, target: number): Uint8Array {
  const code = new CodeWriter(64);
  code.u32(0);
  code.loadControl(CONTROL.state);
  code.i32Const(REWINDING);
  code.byte(OP.i32Eq);
  code.byte(OP.if);
  code.blockType(functionType([], type.results), plan.types);
  code.loadControl(CONTROL.shadowSp);
  code.access(OP.i32Load, 2, 4);
  code.byte(OP.callIndirect);
  code.u32(plan.types.resumeType(type));
  code.u32(plan.resumeTable);
  code.else();
  type.params.forEach((_, index) => code.localGet(index));
  code.call(target);
  code.end();
  if (plan.options.fuel) restoreFuel(code);
  code.end();
  return code.view();
}

/** Puts the counter back that the first saved frame set aside. */
function restoreFuel(code: CodeWriter): void {
  code.loadControl(CONTROL.fuel);
  code.i32Const(FUEL_MIN);
  code.byte(OP.i32LtS);
  code.if();
  code.i32Const(0);
  code.loadControl(CONTROL.savedFuel);
  code.access(OP.i32Store, 2, CONTROL_BASE + 4 * CONTROL.fuel);
  code.end();
}
