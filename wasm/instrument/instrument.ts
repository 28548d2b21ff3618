import { joinData } from './merge-data.ts';
import { assert } from '../../sim/index.ts';
import { BodyDecoder } from '../binary/decode.ts';
import { malformed } from '../binary/errors.ts';
import { KIND, type ParsedModule } from '../binary/module.ts';
import { parseModule } from '../binary/parse.ts';
import { functionType, isReference, type FunctionType } from '../binary/types.ts';
import { ByteWriter } from '../binary/writer.ts';
import { buildPlan, guestPagesMax } from './build-plan.ts';
import { surveyModule, type Survey } from './call-graph.ts';
import { lowerExceptions } from './exceptions.ts';
import { usedFeatures } from './features.ts';
import { savedGlobals, savedGlobalsBytes, type HelperFunction } from './helpers.ts';
import {
  CONTROL_BASE,
  DEPTH_BUDGET_BYTES,
  DIRTY_MAP_BASE,
  DIRTY_MAP_BYTES,
  DIRTY_SPILL_BYTES,
  RESERVE_BYTES,
  RESERVE_PAGES,
  SHADOW_STACK_TOP,
  type Layout,
  type MemoryLayout,
} from './layout.ts';
import { buildStart, findLowered, isEmpty, type Lowered } from './lowered-start.ts';
import {
  convention,
  entryIndex,
  referenceIndex,
  slowType,
  type ModulePlan,
} from './module-plan.ts';
import type { Instrumented, InstrumentOptions, Suspends } from './options.ts';
import {
  addedDataCount,
  importsOurMemory,
  writeData,
  writeElements,
  writeExports,
  writeGlobals,
  writeImports,
  writeMemories,
  writeNames,
  writeTables,
  writeTypes,
  type OutputExport,
} from './sections.ts';
import { shortenJumps } from './shorten-jumps.ts';
import { addThunks } from './thunks.ts';
import { transformFunction } from './transform-function.ts';

/**
 * Instruments a core module. Throws `guest/malformed`, `guest/feature` or `guest/limit`, each with
 * the byte offset. The same input and options give the same bytes on every engine.
 */
export function instrument(
  binary: Uint8Array,
  options: InstrumentOptions,
  suspends: Suspends,
): Instrumented {
  assert(options.suspend !== 'anywhere' || options.fuel, 'suspension anywhere needs fuel');
  const parsed = parseModule(binary);
  const first = surveyModule(parsed);
  const features = usedFeatures(parsed, first);
  if (!WebAssembly.validate(binary) && !features.some((name) => LOWERED_FEATURES.has(name))) {
    throw malformed(0, 'the engine does not accept it');
  }
  const usesExceptions = features.includes('exceptions-legacy') || features.includes('exnref');
  const flat = usesExceptions ? lowerExceptions(parsed) : parsed;
  const suspending = suspendingImports(parsed, options, suspends);
  const { module, targets } = addThunks(flat, {
    suspending,
    referenced: first.referenced,
    hasCounters: options.fuel || options.depth,
  });
  const survey = module === parsed ? first : withThunks(module, first);
  const preparation = buildPlan(module, survey, { options, suspending, thunks: targets });
  const assembly = new Assembly(preparation.plan, preparation.helpers);
  const output = assembly.build();
  if (!WebAssembly.validate(output)) throw malformed(0, 'the instrumented module is not valid');
  return {
    binary: output,
    layout: assembly.layout(),
    features,
    statistics: assembly.statistics(binary.length, output.length),
  };
}

/** Features that we turn into code for engines without them. */
const LOWERED_FEATURES: ReadonlySet<string> = new Set(['extended-const', 'exnref']);

function suspendingImports(
  module: ParsedModule,
  options: InstrumentOptions,
  suspends: Suspends,
): Uint8Array {
  const flags = new Uint8Array(module.functions.length);
  if (options.suspend === 'none') return flags;
  for (const entry of module.imports) {
    if (entry.kind === KIND.function && suspends(entry.module, entry.name)) flags[entry.index] = 1;
  }
  return flags;
}

/** The survey of the module whose references to suspending imports name thunks. */
function withThunks(module: ParsedModule, first: Survey): Survey {
  const survey = surveyModule(module);
  const referenced = new Set(survey.referenced);
  const firstThunk = first.traits.length;
  for (let index = firstThunk; index < module.functions.length; index += 1) referenced.add(index);
  return { ...survey, referenced };
}

/** A function of the output that is neither a copy of the guest's nor needed before its body. */
interface Wrapper {
  readonly type: FunctionType;
  readonly body: Uint8Array;
}

/** Collects the parts of the output. */
class Assembly {
  private readonly plan: ModulePlan;
  private readonly helpers: readonly HelperFunction[];
  private readonly lowered: Lowered;
  /** The first slot of the functions that can stop at memory.grow alone. */
  private growthSlots = 0;
  private readonly slow: { type: FunctionType; body: Uint8Array; growsOnly: boolean }[] = [];
  private readonly wrappers: Wrapper[] = [];
  private readonly functionExports = new Map<number, string>();
  private hasStart = false;
  private suspendableCount = 0;
  private siteCount = 0;
  private frameBytesMax = 0;

