import { SimError } from '../../sim/index.ts';
import { functionImports } from '../binary/imports.ts';
import type { InstrumentOptions } from '../instrument/options.ts';
import type { CodeStore } from './code-store.ts';
import type { PreparedImport, PreparedModule } from './link.ts';
import { PreparedProgram } from './prepared.ts';
import type { GuestProgram, ProgramModule } from './program.ts';

/** All that makes a guest deterministic, stoppable anywhere and cheap to fork. */
export const EVERYTHING: Omit<InstrumentOptions, 'memoryPagesMax' | 'sharedState' | 'stateSlot'> = {
  nan: true,
  fuel: true,
  depth: true,
  suspend: 'anywhere',
  dirtyPages: true,
  asksToGrow: true,
};

/**
 * Instruments and compiles a program. Throws SimError `guest/…` with the offset for what is not
 * acceptable.
 */
export function prepareProgram(
  program: GuestProgram,
  memoryPagesMax: number,
  store: CodeStore,
): PreparedProgram {
  const modules = program.modules.map((module, stateSlot): PreparedModule => {
    const { sharedState } = module;
    const options = { ...EVERYTHING, memoryPagesMax, sharedState, stateSlot };
    const code = store.obtain(module, options);
    return {
      module: code.module,
      layout: code.layout,
      imports: describeImports(program, module),
      definesState: sharedState === 'define',
    };
  });
  return new PreparedProgram(program, modules);
}

/** Adds to each import what the wrapper of a host function must know of its type. */
function describeImports(program: GuestProgram, module: ProgramModule): readonly PreparedImport[] {
  const types = new Map(
    functionImports(module.binary).map((type) => [`${type.module}\n${type.name}`, type]),
  );
  return module.imports.map(({ module: from, name, target }) => {
    const type = types.get(`${from}\n${name}`);
    if (target.kind === 'host' && type === undefined) {
      throw new SimError({
        code: 'guest/import',
        message: `the host offers ${program.hostNames[target.index] ?? name} as a function only`,
        place: `import ${from}.${name}`,
      });
    }
    const parameterCount = type?.parameters.length ?? 0;
    const bigResult = type?.results[0] === 'i64';
    return { module: from, name, target, parameterCount, bigResult };
  });
}
