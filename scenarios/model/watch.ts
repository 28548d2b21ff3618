import { createContext, Script, type Context } from 'node:vm';

/** A step of a body takes at most this long on the host: a body that spins is an error. */
export const STEP_WALL_MS_MAX = 10_000;

/**
 * Ends code of realms that runs too long on the host. A watch costs a thread each time, more than a short
 * body takes; so steps may share one.
 */
export class Watch {
  private readonly holder: { work: () => void } = { work: () => undefined };
  private readonly context: Context = createContext(this.holder);
  private readonly script = new Script('work()');
  private shared = false;

  /** Runs a script of a realm; false where it had to be ended. */
  step(script: Script, context: Context): boolean {
    if (this.shared) {
      script.runInContext(context);
      return true;
    }
    return timed(script, context);
  }

  /**
   * Runs work whose steps share one watch. False where its time was up: whatever it had in hand may be
   * half done, realms and engines included, and is to be made anew. What work throws goes on.
   */
  share(work: () => void): boolean {
    let thrown: { readonly error: unknown } | null = null;
    this.holder.work = () => {
      try {
        work();
      } catch (error) {
        thrown = { error };
      }
    };
    this.shared = true;
    let inTime: boolean;
    try {
      inTime = timed(this.script, this.context);
    } finally {
      this.shared = false;
      this.holder.work = () => undefined;
    }
    if (thrown !== null) throw (thrown as { readonly error: unknown }).error;
    return inTime;
  }
}

function timed(script: Script, context: Context): boolean {
  try {
    script.runInContext(context, { timeout: STEP_WALL_MS_MAX });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  }
}
