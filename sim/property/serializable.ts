import { assert } from '../kernel/assert.ts';
import { findCycle, type Dependency } from './dependency.ts';
import { NIL, type Operation } from './operation.ts';
import { describeTransaction, parseTransaction, type MicroOperation } from './transaction.ts';

export interface SerializableVerdict {
  readonly verdict: 'pass' | 'fail' | 'inconclusive';
  readonly detail: string;
  readonly picture?: readonly string[];
}

interface Transaction {
  readonly operation: Operation;
  readonly micros: readonly MicroOperation[];
}

type Read = Extract<MicroOperation, { kind: 'read' }> & { readonly list: readonly string[] };

/**
 * Whether the transactions on lists could have run one after the other, as Elle finds it
 * (Kingsbury and Alvaro 2020): since values only get appended, and each once, what was read tells
 * the order of all appends that were read; from it follow dependencies, and a cycle of them is a
 * proof that there is no order. Transactions of unknown outcome count if somebody read of them.
 * It gives up, inconclusive, at `stepsMax` dependencies.
 */
export function checkSerializable(
  operations: readonly Operation[],
  stepsMax: number,
): SerializableVerdict {
  const transactions = operations.map((operation): Transaction => {
    const result = operation.status === 'ok' ? operation.result : null;
    const micros = parseTransaction(operation.args, result);
    assert(typeof micros !== 'string', 'a recorded transaction can be read');
    return { operation, micros };
  });
  return new Analysis(transactions, stepsMax).run();
}

class Analysis {
  private readonly transactions: readonly Transaction[];
  private readonly stepsMax: number;
  /** By key, the writer of each value. */
  private readonly writers = new Map<string, Map<string, number>>();
  /** By key, the longest list that was read. */
  private readonly orders = new Map<string, readonly string[]>();
  private readonly dependencies: Dependency[] = [];
  private readonly happened = new Set<number>();

  constructor(transactions: readonly Transaction[], stepsMax: number) {
    this.transactions = transactions;
    this.stepsMax = stepsMax;
  }

  run(): SerializableVerdict {
    const twice = this.indexWriters();
    if (twice !== null) return { verdict: 'inconclusive', detail: twice };
    const broken = this.eachRead((index, read, own) => this.faultOfRead(index, read, own));
    if (broken !== null) return broken;
    const diverged = this.eachRead((_, read) => this.faultOfOrder(read));
    if (diverged !== null) return diverged;
    const swapped = this.swappedAppends();
    if (swapped !== null) return swapped;
    this.findHappened();
    this.findWriteOrder();
    this.eachRead((index, read) => this.findReadOrder(index, read));
    if (this.dependencies.length >= this.stepsMax) {
      return { verdict: 'inconclusive', detail: `gave up at ${this.stepsMax} dependencies` };
    }
    const cycle = findCycle(this.transactions.length, this.dependencies);
    if (cycle === null) {
      const detail = `${this.transactions.length} transactions on ${this.writers.size} lists`;
      return { verdict: 'pass', detail };
    }
    const picture = cycle.edges.flatMap((edge) => {
      return [this.describe(edge.from), `  ${explain(edge)} ${this.labelOf(edge.to)}`];
    });
    const labels = cycle.edges.map((edge) => this.labelOf(edge.from)).join(', ');
    const detail = `${cycle.name}: a cycle of ${cycle.edges.length} transactions: ${labels}`;
    return { verdict: 'fail', detail, picture };
  }

  private indexWriters(): string | null {
    for (const [index, { micros }] of this.transactions.entries()) {
      for (const micro of micros) {
        if (micro.kind === 'read') continue;
        const { key, value } = micro;
        const values = this.writers.get(key) ?? new Map<string, number>();
        if (values.has(value))
          return `value ${value} is appended twice to ${key}; it must be unique`;
        this.writers.set(key, values.set(value, index));
      }
    }
    return null;
  }

  /** Visits each read whose list is known, with the transaction's own appends before it. */
  private eachRead(
    visit: (index: number, read: Read, own: readonly string[]) => string | null,
  ): SerializableVerdict | null {
    for (const [index, { operation, micros }] of this.transactions.entries()) {
      if (operation.status !== 'ok') continue;
      const appended = new Map<string, string[]>();
      for (const micro of micros) {
        const own = appended.get(micro.key) ?? [];
        if (micro.kind === 'append') {
          appended.set(micro.key, [...own, micro.value]);
        } else if (micro.list !== null) {
          const fault = visit(index, { ...micro, list: micro.list }, own);
          if (fault !== null)
            return { verdict: 'fail', detail: fault, picture: [this.describe(index)] };
        }
      }
    }
    return null;
  }

