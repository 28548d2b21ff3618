import { formatTime, type Decision, type LoggedEvent } from '../sim/index.ts';
import { layOut } from './columns.ts';
import type { Context } from './context.ts';
import { formatAddress } from './override.ts';

/** Which records are listed: from an index on, at most so many (0: all). */
export interface ListRange {
  readonly from: number;
  readonly limit: number;
}

/** Tables are laid out in pieces, so that a long list starts at once and takes no memory. */
const ROWS_AT_ONCE = 1_000;

/** Lists decisions; their addresses can be pasted into `--override` (CR-24). */
export function listDecisions(
  decisions: Iterable<Decision>,
  range: ListRange,
  { output }: Context,
): void {
  const head = ['index', 'at', 'address=choice', 'of', 'door'];
  const rows = new RowPrinter(output, head, new Set([0, 3]));
  for (const decision of within(decisions, range)) {
    const { index, stream, ordinal, atNs, arity, choice, door } = decision;
    const address = formatAddress(stream, ordinal);
    output.record({
      type: 'decision',
      index,
      stream,
      ordinal,
      at_ns: atNs,
      arity,
      choice,
      door,
      override: `${address}=${choice}`,
    });
    rows.add([String(index), formatTime(atNs), `${address}=${choice}`, String(arity), door]);
  }
  rows.end();
}

export function listEvents(
  events: Iterable<LoggedEvent>,
  nodes: readonly string[],
  range: ListRange,
  { output }: Context,
): void {
  const head = ['index', 'at', 'node', 'kind', 'input', 'result'];
  const rows = new RowPrinter(output, head, new Set([0, 5]));
  for (const { index, kind, guest, atNs, input, result } of within(events, range)) {
    const node = guest < 0 ? 'world' : (nodes[guest] ?? `guest ${guest}`);
    const digest = input.toString(16).padStart(8, '0');
    output.record({ type: 'event', index, at_ns: atNs, node, kind, input: digest, result });
    rows.add([String(index), formatTime(atNs), node, kind, digest, String(result)]);
  }
  rows.end();
}

function* within<T extends { readonly index: number }>(
  items: Iterable<T>,
  { from, limit }: ListRange,
): Generator<T, void, void> {
  for (const item of items) {
    if (limit > 0 && item.index >= from + limit) return;
    if (item.index >= from) yield item;
  }
}

class RowPrinter {
  private readonly output: Context['output'];
  private readonly right: ReadonlySet<number>;
  private rows: (readonly string[])[];

  constructor(output: Context['output'], head: readonly string[], right: ReadonlySet<number>) {
    this.output = output;
    this.right = right;
    this.rows = [head];
  }

  add(row: readonly string[]): void {
    if (!this.output.speaks) return;
    this.rows.push(row);
    if (this.rows.length >= ROWS_AT_ONCE) this.end();
  }

  end(): void {
    if (!this.output.speaks) return;
    for (const line of layOut(this.rows, this.right)) this.output.say(line);
    this.rows = [];
  }
}
