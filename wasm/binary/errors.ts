import { SimError } from '../../sim/index.ts';

/** A module that is not well formed or not valid. Offset in bytes from the module's start. */
export function malformed(offset: number, what: string): SimError {
  return new SimError({
    code: 'guest/malformed',
    message: `the module is not valid WebAssembly: ${what}`,
    place: `offset ${offset}`,
    remedy: 'build the guest again, or check that the file is a core module',
  });
}

/** A module that uses something we do not run deterministically. */
export function refused(offset: number, feature: string, remedy: string): SimError {
  return new SimError({
    code: 'guest/feature',
    message: `the module uses a feature that is refused: ${feature}`,
    place: `offset ${offset}`,
    remedy,
  });
}

/** A module that is larger in some way than a stated limit. */
export function tooLarge(offset: number, what: string, limit: number): SimError {
  return new SimError({
    code: 'guest/limit',
    message: `the module has too many or too large ${what}: the limit is ${limit}`,
    place: `offset ${offset}`,
    remedy: 'split the guest, or build it with less inlining',
  });
}
