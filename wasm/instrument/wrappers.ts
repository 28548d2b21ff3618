import { OP } from '../binary/opcodes.ts';
import { type FunctionType } from '../binary/types.ts';
import { CodeWriter } from './code-writer.ts';
import { CONTROL } from './layout.ts';
import type { ModulePlan } from './module-plan.ts';

const REWINDING = 2;

/**
 * What the host calls instead of a function that may suspend: starts it, or, when the state says
 * so, enters the slow copy of the frame on top of the shadow stack.
 */
export function buildWrapper(plan: ModulePlan, type: FunctionType, target: number): Uint8Array {
  const code = new CodeWriter(64);
  code.u32(0);
  code.block();
  code.loadControl(CONTROL.state);
  code.i32Const(REWINDING);
  code.byte(OP.i32Ne);
  code.brIf(0);
  code.loadControl(CONTROL.shadowSp);
  code.access(OP.i32Load, 2, 4);
  code.byte(OP.callIndirect);
  code.u32(plan.types.resumeType(type));
  code.u32(plan.resumeTable);
  code.byte(OP.return);
  code.end();
  type.params.forEach((_, index) => code.localGet(index));
  code.call(target);
  code.end();
  return code.view();
}
