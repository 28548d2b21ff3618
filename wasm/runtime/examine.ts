import { SimError } from '../../sim/index.ts';
import { componentProgram } from '../component/guest-program.ts';
import { isComponent, takeApart } from '../component/program.ts';
import { explainModule, type Explanation } from '../instrument/explain.ts';
import { instrument } from '../instrument/index.ts';
import { preview1Program } from '../preview1/program.ts';
import type { GuestProgram } from './program.ts';
import { EVERYTHING } from './prepare.ts';

/** What a person wants to know of a guest image before it runs. */
export interface ExplainedImage {
  readonly kind: 'module' | 'component';
  /** The core modules in order of instantiation: one, unless the image is a component. */
  readonly modules: readonly Explanation[];
  /** Host functions that the image calls. */
  readonly hostNames: readonly string[];
  /** The first reason for which the image is not accepted, or null. */
  readonly refusal: Explanation['refusal'];
}

/** Describes any bytes; never throws for a bad image, but says what is wrong with it. */
export function explainImage(image: Uint8Array): ExplainedImage {
  const kind = isComponent(image) ? 'component' : 'module';
  const binaries = kind === 'module' ? [image] : componentModules(image);
  const modules = binaries.map(explainModule);
  const refused = modules.find((module) => module.refusal !== null)?.refusal ?? null;
  const program = attempt(() => programOf(image));
  const hostNames = 'refusal' in program ? [] : program.value.hostNames;
  return { kind, modules, hostNames, refusal: refused ?? refusalOf(program) };
}

/** The modules that the engine would run. Throws SimError `guest/…` for what is not acceptable. */
export function instrumentImage(image: Uint8Array, memoryPagesMax: number): readonly Uint8Array[] {
  return programOf(image).modules.map((module, stateSlot) => {
    const { sharedState } = module;
    const options = { ...EVERYTHING, memoryPagesMax, sharedState, stateSlot };
    return instrument(module.binary, options, module.suspends).binary;
  });
}

function programOf(image: Uint8Array): GuestProgram {
  return isComponent(image) ? componentProgram(image) : preview1Program(image);
}

function componentModules(image: Uint8Array): readonly Uint8Array[] {
  const parts = attempt(() => takeApart(image));
  return 'refusal' in parts ? [] : parts.value.modules.map((module) => module.plain);
}

type Attempt<T> = { readonly value: T } | { readonly refusal: NonNullable<Explanation['refusal']> };

function attempt<T>(make: () => T): Attempt<T> {
  try {
    return { value: make() };
  } catch (error) {
    if (!(error instanceof SimError) || !error.code.startsWith('guest/')) throw error;
    const { code, message, place } = error;
    return { refusal: { code, message, place: place ?? '' } };
  }
}

function refusalOf(attempted: Attempt<unknown>): Explanation['refusal'] {
  return 'refusal' in attempted ? attempted.refusal : null;
}
