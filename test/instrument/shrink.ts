import { encode } from './encode.ts';
import { plain, zero } from './instructions.ts';
import {
  moduleSize,
  type Block,
  type DefinedFunction,
  type Instruction,
  type ModuleModel,
} from './model.ts';
import type { ValueType } from './opcodes.ts';

type Body = readonly Instruction[];

function typesOf(instruction: Instruction): {
  pops: readonly ValueType[];
  pushes: readonly ValueType[];
} {
  if (instruction.kind === 'plain') return instruction;
  const { params, results } = instruction.shape;
  return { pops: instruction.name === 'if' ? [...params, 'i32'] : params, pushes: results };
}

/** Drops the operands, pushes zeros: what an instruction is replaced by. */
function stub(instruction: Instruction): Instruction[] {
  const { pops, pushes } = typesOf(instruction);
  return [
    ...[...pops].reverse().map((type) => plain('drop', [0x1a], [type], [])),
    ...pushes.map(zero),
  ];
}

function replaceAt(
  body: Body,
  from: number,
  to: number,
  by: readonly Instruction[],
): Instruction[] {
  return [...body.slice(0, from), ...by, ...body.slice(to)];
}

function* blockVariants(block: Block): Iterable<Block> {
  for (const body of bodyVariants(block.body)) yield { ...block, body };
  if (block.otherwise !== null) {
    for (const otherwise of bodyVariants(block.otherwise)) yield { ...block, otherwise };
  }
  for (let at = 0; at < block.handlers.length; at += 1) {
    yield { ...block, handlers: block.handlers.filter((_, index) => index !== at) };
    for (const body of bodyVariants(block.handlers[at].body)) {
      const handlers = block.handlers.map((handler, index) =>
        index === at ? { ...handler, body } : handler,
      );
      yield { ...block, handlers };
    }
  }
}

/** Simpler sequences, biggest cuts first; many are invalid and are thrown away by the caller. */
function* bodyVariants(body: Body): Iterable<Instruction[]> {
  for (let size = body.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from + size <= body.length; from += size) {
      yield replaceAt(body, from, from + size, []);
    }
  }
  for (let at = 0; at < body.length; at += 1) {
    const instruction = body[at];
    // A producer and the drop of what it produced, whatever stands between is kept.
    if (at + 1 < body.length) yield replaceAt(body, at, at + 2, []);
    if (instruction.kind === 'block') {
      yield replaceAt(body, at, at + 1, instruction.body);
      if (instruction.name === 'loop')
        yield replaceAt(body, at, at + 1, [{ ...instruction, name: 'block' }]);
    }
    const { pops, pushes } = typesOf(instruction);
    const isSmall =
      instruction.kind === 'plain' && pops.length === 0 && /const|ref.null/.test(instruction.name);
    if (!isSmall && !(instruction.kind === 'plain' && instruction.name === 'drop')) {
      if (pops.length > 0 || pushes.length > 0)
        yield replaceAt(body, at, at + 1, stub(instruction));
    }
    if (instruction.kind === 'block') {
      for (const simpler of blockVariants(instruction))
        yield replaceAt(body, at, at + 1, [simpler]);
    }
  }
}

function withFunction(
  model: ModuleModel,
  at: number,
  change: Partial<DefinedFunction>,
): ModuleModel {
  const functions = model.functions.map((other, index) =>
    index === at ? { ...other, ...change } : other,
  );
  return { ...model, functions };
}

/** Cuts that need no look into the code. */
function* coarseVariants(model: ModuleModel): Iterable<ModuleModel> {
  if (model.start !== null) yield { ...model, start: null };
  for (let at = 0; at < model.functions.length; at += 1) {
    const { type, body } = model.functions[at];
    const { results } = model.types[type];
    if (body.length > results.length) yield withFunction(model, at, { body: results.map(zero) });
  }
  for (let at = 0; at < model.data.length; at += 1) {
    if (model.data[at].bytes.length === 0) continue;
    const data = model.data.map((other, index) => (index === at ? { ...other, bytes: [] } : other));
    yield { ...model, data };
  }
  for (let at = 0; at < model.elements.length; at += 1) {
    if (model.elements[at].functions.length === 0) continue;
    const elements = model.elements.map((other, index) =>
      index === at ? { ...other, functions: [] } : other,
    );
    yield { ...model, elements };
  }
}

function* functionVariants(model: ModuleModel, at: number): Iterable<ModuleModel> {
  const { body, locals } = model.functions[at];
  for (const simpler of bodyVariants(body)) yield withFunction(model, at, { body: simpler });
  if (locals.length > 0) yield withFunction(model, at, { locals: locals.slice(0, -1) });
}

/**
 * The smallest module found that still fails. `fails` is called at most `attemptsMax` times, with
 * valid modules only.
 */
export function shrink(
  model: ModuleModel,
  fails: (candidate: ModuleModel) => boolean,
  attemptsMax: number,
): ModuleModel {
  let best = model;
  let attempts = 0;
  /** Takes the first variant that fails; false when none does or the attempts are used up. */
  const improve = (variants: Iterable<ModuleModel>): boolean => {
    for (const candidate of variants) {
      if (!WebAssembly.validate(encode(candidate))) continue;
      attempts += 1;
      if (attempts > attemptsMax) return false;
      if (!fails(candidate)) continue;
      best = candidate;
      return true;
    }
    return false;
  };
  for (let progress = true; progress;) {
    progress = false;
    while (improve(coarseVariants(best))) progress = true;
    for (let at = 0; at < best.functions.length; at += 1) {
      while (improve(functionVariants(best, at))) progress = true;
    }
  }
  return best;
}

/** Size of a shrunk module against the original, for reports. */
export function shrinkRatio(original: ModuleModel, shrunk: ModuleModel): string {
  return `${moduleSize(shrunk)} of ${moduleSize(original)} instructions`;
}
