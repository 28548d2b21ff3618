import { unsigned } from './encode.ts';
import { plain } from './instructions.ts';
import { sameTypes, type BodyBuilder, type Frame } from './body-builder.ts';
import type { TableClause } from './model.ts';
import type { ValueType } from './opcodes.ts';
import { emitCall, pushTableIndex, pushValue } from './random-operands.ts';

type Statements = (body: BodyBuilder, count: number) => void;

/** Types that blocks and functions of this module may take and give. */
export function carriedTypes(body: BodyBuilder): ValueType[] {
  const types: ValueType[] = ['i32', 'i64', 'f32', 'f64', 'i32', 'i64'];
  if (body.module.features.simd) types.push('v128');
  if (body.module.features.liveReferences) types.push('funcref', 'externref');
  return types;
}

function randomShape(body: BodyBuilder): { params: ValueType[]; results: ValueType[] } {
  const { draws } = body;
  const paramCount = draws.weighted([
    [5, 0],
    [3, Math.min(1, body.height)],
    [2, Math.min(2, body.height)],
    [1, Math.min(4, body.height)],
  ] as const);
  const params = body.stack.slice(body.stack.length - paramCount);
  const resultCount = draws.weighted([
    [4, 0],
    [4, 1],
    [2, 2],
    [1, 3],
  ] as const);
  const results = Array.from({ length: resultCount }, () => draws.pick(carriedTypes(body)));
  return { params, results };
}

/** A block, loop or if with random parameters (from the stack) and results. */
export function emitStructured(body: BodyBuilder, statements: Statements): void {
  const { draws } = body;
  const fill = () => {
    statements(body, 1 + draws.below(4));
  };
  const name = draws.pick(['block', 'loop', 'loop', 'if', 'if'] as const);
  if (name !== 'if') {
    body.block({ name, shape: randomShape(body), fill });
    return;
  }
  const shape = randomShape(body);
  pushValue(body, 'i32', 3);
  const onlyThen = sameTypes(shape.params, shape.results) || shape.results.length === 0;
  if (onlyThen && shape.params.length === 0 && draws.chance(50)) {
    body.block({ name, shape: { params: [], results: [] }, fill });
    return;
  }
  body.block({ name, shape, fill, otherwise: fill });
}

function labelDepth(body: BodyBuilder, frame: Frame): number {
  return body.frames.length - 1 - body.frames.indexOf(frame);
}

/** Frames that a branch may target. `try_table` and `try` count like blocks. */
function pickLabel(body: BodyBuilder): Frame {
  return body.draws.pick(body.frames);
}

function pushAll(body: BodyBuilder, types: readonly ValueType[]): void {
  if (body.hasOnTop(types) && types.length > 0 && body.draws.chance(60)) return;
  for (const type of types) pushValue(body, type, 2);
}

/** `br_if`: the operands stay when the branch is not taken. */
export function emitConditionalBranch(body: BodyBuilder): void {
  const label = pickLabel(body);
  const types = label.labelTypes;
  pushAll(body, types);
  pushValue(body, 'i32', 3);
  const bytes = [0x0d, ...unsigned(labelDepth(body, label))];
  body.emit(plain('br_if', bytes, [...types, 'i32'], types));
}

function emitBranchTable(body: BodyBuilder): void {
  const { draws } = body;
  const label = pickLabel(body);
  const types = label.labelTypes;
  const same = body.frames.filter((frame) => sameTypes(frame.labelTypes, types));
  const depths = Array.from({ length: 1 + draws.below(6) }, () =>
    labelDepth(body, draws.pick(same)),
  );
  pushAll(body, types);
  pushValue(body, 'i32', 3);
  const bytes = [
    0x0e,
    ...unsigned(depths.length),
    ...depths.flatMap(unsigned),
    ...unsigned(labelDepth(body, label)),
  ];
  body.emit(plain('br_table', bytes, [...types, 'i32'], [], { terminal: true }));
}

/** An instruction after which the rest of the block is dead. */
export function emitTerminal(body: BodyBuilder): void {
  const { draws } = body;
  const kind = draws.weighted([
    [10, 'br'],
    [8, 'br_table'],
    [6, 'return'],
    [1, 'unreachable'],
    [body.module.features.tailCalls ? 8 : 0, 'return_call'],
  ] as const);
  switch (kind) {
    case 'br': {
      const label = pickLabel(body);
      pushAll(body, label.labelTypes);
      const bytes = [0x0c, ...unsigned(labelDepth(body, label))];
      body.emit(plain('br', bytes, label.labelTypes, [], { terminal: true }));
      break;
    }
    case 'br_table':
      emitBranchTable(body);
      break;
    case 'return':
      pushAll(body, body.shape.results);
      body.emit(plain('return', [0x0f], body.shape.results, [], { terminal: true }));
      break;
    case 'unreachable':
      body.emit(plain('unreachable', [0x00], [], [], { terminal: true }));
      break;
    case 'return_call':
      emitTailCall(body);
      break;
  }
}

