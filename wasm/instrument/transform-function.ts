import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';
import { TYPE } from '../binary/types.ts';
import { DirtyPlan } from './dirty.ts';
import { FastEmitter } from './emit-fast.ts';
import { SlowEmitter } from './emit-slow.ts';
import type { FunctionPlan } from './emitter.ts';
import { Frames } from './frames.ts';
import { FuelPlan } from './fuel.ts';
import { computeLiveness } from './liveness.ts';
import { LocalSpace } from './locals.ts';
import type { ModulePlan } from './module-plan.ts';
import { NanPlan } from './nan.ts';
import { Sites } from './sites.ts';

export interface TransformedFunction {
  readonly fast: Uint8Array;
  /** Null when no frame of the function is ever saved. */
  readonly slow: Uint8Array | null;
  /** Whether memory.grow is the only place where a frame is saved. */
  readonly growsOnly: boolean;
  readonly siteCount: number;
  readonly frameBytesMax: number;
}

/**
 * Writes both copies of one decoded function. `slot`: where the slow copy will stand, or `growthSlot` for a
 * function that can stop at memory.grow alone: slots stand in images, and must not depend on that.
 */
export function transformFunction(
  plan: ModulePlan,
  body: Body,
  options: { index: number; slot: number; growthSlot: number },
): TransformedFunction {
  const hot = plan.hot.functions[options.index] === 1;
  const anywhere = plan.options.suspend === 'anywhere';
  const locals = new LocalSpace(body.locals, body.paramCount);
  const isSite = hot ? siteTest(plan, body) : (): boolean => false;
  const entryCheck = plan.options.fuel && (body.hasCall || body.hasLoop) && !beginsWithLoop(body);
  const fuel = plan.options.fuel ? new FuelPlan(body, entryCheck) : null;
  const sites = hot ? new Sites(body, isSite, anywhere && entryCheck) : null;
  const hasSites = sites !== null && sites.count > 0;
  const growsOnly = hasSites && sites.growthCount === sites.count;
  const nan = plan.options.nan && usesFloats(body) ? new NanPlan(body, isSite) : null;
  const dirty = plan.options.dirtyPages ? new DirtyPlan(body, locals, isSite) : null;
  const frames = hasSites
    ? new Frames(plan, body, {
        sites,
        liveness: computeLiveness(body, isSite, dirty?.use ?? null),
        locals,
        nan,
      })
    : null;
  const f: FunctionPlan = {
    plan,
    body,
    locals,
    fuel,
    nan,
    dirty,
    sites: hasSites ? sites : null,
    frames,
    slot: growsOnly ? options.growthSlot : options.slot,
    entryCheck,
    depthBytes: plan.options.depth && body.hasCall ? depthBytes(body) : 0,
    baseLocal: locals.add(TYPE.i32),
  };
  const fast = new FastEmitter(f).emit();
  const slow = hasSites && frames ? new SlowEmitter(f, sites, frames).emit() : null;
  return {
    fast,
    slow,
    growsOnly,
    siteCount: sites?.count ?? 0,
    frameBytesMax: frames?.bytesMax ?? 0,
  };
}

/** Whether nothing can leave or call before a first loop, whose check serves the entry too. */
function beginsWithLoop(body: Body): boolean {
  for (let index = 0; index < body.count; index += 1) {
    const op = body.op[index];
    if (op === OP.loop) return true;
    if (op !== OP.block && op < OP.drop && op !== OP.nop) return false;
  }
  return false;
}

/** Whether a frame may have to be saved at an instruction. */
function siteTest(plan: ModulePlan, body: Body): (index: number) => boolean {
  const { hot, survey, module } = plan;
  const loops = plan.options.suspend === 'anywhere';
  return (index) => {
    switch (body.op[index]) {
      case OP.call:
        return hot.functions[body.a[index]] === 1;
      case OP.callIndirect:
        return hot.types[survey.typeIds[body.a[index]]] === 1;
      case OP.returnCall:
        return body.a[index] < module.importedFunctionCount && hot.functions[body.a[index]] === 1;
      case OP.loop:
        return loops;
      case OP.memoryGrow:
        return plan.growIndex >= 0;
      default:
        return false;
    }
  };
}

/** Whether anything in the body can make a NaN. */
function usesFloats(body: Body): boolean {
  for (let index = 0; index < body.count; index += 1) {
    if (body.op[index] >= 0x8d) {
      const op = body.op[index];
      if (op <= 0xa5 || op === 0xb6 || op === 0xbb || op >= 0x25e) return true;
    }
  }
  return false;
}

/** Upper estimate of the machine stack of one call: every local and operand in its own slot. */
function depthBytes(body: Body): number {
  let wide = 0;
  for (const type of body.locals) if (type === TYPE.v128) wide += 8;
  return 64 + 8 * (body.locals.length + body.heightMax) + wide;
}
