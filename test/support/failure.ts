import { SimError } from '../../sim/index.ts';

/** The SimError that `run` throws; anything else fails the test. */
export function failure(run: () => unknown): SimError {
  try {
    run();
  } catch (error) {
    if (error instanceof SimError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
