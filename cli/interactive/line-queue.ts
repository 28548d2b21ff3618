/** The lines of an input, as they come: whoever asks may wait for the next, or look without. */
export class LineQueue {
  private readonly lines: string[] = [];
  private ended = false;
  private failure: Error | null = null;
  private wake: (() => void) | null = null;

  constructor(source: AsyncIterable<string>) {
    void this.fill(source);
  }

  /** The next line if it is there already. */
  peek(): string | undefined {
    return this.lines[0];
  }

  /** The next line, or null at the end of the input. */
  async next(): Promise<string | null> {
    while (this.lines.length === 0 && !this.ended) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    if (this.failure !== null) throw this.failure;
    return this.lines.shift() ?? null;
  }

  private async fill(source: AsyncIterable<string>): Promise<void> {
    try {
      for await (const line of source) {
        this.lines.push(line);
        this.wake?.();
      }
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
    }
    this.ended = true;
    this.wake?.();
  }
}
