import { assert } from '../../sim/index.ts';
import { tooLarge } from '../binary/errors.ts';
import { OP } from '../binary/opcodes.ts';
import { isReference } from '../binary/types.ts';
import { KIND, LIMIT, MODE, type ParsedModule } from '../binary/module.ts';
import {
  exportsTable,
  findHot,
  hasImportedTable,
  TRAIT,
  type HotSet,
  type Survey,
} from './call-graph.ts';
import { neededHelpers, savedGlobals, savedGlobalsBytes, type HelperFunction } from './helpers.ts';
import {
  GLOBALS_BASE,
  GLOBALS_BYTES,
  RESERVE_BYTES,
  RESERVE_PAGES,
  SEGMENT_FLAGS_BASE,
  SEGMENT_FLAGS_BYTES,
  STATE_SLOTS,
} from './layout.ts';
import { convention, TypeSpace, type ModulePlan } from './module-plan.ts';
import type { InstrumentOptions } from './options.ts';
import { buildEntry, buildTableEntry } from './wrappers.ts';

/** Our imports stand behind the module's: `athanor.preempt`, `athanor.trap`, and `athanor.grow` if used. */
const ADDED_IMPORTS = 2;

export interface Preparation {
  readonly plan: ModulePlan;
  readonly helpers: readonly HelperFunction[];
}

/** Fixes all index spaces before any code is written. */
export function buildPlan(
  module: ParsedModule,
  survey: Survey,
  parts: {
    options: InstrumentOptions;
    suspending: Uint8Array;
    thunks: ReadonlyMap<number, number>;
  },
): Preparation {
  const { options, suspending, thunks } = parts;
  const hot = findHotFunctions(module, survey, options, suspending);
  const asksToGrow = growthIsAsked(options) && survey.opcodeUses[OP.memoryGrow] > 0;
  const addedImportCount = ADDED_IMPORTS + (asksToGrow ? 1 : 0);
  const helpers = neededHelpers({
    module,
    uses: survey.opcodeUses,
    initPairs: survey.initPairs,
    suspends: options.suspend !== 'none',
    hasReferences: usesReferences(module, survey),
  });
  const globalsBytes = savedGlobalsBytes(savedGlobals(module));
  const { globalsBytesMax } = stateSlices(options);
  if (globalsBytes > globalsBytesMax) {
    throw tooLarge(module.sectionOffsets.get(6) ?? 0, 'bytes of globals', globalsBytesMax);
  }
  const open = hasOpenTables(module, options);
  const entered = enteredFunctions(module, hot, { options, thunks });
  for (const index of entered) {
    const { type } = module.functions[index];
    const target = index + addedImportCount;
    helpers.push({ name: `enter${index}`, type, build: (full) => buildEntry(full, type, target) });
  }
  const shared = open ? hotReferences(module, survey, hot, thunks) : [];
  for (const index of shared) {
    const { type } = module.functions[index];
    const target = index + addedImportCount;
    helpers.push({
      name: `table${index}`,
      type: convention({ options }, type),
      build: (full) => buildTableEntry(full, type, target),
    });
  }
  const firstHelper = module.functions.length + addedImportCount;
  const segmentFlags = flagSegments(module, survey, stateSlices(options).flagsBytes);
  const empty = emptySegments(module, segmentFlags);
  const plan: ModulePlan = {
    module,
    options,
    survey,
    hot,
    suspendingImports: suspending,
    preemptIndex: module.importedFunctionCount,
    trapIndex: module.importedFunctionCount + 1,
    growIndex: asksToGrow ? module.importedFunctionCount + ADDED_IMPORTS : -1,
    addedImportCount,
    types: new TypeSpace(module.types),
    helpers: new Map(helpers.map(({ name }, at) => [name, firstHelper + at])),
    segmentFlags,
    emptyData: empty.data,
    emptyElements: empty.elements,
    target: (index) => thunks.get(index) ?? index,
    resumeTable: module.tables.length,
    references: new Set(),
    openTables: open,
    ...stateSlices(options),
    memoryShift: module.memories.length > 0 ? RESERVE_BYTES : 0,
    physicalPagesMax: guestPagesMax(module, options) + RESERVE_PAGES,
  };
  return { plan, helpers };
}

function growthIsAsked({ suspend, asksToGrow }: InstrumentOptions): boolean {
  return suspend === 'anywhere' && asksToGrow === true;
}

/** Functions that are called from outside and need an entry. */
function enteredFunctions(
  module: ParsedModule,
  hot: HotSet,
  parts: { options: InstrumentOptions; thunks: ReadonlyMap<number, number> },
): number[] {
  const { fuel, depth } = parts.options;
  const entered = new Set<number>();
  const add = (named: number): void => {
    const index = parts.thunks.get(named) ?? named;
    if (index < module.importedFunctionCount) return;
    if (fuel || depth || hot.functions[index] === 1) entered.add(index);
  };
  for (const { kind, index } of module.exports) if (kind === KIND.function) add(index);
  if (module.start >= 0) add(module.start);
  return [...entered].sort((a, b) => a - b);
}