  constructor(plan: ModulePlan, helpers: readonly HelperFunction[]) {
    this.plan = plan;
    this.helpers = helpers;
    this.lowered = findLowered(plan.module);
  }

  build(): Uint8Array {
    const { plan } = this;
    const { module } = plan;
    const fast = this.transformBodies();
    const exports = this.exports();
    const helperBodies = this.helpers.map((helper) => helper.build(plan));
    const code = this.writeCode(fast, helperBodies);
    const functions = this.writeFunctions();
    // The parts above may add types; so types come last, though they stand first.
    const imports = writeImports(plan);
    const out = new ByteWriter(code.length + module.bytes.length);
    out.copy(module.bytes, 0, 8);
    section(out, 1, writeTypes(plan));
    section(out, 2, imports);
    section(out, 3, functions);
    section(out, 4, writeTables(plan, this.slowIndexes().length));
    const memories = writeMemories(plan);
    if (memories) section(out, 5, memories);
    if (module.tags.length > module.importedTagCount) this.copySection(out, 13);
    if (module.globals.length > module.importedGlobalCount) {
      section(out, 6, writeGlobals(plan, this.lowered));
    }
    section(out, 7, writeExports(exports));
    section(out, 9, writeElements(plan, this.lowered, this.slowIndexes()));
    const count = new ByteWriter();
    count.u32(joinData(module.data, addedDataCount(plan)).length + addedDataCount(plan));
    section(out, 12, count);
    section(out, 10, code);
    section(out, 11, writeData(plan, this.lowered, DEPTH_BUDGET_BYTES));
    const names = writeNames(plan);
    if (names) section(out, 0, names);
    return out.view();
  }

  private copySection(out: ByteWriter, id: number): void {
    const { bytes, sectionOffsets } = this.plan.module;
    const start = sectionOffsets.get(id);
    assert(start !== undefined, 'a section that is copied exists');
    let at = start + 1;
    let size = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    out.copy(bytes, start, at + size);
  }

  private transformBodies(): Uint8Array[] {
    const { plan } = this;
    const { module } = plan;
    const decoder = new BodyDecoder(module);
    // More than there are functions that can stop at anything else.
    this.growthSlots = plan.hot.functions.reduce((count, hot) => count + hot, 0);
    let slot = 0;
    let growthSlot = this.growthSlots;
    return module.bodies.map((range, at) => {
      const index = module.importedFunctionCount + at;
      const hot = plan.hot.functions[index] === 1;
      const { type } = module.functions[index];
      const body = decoder.decode(range, type, hot);
      shortenJumps(body);
      const done = transformFunction(plan, body, { index, slot, growthSlot });
      this.siteCount += done.siteCount;
      this.frameBytesMax = Math.max(this.frameBytesMax, done.frameBytesMax);
      if (done.slow) {
        const { growsOnly } = done;
        this.slow.push({ type: slowType(plan, type), body: done.slow, growsOnly });
        if (growsOnly) growthSlot += 1;
        else slot += 1;
        this.suspendableCount += 1;
      }
      return done.fast;
    });
  }

  private get firstSlow(): number {
    return this.plan.module.functions.length + this.plan.addedImportCount + this.helpers.length;
  }

  /** The slow copies by their slots; those that grow only stand behind a gap that nobody looks into. */
  private slowIndexes(): number[] {
    const { firstSlow, slow } = this;
    const indexes = (growsOnly: boolean): number[] => {
      return slow.flatMap((copy, at) => (copy.growsOnly === growsOnly ? [firstSlow + at] : []));
    };
    const [usual, growing] = [indexes(false), indexes(true)];
    if (growing.length === 0) return usual;
    while (usual.length < this.growthSlots) usual.push(firstSlow);
    return [...usual, ...growing];
  }

  private addWrapper(type: FunctionType, body: Uint8Array): number {
    this.wrappers.push({ type, body });
    return this.firstSlow + this.slow.length + this.wrappers.length - 1;
  }

  private exports(): OutputExport[] {
    const { plan } = this;
    const { module, survey } = plan;
    const list: OutputExport[] = module.exports.map(({ name, kind, index }) => ({
      name,
      kind,
      index: kind === KIND.function ? entryIndex(plan, index) : index,
    }));
    if (module.start >= 0 || !isEmpty(this.lowered)) {
      this.hasStart = true;
      const type = functionType([], []);
      const body = this.addWrapper(type, buildStart(plan, this.lowered));
      list.push({ name: 'athanor:start', kind: KIND.function, index: body });
    }
    if (this.memoryExport() === OUR_MEMORY) {
      list.push({ name: OUR_MEMORY, kind: KIND.memory, index: 0 });
    }
    for (const { index } of savedGlobals(module)) {
      list.push({ name: `athanor:global:${index}`, kind: KIND.global, index });
    }
    module.tables.forEach((_, index) => {
      list.push({ name: `athanor:table:${index}`, kind: KIND.table, index });
    });
    for (const name of ['save', 'load']) {
      const index = plan.helpers.get(name);
      if (index !== undefined) list.push({ name: `athanor:${name}`, kind: KIND.function, index });
    }
    if (plan.references.size > 0) {
      const { functions, externs } = SAVED_REFERENCES;
      list.push({ name: functions, kind: KIND.table, index: plan.resumeTable + 1 });
      list.push({ name: externs, kind: KIND.table, index: plan.resumeTable + 2 });
    }
    if (survey.tablesMutate || plan.references.size > 0 || this.hasReferenceGlobals())
      this.exportFunctions(list);
    return list;
  }