function emitTailCall(body: BodyBuilder): void {
  const { module, draws, shape } = body;
  const fit: number[] = [];
  for (let index = 0; index < module.callableCount; index += 1) {
    if (sameTypes(module.functionShapes[index].results, shape.results)) fit.push(index);
  }
  if (fit.length === 0) return;
  const callee = draws.pick(fit);
  const { params } = module.functionShapes[callee];
  pushAll(body, params);
  const slot = draws.chance(40) ? findSlot(body, callee) : null;
  if (slot === null) {
    const bytes = [0x12, ...unsigned(callee)];
    body.emit(plain('return_call', bytes, params, [], { terminal: true }));
    return;
  }
  body.emit(plain('i32.const', [0x41, slot.index], [], ['i32']));
  const type = module.typeIndex(module.functionShapes[callee]);
  const bytes = [0x13, ...unsigned(type), slot.table];
  body.emit(plain('return_call_indirect', bytes, [...params, 'i32'], [], { terminal: true }));
}

/** Where an active element segment puts a function; the index is below 64 (one LEB byte). */
function findSlot(body: BodyBuilder, callee: number): { table: number; index: number } | null {
  const slots = body.module.elements.flatMap(({ mode, table, offset, functions }) =>
    mode === 'active'
      ? functions.flatMap((index, at) => (index === callee ? [{ table, index: offset + at }] : []))
      : [],
  );
  return slots.length === 0 ? null : body.draws.pick(slots);
}

/** `call` or `call_indirect` of any function; results stay on the stack. */
export function emitAnyCall(body: BodyBuilder): void {
  const { module, draws } = body;
  const importsFirst = draws.chance(45) && module.imports.length > 0;
  const callee = draws.below(importsFirst ? module.imports.length : module.callableCount);
  const { params, results } = module.functionShapes[callee];
  pushAll(body, params);
  const slot = draws.chance(40) ? findSlot(body, callee) : null;
  if (slot === null) {
    emitCall(body, callee);
    return;
  }
  if (draws.chance(85)) body.emit(plain('i32.const', [0x41, slot.index], [], ['i32']));
  else pushTableIndex(body, slot.table);
  const type = module.typeIndex(module.functionShapes[callee]);
  const bytes = [0x11, ...unsigned(type), slot.table];
  body.emit(plain('call_indirect', bytes, [...params, 'i32'], results));
}

/** `throw` of a tag of the module. */
export function emitThrow(body: BodyBuilder): void {
  const { module, draws } = body;
  const tag = draws.below(module.tags.length);
  const { params } = module.tags[tag];
  pushAll(body, params);
  body.emit(plain('throw', [0x08, ...unsigned(tag)], params, [], { terminal: true }));
}

/** A legacy `try` with catches, or with `delegate`. */
export function emitTry(body: BodyBuilder, statements: Statements): void {
  const { module, draws } = body;
  const fill = () => {
    statements(body, 1 + draws.below(3));
    if (!body.frame.dead && draws.chance(35)) emitThrow(body);
  };
  const shape = randomShape(body);
  if (draws.chance(20)) {
    const delegate = draws.below(body.frames.length);
    body.block({ name: 'try-delegate', shape, fill, delegate });
    return;
  }
  const tags: (number | null)[] = module.tags
    .map((_, index) => index)
    .filter(() => draws.chance(50));
  if (tags.length === 0 || draws.chance(50)) tags.push(null);
  const handlers = tags.map((tag) => ({
    tag,
    fill: () => {
      statements(body, draws.below(3));
      if (!body.frame.dead && draws.chance(25)) {
        const bytes = [0x09, ...unsigned(rethrowDepth(body))];
        body.emit(plain('rethrow', bytes, [], [], { terminal: true }));
      }
    },
  }));
  body.block({ name: 'try', shape, fill, handlers });
}

function rethrowDepth(body: BodyBuilder): number {
  const catches = body.frames.filter(({ name }) => name === 'catch');
  return labelDepth(body, body.draws.pick(catches));
}

/** `block (results of the tag) try_table (catch tag 0) … end … end`: the standard encoding. */
export function emitTryTable(body: BodyBuilder, statements: Statements): void {
  const { module, draws } = body;
  const all = draws.chance(40);
  const withReference = draws.chance(40);
  const tag = draws.below(module.tags.length);
  const results: ValueType[] = all ? [] : [...module.tags[tag].params];
  if (withReference) results.push('exnref');
  const code = ((all ? 2 : 0) + (withReference ? 1 : 0)) as TableClause['code'];
  body.block({
    name: 'block',
    shape: { params: [], results },
    fill: () => {
      body.block({
        name: 'try_table',
        shape: { params: [], results },
        clauses: [{ code, tag, label: 0 }],
        fill: () => {
          statements(body, 1 + draws.below(3));
          if (!body.frame.dead && draws.chance(40)) emitThrow(body);
        },
      });
    },
  });
  if (!withReference) return;
  if (draws.chance(30)) {
    body.emit(plain('throw_ref', [0x0a], ['exnref'], [], { terminal: true }));
  } else {
    body.drop();
  }
}
