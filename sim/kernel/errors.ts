/**
 * Expected failures. A code is `class/name`; the class fixes the exit code of the command
 * (see EXIT_CODE), the name is stable and may be switched on.
 */
export type ErrorClass =
  | 'usage' // the command line
  | 'scenario' // a scenario's text or meaning
  | 'guest' // a guest module is not acceptable
  | 'bundle' // a bundle, log or checkpoint is damaged, hostile or of an unknown version
  | 'store' // the artefact store or a file of ours
  | 'input' // any other input
  | 'backend' // an engine is missing or broken
  | 'identity' // built by another engine than the one that runs
  | 'oracle' // replay, resume or save proof failed
  | 'crash' // a defect of ours
  | 'budget' // virtual time, steps or size used up
  | 'verdict'; // divergence, mismatch, property failed

export type ErrorCode = `${ErrorClass}/${string}`;

const EXIT_CODE: Readonly<Record<ErrorClass, number>> = {
  usage: 64,
  scenario: 5,
  guest: 5,
  bundle: 5,
  store: 5,
  input: 5,
  backend: 4,
  identity: 3,
  oracle: 3,
  crash: 3,
  budget: 2,
  verdict: 1,
};

export interface SimErrorOptions {
  /** Stable code, `class/name`. */
  readonly code: ErrorCode;
  /** One sentence: what is wrong, with expected and actual value. No paths, stacks, wall times. */
  readonly message: string;
  /** Where: `file:line:key`, `offset 12`, `stream node/n1/net/send ordinal 4`. */
  readonly place?: string;
  /** What to do next. */
  readonly remedy?: string;
  readonly cause?: unknown;
}

/** The one kind of error that leaves the simulator on purpose. */
export class SimError extends Error {
  override readonly name = 'SimError';
  readonly code: ErrorCode;
  readonly place: string | undefined;
  readonly remedy: string | undefined;

  constructor(options: SimErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.place = options.place;
    this.remedy = options.remedy;
  }

  /** The exit code of a command that ends with this error (design: commands and exit codes). */
  get exitCode(): number {
    return EXIT_CODE[this.code.slice(0, this.code.indexOf('/')) as ErrorClass];
  }
}