  private faultOfRead(index: number, { key, list }: Read, own: readonly string[]): string | null {
    const who = this.labelOf(index);
    if (new Set(list).size !== list.length) return `${who} read a value twice in ${key}`;
    for (const value of list) {
      const writer = this.writers.get(key)?.get(value);
      if (writer === undefined) return `${who} read ${value} in ${key}, which nobody appended`;
      if (this.transactions[writer]?.operation.status === 'fail') {
        return `G1a: ${who} read ${value} in ${key}, appended by ${this.labelOf(writer)}, which failed`;
      }
    }
    const seen = list.filter((value) => this.writers.get(key)?.get(value) === index);
    if (seen.join() === own.join()) return null;
    return `internal: ${who} read ${seen.join() || NIL} of its own in ${key} after appending ${own.join() || NIL}`;
  }

  /** Keeps the longest list of each key; all others must be beginnings of it. */
  private faultOfOrder({ key, list }: Read): string | null {
    const known = this.orders.get(key) ?? [];
    const [short, long] = list.length <= known.length ? [list, known] : [known, list];
    if (short.some((value, at) => long[at] !== value)) {
      return `${key} was read as ${short.join()} and as ${long.join()}: no order has both`;
    }
    this.orders.set(key, long);
    return null;
  }

  /** The appends of one transaction to one list stand there in its own order. */
  private swappedAppends(): SerializableVerdict | null {
    const places = new Map([...this.orders].map(([key, order]) => [key, placesOf(order)]));
    for (const [index, { micros }] of this.transactions.entries()) {
      const furthest = new Map<string, number>();
      for (const micro of micros) {
        if (micro.kind === 'read') continue;
        const place = places.get(micro.key)?.get(micro.value) ?? Infinity;
        if (place < (furthest.get(micro.key) ?? -1)) {
          const { key, value } = micro;
          const detail = `internal: ${this.labelOf(index)} appended ${value} to ${key} later than it stands there`;
          return { verdict: 'fail', detail, picture: [this.describe(index)] };
        }
        furthest.set(micro.key, place);
      }
    }
    return null;
  }

  /** A transaction happened that was answered so, or whose append somebody read. */
  private findHappened(): void {
    for (const [index, { operation }] of this.transactions.entries()) {
      if (operation.status === 'ok') this.happened.add(index);
    }
    for (const [key, order] of this.orders) {
      for (const value of order) this.happened.add(this.writers.get(key)?.get(value) ?? -1);
    }
  }

  private findWriteOrder(): void {
    for (const [key, values] of this.writers) {
      const order = this.orders.get(key) ?? [];
      for (let at = 1; at < order.length; at++) {
        const [before, after] = [order[at - 1] as string, order[at] as string];
        this.depend(values.get(before), values.get(after), 'ww', key);
      }
      const last = order.at(-1);
      if (last === undefined) continue;
      for (const writer of this.unread(key)) this.depend(values.get(last), writer, 'ww', key);
    }
  }

  private findReadOrder(index: number, { key, list }: Read): null {
    const values = this.writers.get(key);
    const last = list.at(-1);
    if (last !== undefined) this.depend(values?.get(last), index, 'wr', key);
    const next = this.orders.get(key)?.[list.length];
    const later = next === undefined ? this.unread(key) : [values?.get(next)];
    for (const writer of later) this.depend(index, writer, 'rw', key);
    return null;
  }

  /** Who certainly appended to the list what nobody read: after all that was read. */
  private unread(key: string): readonly number[] {
    const read = new Set(this.orders.get(key) ?? []);
    const values = [...(this.writers.get(key) ?? [])].filter(([value]) => !read.has(value));
    const writers = new Set(values.map(([, writer]) => writer));
    return [...writers].filter((each) => this.happened.has(each));
  }

  private depend(
    from: number | undefined,
    to: number | undefined,
    kind: Dependency['kind'],
    key: string,
  ): void {
    if (from === undefined || to === undefined || from === to) return;
    if (this.dependencies.length >= this.stepsMax) return;
    this.dependencies.push({ from, to, kind, key });
  }

  private labelOf(index: number): string {
    const operation = this.transactions[index]?.operation;
    return operation === undefined ? '' : `${operation.client} ${operation.id}`;
  }

  private describe(index: number): string {
    const operation = this.transactions[index]?.operation;
    return operation === undefined ? '' : describeTransaction(operation);
  }
}

function explain({ kind, key }: Dependency): string {
  switch (kind) {
    case 'ww':
      return `ww on ${key}: it appended before`;
    case 'wr':
      return `wr on ${key}: its append was read by`;
    case 'rw':
      return `rw on ${key}: it did not see the append of`;
  }
}

function placesOf(order: readonly string[]): ReadonlyMap<string, number> {
  return new Map(order.map((value, at) => [value, at]));
}
