import type { Host } from './host.ts';

/** Progress on stderr, on a terminal only: a bar, the rate, the time left. */
export class Progress {
  private readonly host: Host;
  private readonly total: number;
  private readonly enabled: boolean;
  private readonly startMs: number;
  private shownMs = 0;

  constructor(host: Host, total: number, quiet: boolean) {
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
    const line = progressLine({ done, total: this.total, elapsedMs: nowMs - this.startMs, note });
    this.host.stderr.write(`\r\u001b[K${line.slice(0, this.host.stderr.columns - 1)}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.enabled) this.host.stderr.write('\r\u001b[K');
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
