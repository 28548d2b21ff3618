import { KIND, type ParsedModule, type Range } from '../binary/module.ts';
import { OP } from '../binary/opcodes.ts';
import { ByteWriter } from '../binary/writer.ts';

/**
 * A module in which every import that a table, an export or the start section names, and that may
 * suspend or lacks our counters, is reached through a function of the module's own, so that it has a
 * frame and is called like any other. The thunks stand behind the
 * module's functions; `targets` maps an import to its thunk.
 */
export function addThunks(
  module: ParsedModule,
  parts: {
    suspending: Uint8Array;
    referenced: ReadonlySet<number>;
    /** Whether functions of the guest are called in another way than imports. */
    hasCounters: boolean;
  },
): { module: ParsedModule; targets: ReadonlyMap<number, number> } {
  const { suspending, referenced, hasCounters } = parts;
  const wanted = new Set<number>();
  for (const index of referenced) {
    if (index >= module.importedFunctionCount) continue;
    if (hasCounters || suspending[index] === 1) wanted.add(index);
  }
  for (const { kind, index } of module.exports) {
    if (kind === KIND.function && index < module.importedFunctionCount && suspending[index] === 1) {
      wanted.add(index);
    }
  }
  if (module.start >= 0 && module.start < module.importedFunctionCount) wanted.add(module.start);
  const targets = new Map<number, number>();
  if (wanted.size === 0) return { module, targets };
  const writer = new ByteWriter(module.bytes.length + wanted.size * 32);
  writer.copy(module.bytes);
  const functions = [...module.functions];
  const countedOffsets = new Map(module.countedOffsets);
  const bodies: Range[] = [...module.bodies];
  for (const index of [...wanted].sort((a, b) => a - b)) {
    const entry = module.functions[index];
    const start = writer.length;
    writer.u32(0);
    entry.type.params.forEach((_, param) => {
      writer.byte(OP.localGet);
      writer.u32(param);
    });
    writer.byte(OP.call);
    writer.u32(index);
    writer.byte(OP.end);
    bodies.push({ start, end: writer.length });
    countedOffsets.set(start, new Set());
    targets.set(index, functions.length);
    functions.push(entry);
  }
  return {
    module: { ...module, functions, bodies, countedOffsets, bytes: writer.view() },
    targets,
  };
}