/** Functions in tables that other modules share, when they may suspend. */
function hotReferences(
  module: ParsedModule,
  survey: Survey,
  hot: HotSet,
  thunks: ReadonlyMap<number, number>,
): number[] {
  const found = new Set<number>();
  for (const named of survey.referenced) {
    const index = thunks.get(named) ?? named;
    if (index >= module.importedFunctionCount && hot.functions[index] === 1) found.add(index);
  }
  return [...found].sort((a, b) => a - b);
}

/** Whether a reference can be a local or an operand somewhere. */
function usesReferences(module: ParsedModule, survey: Survey): boolean {
  const { opcodeUses } = survey;
  if (survey.hasReferenceLocals || module.globals.some(({ type }) => isReference(type)))
    return true;
  if ([OP.tableGet, OP.refNull, OP.refFunc].some((op) => opcodeUses[op] > 0)) return true;
  const holds = (types: readonly number[]): boolean => types.some(isReference);
  if (module.types.some(({ params, results }) => holds(params) || holds(results))) return true;
  return module.tags.some(({ params }) => holds(params));
}

/** Whether functions of other modules can stand in the module's tables. */
function hasOpenTables(module: ParsedModule, options: InstrumentOptions): boolean {
  return hasImportedTable(module) || (options.sharedState !== undefined && exportsTable(module));
}

function stateSlices(
  options: InstrumentOptions,
): Pick<ModulePlan, 'flagsBase' | 'flagsBytes' | 'globalsBase' | 'globalsBytesMax'> {
  const slices = options.sharedState === undefined ? 1 : STATE_SLOTS;
  const slot = options.stateSlot ?? 0;
  assert(slot >= 0 && slot < slices, 'the state slot is in range');
  const flagsBytes = Math.floor(SEGMENT_FLAGS_BYTES / slices);
  const globalsBytesMax = Math.floor(GLOBALS_BYTES / slices);
  return {
    flagsBase: SEGMENT_FLAGS_BASE + slot * flagsBytes,
    flagsBytes,
    globalsBase: GLOBALS_BASE + slot * globalsBytesMax,
    globalsBytesMax,
  };
}

/** Pages that the guest may have at most. */
export function guestPagesMax(module: ParsedModule, options: InstrumentOptions): number {
  const memory = module.memories[0];
  if (!memory) return 0;
  const cap = Math.min(options.memoryPagesMax, LIMIT.pages - RESERVE_PAGES - 1);
  if (memory.min > cap) {
    throw tooLarge(module.sectionOffsets.get(5) ?? 0, 'pages of initial memory', cap);
  }
  return memory.max < 0 ? cap : Math.min(cap, memory.max);
}

function findHotFunctions(
  module: ParsedModule,
  survey: Survey,
  options: InstrumentOptions,
  suspending: Uint8Array,
): HotSet {
  const seeds: number[] = [];
  if (options.suspend === 'none') return findHot(module, survey, seeds, false);
  suspending.forEach((flag, index) => {
    if (flag === 1) seeds.push(index);
  });
  if (options.suspend === 'anywhere') {
    const stops = TRAIT.loop | TRAIT.call | (growthIsAsked(options) ? TRAIT.growth : 0);
    survey.traits.forEach((traits, index) => {
      if ((traits & stops) !== 0) seeds.push(index);
    });
  }
  return findHot(module, survey, seeds, hasOpenTables(module, options));
}

/** A flag byte for each passive segment that code both uses and drops. */
function flagSegments(module: ParsedModule, survey: Survey, bytesMax: number): Map<string, number> {
  const flags = new Map<string, number>();
  const used = new Set<string>();
  for (const pair of survey.initPairs) {
    used.add(pair.includes(',') ? `elem${pair.split(',')[0]}` : `data${pair}`);
  }
  const add = (key: string, mode: number): void => {
    if (mode !== MODE.passive || !used.has(key) || !survey.dropped.has(key)) return;
    if (flags.size >= bytesMax) {
      throw tooLarge(0, 'segments that are dropped', bytesMax);
    }
    flags.set(key, flags.size);
  };
  module.data.forEach(({ mode }, index) => add(`data${index}`, mode));
  module.elements.forEach(({ mode }, index) => add(`elem${index}`, mode));
  return flags;
}

function emptySegments(
  module: ParsedModule,
  flags: ReadonlyMap<string, number>,
): { data: number; elements: Map<number, number> } {
  const elements = new Map<number, number>();
  let data = -1;
  for (const key of flags.keys()) {
    if (key.startsWith('data')) data = module.data.length;
    else {
      const { type } = module.elements[Number(key.slice(4))];
      if (!elements.has(type)) elements.set(type, module.elements.length + elements.size);
    }
  }
  return { data, elements };
}
