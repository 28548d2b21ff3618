import { assert } from '../kernel/assert.ts';
import { formatTime, type VirtualNs } from '../kernel/units.ts';
import {
  argumentFault,
  functionNamed,
  FUNCTIONS,
  resultFault,
  type FunctionRow,
} from './functions.ts';
import { parseHistoryLine, type HistoryLine } from './history-line.ts';
import type { Operation } from './operation.ts';
import { parseTransaction } from './transaction.ts';

/** A run's history holds at most this many operations; with more its checks are inconclusive. */
export const HISTORY_OPERATIONS_MAX = 1_000_000;

export interface HistoryState {
  readonly operations: readonly Operation[];
  /** For each node, the operations of its present life: name of client and id, index. */
  readonly known: readonly (readonly (readonly [string, number])[])[];
  readonly fault: string | null;
}

/**
 * The operations of a run, from the lines that guests write about them (see `parseHistoryLine`).
 * The first line that makes no sense ends the history with a fault: what follows could not be
 * trusted.
 */
export class History {
  private readonly nodeNames: readonly string[];
  private operations: Operation[] = [];
  private known: Map<string, number>[];
  private firstFault: string | null = null;

  constructor(nodeNames: readonly string[]) {
    this.nodeNames = nodeNames;
    this.known = nodeNames.map(() => new Map<string, number>());
  }

  /** What is wrong with the history, or null. */
  get fault(): string | null {
    return this.firstFault;
  }

  /** All operations so far, in the order of their calls' lines. */
  all(): readonly Operation[] {
    return this.operations;
  }

  /** Takes a line if it is one of a history. */
  line(node: number, line: string, atNs: VirtualNs): void {
    if (this.firstFault !== null) return;
    const parsed = parseHistoryLine(line);
    if (parsed === null) return;
    const fault = typeof parsed === 'string' ? parsed : this.take(node, parsed, atNs);
    if (fault === null) return;
    this.firstFault = `${this.nameOf(node)} at ${formatTime(atNs)}: ${fault}`;
  }

  /** The node's guest is gone: its open operations stay open, and its ids may come again. */
  lifeEnded(node: number): void {
    this.known[node]?.clear();
  }

  capture(): HistoryState {
    return {
      operations: this.operations.slice(),
      known: this.known.map((known) => [...known]),
      fault: this.firstFault,
    };
  }

  restore(state: HistoryState): void {
    this.operations = state.operations.slice();
    this.known = state.known.map((known) => new Map(known));
    this.firstFault = state.fault;
  }

  private take(node: number, line: HistoryLine, atNs: VirtualNs): string | null {
    const known = this.known[node];
    assert(known !== undefined, 'a node that writes has a history');
    const key = `${line.client} ${line.id}`;
    const index = known.get(key);
    if (line.verb !== 'invoke') return this.complete(index, line, atNs);
    if (index !== undefined) return `operation ${key} is called twice`;
    if (this.operations.length >= HISTORY_OPERATIONS_MAX) {
      return `the history has more than ${HISTORY_OPERATIONS_MAX} operations`;
    }
    const [name = '', ...args] = line.words;
    const row = functionNamed(name);
    if (row === undefined) {
      return `unknown function "${name}"; known are ${FUNCTIONS.map((each) => each.name).join(', ')}`;
    }
    const fault = callFault(row, args);
    if (fault !== null) return fault;
    known.set(key, this.operations.length);
    this.operations.push({
      index: this.operations.length,
      node,
      client: `${this.nameOf(node)}/${line.client}`,
      id: line.id,
      function: name,
      args,
      status: 'open',
      result: [],
      calledNs: atNs,
      returnedNs: null,
    });
    return null;
  }

  private complete(index: number | undefined, line: HistoryLine, atNs: VirtualNs): string | null {
    const { verb, client, id, words } = line;
    if (verb === 'invoke') return null;
    const operation = index === undefined ? undefined : this.operations[index];
    if (index === undefined || operation === undefined) {
      return `a reply before its call: "${verb}" for operation ${client} ${id}`;
    }
    if (operation.status !== 'open') return `operation ${client} ${id} is answered twice`;
    if (verb === 'ok') {
      const row = functionNamed(operation.function);
      assert(row !== undefined, 'a recorded operation has a known function');
      const fault = replyFault(row, operation.args, words);
      if (fault !== null) return fault;
    }
    const result = verb === 'ok' ? words : [];
    this.operations[index] = { ...operation, status: verb, result, returnedNs: atNs };
    return null;
  }

  private nameOf(node: number): string {
    return this.nodeNames[node] ?? `node ${node}`;
  }
}

function callFault(row: FunctionRow, args: readonly string[]): string | null {
  if (row.model !== 'transactions') return argumentFault(row, args);
  const transaction = parseTransaction(args, null);
  return typeof transaction === 'string' ? transaction : null;
}

function replyFault(
  row: FunctionRow,
  args: readonly string[],
  result: readonly string[],
): string | null {
  if (row.model !== 'transactions') return resultFault(row, result);
  const transaction = parseTransaction(args, result);
  return typeof transaction === 'string' ? transaction : null;
}
