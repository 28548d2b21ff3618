import { History, type Operation } from '../../sim/index.ts';

/** A small generator of whole numbers, so that random histories are the same everywhere. */
export class Dice {
  private state: number;

  constructor(seed: number) {
    this.state = (seed * 2654435761 + 12345) >>> 0;
  }

  /** A whole number from 0 to `sides - 1`. */
  roll(sides: number): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * sides);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.roll(items.length)] as T;
  }
}

/**
 * A history of one node from lines such as `10 op invoke c1 1 write x 3`: the time in
 * nanoseconds, then the line.
 */
export function historyOf(text: string): History {
  const history = new History(['n']);
  for (const row of text.trim().split('\n')) {
    const [, at, line] = /^\s*(\d+) (.*)$/.exec(row) ?? [];
    if (at === undefined || line === undefined) throw new Error(`no line of a history: ${row}`);
    history.line(0, line, Number(at));
  }
  return history;
}

/** Operations of a small random history, of which the replies are drawn as well. */
export function randomOperations(
  dice: Dice,
  shape: {
    readonly clients: number;
    readonly calls: number;
    /** The words of a call, function first. */
    readonly call: (dice: Dice) => readonly string[];
    /** The result, for the function. */
    readonly result: (dice: Dice, name: string) => readonly string[];
    /** How many in a hundred have an unknown outcome. */
    readonly unknownPercent: number;
  },
): readonly Operation[] {
  const history = new History(['n']);
  const open = new Map<number, { id: number; name: string }>();
  let atNs = 0;
  for (let id = 0; id < shape.calls || open.size > 0;) {
    // Two events now and then fall together.
    if (dice.roll(8) > 0) atNs++;
    const client = dice.roll(shape.clients);
    const pending = open.get(client);
    if (pending === undefined) {
      if (id >= shape.calls) continue;
      const words = shape.call(dice);
      history.line(0, `op invoke c${client} ${id} ${words.join(' ')}`, atNs);
      open.set(client, { id: id++, name: words[0] ?? '' });
      continue;
    }
    open.delete(client);
    const unknown = dice.roll(100) < shape.unknownPercent;
    const words = unknown ? [] : shape.result(dice, pending.name);
    const verb = unknown ? 'info' : 'ok';
    history.line(0, ['op', verb, `c${client}`, pending.id, ...words].join(' '), atNs);
  }
  if (history.fault !== null) throw new Error(history.fault);
  return history.all();
}
