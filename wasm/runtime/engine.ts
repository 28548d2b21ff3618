import { sha256, SimError, type GuestPort } from '../../sim/index.ts';
import { functionImports } from '../binary/imports.ts';
import { instrument } from '../instrument/index.ts';
import type { InstrumentOptions } from '../instrument/options.ts';
import { isComponent } from '../component/program.ts';
import { componentProgram } from '../component/guest-program.ts';
import { preview1Program } from '../preview1/program.ts';
import type { PreparedImport, PreparedModule } from './link.ts';
import { PreparedProgram } from './prepared.ts';
import type { GuestProgram, ProgramModule } from './program.ts';
import { WasmGuest } from './wasm-guest.ts';

/** All that makes a guest deterministic, stoppable anywhere and cheap to fork. */
const EVERYTHING: Omit<InstrumentOptions, 'memoryPagesMax' | 'sharedState' | 'stateSlot'> = {
  nan: true,
  fuel: true,
  depth: true,
  suspend: 'anywhere',
  dirtyPages: true,
};

/**
 * Loads guest images and makes guests of them. An image is parsed, instrumented and compiled once;
 * prepared programs are kept by content, so one engine should serve all runs of a process.
 */
export class WasmEngine {
  private readonly programs = new Map<string, PreparedProgram>();

  /**
   * The program of an image, whose SHA-256 is `digest`. Throws SimError `guest/…` with the offset
   * for what is not acceptable.
   */
  load(digest: string, image: Uint8Array, memoryPagesMax: number): PreparedProgram {
    const key = `${digest}/${memoryPagesMax}`;
    let program = this.programs.get(key);
    if (program === undefined) {
      if (sha256(image) !== digest) {
        throw new SimError({
          code: 'guest/digest',
          message: `a guest image has another digest than the scenario names: expected ${digest}, found ${sha256(image)}`,
          remedy: 'give the image that the scenario was made with',
        });
      }
      program = prepare(image, memoryPagesMax);
      this.programs.set(key, program);
    }
    return program;
  }

  /** A fresh guest on a node's port. */
  spawn(program: PreparedProgram, port: GuestPort, nsPerThousandInstructions: number): WasmGuest {
    return new WasmGuest(program, port, nsPerThousandInstructions);
  }
}

function prepare(image: Uint8Array, memoryPagesMax: number): PreparedProgram {
  const program = isComponent(image) ? componentProgram(image) : preview1Program(image);
  const modules = program.modules.map((module, index) => {
    return prepareModule(program, module, index, memoryPagesMax);
  });
  return new PreparedProgram(program, modules);
}

function prepareModule(
  program: GuestProgram,
  module: ProgramModule,
  stateSlot: number,
  memoryPagesMax: number,
): PreparedModule {
  const { binary, layout } = instrument(
    module.binary,
    { ...EVERYTHING, memoryPagesMax, sharedState: module.sharedState, stateSlot },
    module.suspends,
  );
  return {
    module: new WebAssembly.Module(binary),
    layout,
    imports: describeImports(program, module),
  };
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
