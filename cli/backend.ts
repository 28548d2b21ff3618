import { SimError } from '../sim/index.ts';

/**
 * The engines that can run guests here: that of WASM, which is part of this package, and those that
 * `sim vm setup` makes for machines.
 */
export const BACKENDS = ['wasm', 'plugin', 'patched', 'stock'] as const;
export type Backend = (typeof BACKENDS)[number];

const PACKAGED: Backend = 'wasm';
const VARIABLE = 'ATHANOR_BACKEND';

/**
 * The engine that runs guests: that of the flag, else of the environment, else the packaged one;
 * never something that happens to stand on the host's PATH (CR-49). Throws `backend/unknown`.
 */
export function chooseBackend(
  flag: Backend | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Backend {
  if (flag !== undefined) return flag;
  const named = env[VARIABLE] ?? '';
  if (named === '') return PACKAGED;
  const backend = BACKENDS.find((name) => name === named);
  if (backend !== undefined) return backend;
  throw new SimError({
    code: 'backend/unknown',
    message: `there is no backend "${named}"`,
    place: VARIABLE,
    remedy: `unset ${VARIABLE}, or set it to one of ${BACKENDS.join(', ')}`,
  });
}
