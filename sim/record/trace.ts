import type { FaultKind } from './world-def.ts';

/** One attempt, as it stands in the trace (FH-38): a projection of what was decided. */
export interface TraceEvent {
  readonly run: number;
  readonly seq: number;
  readonly ts: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly fault: FaultKind | null;
  readonly latency_ms: number;
  readonly ok: boolean;
  readonly result?: unknown;
  readonly error?: string;
  readonly world_rev: number;
}

/** The attempts of a run, in order. */
export class RecordTrace {
  private readonly list: TraceEvent[] = [];

  add(event: TraceEvent): void {
    this.list.push(event);
  }

  get events(): readonly TraceEvent[] {
    return this.list;
  }

  /** How often a tool was called, failures included. */
  count(tool: string): number {
    return this.callsTo(tool).length;
  }

  callsTo(tool: string): readonly TraceEvent[] {
    return this.list.filter((event) => event.tool === tool);
  }

  /** Attempts into which something was injected. */
  faults(): readonly TraceEvent[] {
    return this.list.filter(({ fault }) => fault !== null);
  }

  /** Attempts that the client saw fail. */
  failures(): readonly TraceEvent[] {
    return this.list.filter(({ ok }) => !ok);
  }

  /** JSON Lines. */
  lines(): string {
    return this.list.map((event) => `${JSON.stringify(event)}\n`).join('');
  }

  summary(): string {
    return summarise(this.list);
  }
}

/** The one line of a failing run: `get_order → issue_refund!timeout → issue_refund` (FH-40). */
export function summarise(events: readonly TraceEvent[]): string {
  if (events.length === 0) return '(no calls)';
  return events
    .map(({ tool, fault, ok }) => {
      if (fault !== null) return `${tool}!${fault}`;
      return ok ? tool : `${tool}!error`;
    })
    .join(' → ');
}

/** Reads a trace's text again; lines that are none are left out. */
export function parseTrace(text: string): readonly TraceEvent[] {
  return text.split('\n').flatMap((line): TraceEvent[] => {
    if (!line.startsWith('{"run":')) return [];
    try {
      return [JSON.parse(line) as TraceEvent];
    } catch {
      return [];
    }
  });
}
