/** The objects whose histories can be checked for linearizability. */
export type ModelName = 'register' | 'map' | 'set' | 'queue';

export const MODEL_NAMES: readonly ModelName[] = ['register', 'map', 'set', 'queue'];

/** What a function brings back: nothing, `true` or `false`, one word, or words with commas. */
type ResultKind = 'nothing' | 'truth-or-nothing' | 'truth' | 'word' | 'list';

export interface FunctionRow {
  readonly name: string;
  readonly model: ModelName | 'transactions';
  /** The names of its arguments, of which the first is the key; null for any number. */
  readonly args: readonly string[] | null;
  readonly result: ResultKind;
  /** Whether it only looks: an unknown outcome of it then says nothing and may be left out. */
  readonly looksOnly: boolean;
}

function row(
  model: FunctionRow['model'],
  usage: string,
  result: ResultKind,
  looksOnly = false,
): FunctionRow {
  const [name = '', ...args] = usage.split(' ');
  return { name, model, args: model === 'transactions' ? null : args, result, looksOnly };
}

/**
 * Every function that a history may name. Each belongs to one model, so that a run may have
 * histories of several objects, and a property takes the operations of its own model.
 */
export const FUNCTIONS: readonly FunctionRow[] = [
  row('register', 'read key', 'word', true),
  row('register', 'write key value', 'nothing'),
  row('register', 'cas key expected value', 'truth'),
  row('map', 'get key', 'word', true),
  row('map', 'put key value', 'nothing'),
  row('map', 'append key value', 'nothing'),
  row('map', 'delete key', 'truth-or-nothing'),
  row('set', 'add key element', 'truth-or-nothing'),
  row('set', 'remove key element', 'truth-or-nothing'),
  row('set', 'contains key element', 'truth', true),
  row('set', 'members key', 'list', true),
  row('queue', 'enqueue key value', 'nothing'),
  row('queue', 'dequeue key', 'word'),
  row('transactions', 'txn', 'nothing'),
];

/** The function of that name, or undefined. */
export function functionNamed(name: string): FunctionRow | undefined {
  return FUNCTIONS.find((each) => each.name === name);
}

/** Why these arguments do not fit the function, or null. */
export function argumentFault(row: FunctionRow, args: readonly string[]): string | null {
  if (row.args === null) return null;
  if (args.length === row.args.length) {
    // A list of members is written with commas.
    const element = row.model === 'set' ? (args[1] ?? '') : '';
    return element.includes(',') ? 'an element of a set has no comma' : null;
  }
  return `"${row.name}" takes ${row.args.join(', ')}; it got ${args.length} arguments`;
}

/** Why this result does not fit the function, or null. */
export function resultFault(row: FunctionRow, result: readonly string[]): string | null {
  const [word] = result;
  const truth = word === 'true' || word === 'false';
  switch (row.result) {
    case 'nothing':
      return result.length === 0 ? null : `"${row.name}" has no result`;
    case 'truth-or-nothing':
      return result.length === 0 || (result.length === 1 && truth)
        ? null
        : `the result of "${row.name}" is true, false or nothing`;
    case 'truth':
      return result.length === 1 && truth ? null : `the result of "${row.name}" is true or false`;
    case 'word':
      return result.length === 1 ? null : `the result of "${row.name}" is one word`;
    case 'list':
      return result.length === 1 ? null : `the result of "${row.name}" is one word with commas`;
  }
}
