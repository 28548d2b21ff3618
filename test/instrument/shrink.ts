import { encode } from './encode.ts';
import { plain, zero } from './instructions.ts';
import { moduleSize, type Block, type Instruction, type ModuleModel } from './model.ts';
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

function* moduleVariants(model: ModuleModel): Iterable<ModuleModel> {
  if (model.start !== null) yield { ...model, start: null };
  if (model.data.length > 0)
    yield { ...model, data: model.data.map((data) => ({ ...data, bytes: [] })) };
  for (let at = model.functions.length - 1; at >= 0; at -= 1) {
    const target = model.functions[at];
    const withFunction = (change: Partial<typeof target>): ModuleModel => ({
      ...model,
      functions: model.functions.map((other, index) =>
        index === at ? { ...other, ...change } : other,
      ),
    });
    const { results } = model.types[target.type];
    if (target.body.length > results.length) yield withFunction({ body: results.map(zero) });
    if (target.guarded && target.exportName === null) yield withFunction({ guarded: false });
    for (const body of bodyVariants(target.body)) yield withFunction({ body });
    for (let local = target.locals.length - 1; local >= 0; local -= 1) {
      yield withFunction({ locals: target.locals.slice(0, local) });
    }
  }
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
  for (let progress = true; progress;) {
    progress = false;
    for (const candidate of moduleVariants(best)) {
      if (!WebAssembly.validate(encode(candidate))) continue;
      attempts += 1;
      if (attempts > attemptsMax) return best;
      if (!fails(candidate)) continue;
      best = candidate;
      progress = true;
      break;
    }
  }
  return best;
}

/** Size of a shrunk module against the original, for reports. */
export function shrinkRatio(original: ModuleModel, shrunk: ModuleModel): string {
  return `${moduleSize(shrunk)} of ${moduleSize(original)} instructions`;
}
