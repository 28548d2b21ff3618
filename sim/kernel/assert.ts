import { SimError } from './errors.ts';

/**
 * States what must hold in our own code. A failure is a bug of the simulator, never of its input.
 * Always on.
 */
export function assert(holds: boolean, statement: string): asserts holds {
  if (!holds) {
    throw new SimError({
      code: 'crash/assertion',
      message: `an invariant does not hold: ${statement}`,
      remedy: 'this is a defect of the simulator; please report it with the bundle',
    });
  }
}

/** Marks a branch that the types exclude. */
export function unreachable(value: never): never {
  throw new SimError({
    code: 'crash/unreachable',
    message: `an impossible value was met: ${String(value)}`,
    remedy: 'this is a defect of the simulator; please report it with the bundle',
  });
}
