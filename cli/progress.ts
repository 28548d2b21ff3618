import type { Host } from './host.ts';

/** Progress on stderr, on a terminal only: a bar, the rate, the time left; or words. */
export class Progress {
  private readonly host: Pick<Host, 'stderr'>;
  private readonly total: number;
  private readonly enabled: boolean;
  private readonly startMs: number;
  private shownMs = 0;
  private told = '';

  constructor(host: Pick<Host, 'stderr'>, total: number, quiet: boolean) {
    this.host = host;
    this.total = total;
    this.enabled = host.stderr.isTerminal && !quiet;
    this.startMs = performance.now();
  }

  /** Says how far things are; at most ten times a second. */
  update(done: number, note: string): void {
    const nowMs = performance.now();
    if (!this.enabled || (nowMs - this.shownMs < 100 && done < this.total)) return;
    this.shownMs = nowMs;
    this.show(progressLine({ done, total: this.total, elapsedMs: nowMs - this.startMs, note }));
  }

  /** Says what is done of which nobody knows how much there is, and for how long. */
  tell(what: string): void {
    const nowMs = performance.now();
    if (!this.enabled || (nowMs - this.shownMs < 100 && what === this.told)) return;
    this.shownMs = nowMs;
    this.told = what;
    const seconds = Math.floor((nowMs - this.startMs) / 1000);
    this.show(seconds === 0 ? what : `${what}  ${seconds}s`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.enabled) this.host.stderr.write('\r\u001b[K');
  }

  private show(line: string): void {
    this.host.stderr.write(`\r\u001b[K${line.slice(0, this.host.stderr.columns - 1)}`);
  }
}

const BAR_WIDTH = 24;

/** `[######------] 50/100  25.0/s  2s left  note`. */
export function progressLine(state: {
  readonly done: number;
  readonly total: number;
  readonly elapsedMs: number;
  readonly note: string;
}): string {
  const { done, total, elapsedMs, note } = state;
  const filled = Math.floor((BAR_WIDTH * done) / Math.max(1, total));
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_WIDTH - filled);
  const rate = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const left = rate > 0 ? `${Math.ceil((total - done) / rate)}s left` : 'time left unknown';
  return `[${bar}] ${done}/${total}  ${rate.toFixed(1)}/s  ${left}${note === '' ? '' : `  ${note}`}`;
}
