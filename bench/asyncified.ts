import { createHash } from 'node:crypto';
import type binaryenType from 'binaryen';
import { cached } from '../guests/index.ts';
import { ByteWriter } from '../wasm/binary/writer.ts';
import { REFUEL_FUNCTION } from './fuel-pass.ts';
import { threadTimeMs } from './thread-time.ts';

const BINARYEN = '132.0.0';
/** Our custom section at the module's end: a module and its time are one file in the cache. */
const TIME_SECTION = 'transform-us';

export interface Asyncified {
  readonly module: WebAssembly.Module;
  readonly byteCount: number;
  /** Processor time that Binaryen took for it, when it was made. */
  readonly transformMs: number;
}

/**
 * A module through Binaryen's Asyncify and its optimizer at -O2, or from the cache of builds.
 * `imports` (`module.name`) are those that may stop it. A function exported as `refuel` becomes the
 * import `athanor.preempt`.
 */
export async function asyncify(
  binary: Uint8Array,
  imports: readonly string[],
): Promise<Asyncified> {
  const digest = createHash('sha256').update(binary).digest('hex');
  const key = { tool: `binaryen ${BINARYEN} asyncify -O2`, imports: imports.join(), digest };
  const bytes = await cached(key, () => transform(binary, imports));
  const end = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4);
  const timeUs = end.getUint32(0, true);
  return {
    module: new WebAssembly.Module(bytes),
    byteCount: bytes.length,
    transformMs: timeUs / 1000,
  };
}

/** Loaded only when it is needed: it is 15 MB of code. */
async function transform(binary: Uint8Array, imports: readonly string[]): Promise<Uint8Array> {
  const { default: binaryen } = await import('binaryen');
  const { BulkMemory, BulkMemoryOpt, Multivalue, MutableGlobals } = binaryen.Features;
  const { NontrappingFPToInt, ReferenceTypes, SignExt } = binaryen.Features;
  const module = binaryen.readBinary(binary);
  module.setFeatures(
    BulkMemory |
      BulkMemoryOpt |
      Multivalue |
      MutableGlobals |
      NontrappingFPToInt |
      ReferenceTypes |
      SignExt,
  );
  replaceRefuel(binaryen, module);
  binaryen.setOptimizeLevel(2);
  binaryen.setShrinkLevel(0);
  binaryen.setPassArgument('asyncify-imports', imports.join());
  const start = threadTimeMs();
  module.runPasses(['asyncify']);
  module.optimize();
  const timeUs = Math.round((threadTimeMs() - start) * 1000);
  const output = module.emitBinary();
  module.dispose();
  return withTime(output, timeUs);
}

type Binaryen = typeof binaryenType;

function replaceRefuel(binaryen: Binaryen, module: InstanceType<Binaryen['Module']>): void {
  const found = module.getExport(REFUEL_FUNCTION);
  if (found === 0) return;
  const { value } = binaryen.getExportInfo(found);
  module.removeExport(REFUEL_FUNCTION);
  module.removeFunction(value);
  module.addFunctionImport(value, 'athanor', 'preempt', binaryen.none, binaryen.none);
}

function withTime(binary: Uint8Array, timeUs: number): Uint8Array {
  const section = new ByteWriter();
  section.name(TIME_SECTION);
  section.copy(new Uint8Array(Uint32Array.of(timeUs).buffer));
  const writer = new ByteWriter(binary.length + section.length + 8);
  writer.copy(binary);
  writer.byte(0);
  writer.u32(section.length);
  writer.copy(section.view());
  return writer.view();
}
