import { parseSpan, SimError } from '../sim/index.ts';

/** What a shrink may use where nobody says. */
export const PROBES_DEFAULT = 1000;

/** How many runs, or how much time, may be used. Runs give the same result on every machine. */
export class ShrinkBudget {
  private left: number;
  private readonly endMs: number;
  private used = 0;

  constructor(limits: { readonly probes: number; readonly endMs: number }) {
    this.left = limits.probes;
    this.endMs = limits.endMs;
  }

  /** Reads `--budget`: a whole number of runs, or a span of time. Throws `usage/budget`. */
  static parse(text: string | undefined, nowMs: number): ShrinkBudget {
    if (text === undefined) return new ShrinkBudget({ probes: PROBES_DEFAULT, endMs: Infinity });
    const probes = Number(text);
    if (/^\d{1,9}$/.test(text) && probes > 0) return new ShrinkBudget({ probes, endMs: Infinity });
    const span = /[a-z]/.test(text) ? parseSpan(text) : null;
    if (span?.ok !== true || span.ns === 0) {
      throw new SimError({
        code: 'usage/budget',
        message: `--budget is "${text}", expected a number of runs or a span, at least 1`,
        remedy: 'write --budget 500 or --budget 60s',
      });
    }
    return new ShrinkBudget({ probes: Infinity, endMs: nowMs + span.ns / 1e6 });
  }

  /** How many runs have been charged. */
  get charged(): number {
    return this.used;
  }

  /** How many more runs may be made now. */
  available(nowMs: number): number {
    return nowMs >= this.endMs ? 0 : this.left;
  }

  charge(count: number): void {
    this.used += count;
    this.left -= count;
  }
}