  private hasReferenceGlobals(): boolean {
    return savedGlobals(this.plan.module).some(({ type }) => isReference(type));
  }

  /** Every function that a reference may name, under a name of its own. */
  private exportFunctions(list: OutputExport[]): void {
    const { plan } = this;
    for (const index of [...plan.survey.referenced].sort((a, b) => a - b)) {
      const name = `athanor:function:${index}`;
      this.functionExports.set(index, name);
      list.push({ name, kind: KIND.function, index: referenceIndex(plan, index) });
    }
  }

  private memoryExport(): string {
    const found = this.plan.module.exports.find(({ kind }) => kind === KIND.memory);
    return found ? found.name : OUR_MEMORY;
  }

  private writeFunctions(): ByteWriter {
    const { plan } = this;
    const { module } = plan;
    const own = module.functions.slice(module.importedFunctionCount);
    const writer = new ByteWriter(own.length * 2 + 64);
    const added = [...this.helpers, ...this.slow, ...this.wrappers];
    writer.u32(own.length + added.length);
    for (const { type } of own) writer.u32(plan.types.index(convention(plan, type)));
    for (const { type } of added) writer.u32(plan.types.index(type));
    return writer;
  }

  private writeCode(fast: readonly Uint8Array[], helpers: readonly Uint8Array[]): ByteWriter {
    const bodies = [...fast, ...helpers];
    for (const { body } of [...this.slow, ...this.wrappers]) bodies.push(body);
    let size = 16;
    for (const body of bodies) size += body.length + 5;
    const writer = new ByteWriter(size);
    writer.u32(bodies.length);
    for (const body of bodies) {
      writer.u32(body.length);
      writer.copy(body);
    }
    return writer;
  }

  layout(): Layout {
    const { plan } = this;
    const { module, survey } = plan;
    const globals = savedGlobals(module);
    return {
      reserveBytes: RESERVE_BYTES,
      guestBaseBytes: RESERVE_BYTES,
      memory: this.memoryLayout(),
      controlBase: CONTROL_BASE,
      shadowStackTop: SHADOW_STACK_TOP,
      globalsBase: plan.globalsBase,
      globalsBytes: savedGlobalsBytes(globals),
      dirtyMapBase: DIRTY_MAP_BASE,
      dirtyMapBytes: DIRTY_MAP_BYTES,
      dirtySpillBytes: DIRTY_SPILL_BYTES,
      depthBudgetBytes: DEPTH_BUDGET_BYTES,
      start: this.hasStart,
      globals: globals.map(({ index, type, offset }) => ({
        index,
        type,
        exportName: `athanor:global:${index}`,
        offset,
      })),
      tables: module.tables.map(({ type }, index) => ({
        index,
        exportName: `athanor:table:${index}`,
        type,
        mutates: survey.tablesMutate || index < module.importedTableCount,
      })),
      savedReferences: plan.references.size > 0 ? SAVED_REFERENCES : null,
      functionExports: this.functionExports,
    };
  }

  private memoryLayout(): MemoryLayout {
    const { plan } = this;
    const { module } = plan;
    const imported = module.imports.find(({ kind }) => kind === KIND.memory);
    const guestPagesMin = module.memories[0]?.min ?? 0;
    const guestMax = guestPagesMax(module, plan.options);
    const ours = importsOurMemory(plan) ? { module: 'athanor', name: 'memory' } : null;
    return {
      exportName: this.memoryExport(),
      imported: imported ? { module: imported.module, name: imported.name } : ours,
      guestPagesMin,
      guestPagesMax: guestMax,
      physicalPagesMin: guestPagesMin + RESERVE_PAGES,
      physicalPagesMax: Math.max(guestPagesMin, guestMax) + RESERVE_PAGES,
    };
  }

  statistics(inputBytes: number, outputBytes: number): Instrumented['statistics'] {
    return {
      inputBytes,
      outputBytes,
      functionCount: this.plan.module.bodies.length,
      suspendableCount: this.suspendableCount,
      siteCount: this.siteCount,
      frameBytesMax: this.frameBytesMax,
    };
  }
}

const SAVED_REFERENCES = { functions: 'athanor:functions', externs: 'athanor:externs' };
const OUR_MEMORY = 'athanor:memory';

function section(out: ByteWriter, id: number, content: ByteWriter): void {
  out.byte(id);
  out.u32(content.length);
  out.copy(content.view());
}
