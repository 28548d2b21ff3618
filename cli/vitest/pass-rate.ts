/** A run that failed, and how to see it again. */
export interface FailedRun {
  readonly run: number;
  readonly seed: number | null;
  readonly trace: string | null;
  readonly message: string;
  readonly replay: string;
}

/** At most so many failed runs are shown. */
const SHOWN_MAX = 5;

/** The runs of a test with a minimum pass rate: those that really ran (FH-45 to FH-47). */
export class PassRate {
  private readonly name: string;
  private readonly minimum: number;
  private ran = 0;
  private readonly failed: FailedRun[] = [];

  constructor(name: string, minimum: number) {
    this.name = name;
    this.minimum = minimum;
  }

  passed(): void {
    this.ran++;
  }

  failedRun(run: FailedRun): void {
    this.ran++;
    this.failed.push(run);
  }

  /** Whether too few of the runs passed. */
  get isBelow(): boolean {
    return this.ran - this.failed.length < this.minimum * this.ran;
  }

  /** `name: 17/20 passed (85%)  min_pass_rate=95% -> FAIL`, and up to five failed runs (FH-46). */
  report(): string {
    const { name, ran, minimum, failed } = this;
    const passed = ran - failed.length;
    const verdict = this.isBelow ? 'FAIL' : 'PASS';
    const rate = `${passed}/${ran} passed (${percent(passed / ran)})`;
    const lines = [`${name}: ${rate}  min_pass_rate=${percent(minimum)} -> ${verdict}`];
    for (const run of failed.slice(0, SHOWN_MAX)) {
      lines.push(
        `  run ${run.run}: ${run.message}`,
        ...repetition(run).map((line) => `    ${line}`),
      );
    }
    if (failed.length > SHOWN_MAX) lines.push(`  and ${failed.length - SHOWN_MAX} more`);
    return lines.join('\n');
  }
}

/** The trace, the seed and the command that repeats a run, a line each. */
export function repetition({ run, seed, trace, replay }: Omit<FailedRun, 'message'>): string[] {
  return [
    ...(trace === null ? [] : [`trace   ${trace}`]),
    ...(seed === null ? [] : [`seed    ${seed} (run ${run})`]),
    `replay  ${replay}`,
  ];
}

/** A share in percent, to a tenth where it is not whole. */
function percent(share: number): string {
  return `${Number((100 * share).toFixed(1))}%`;
}
