/** What a line of a history says of an operation. */
export type HistoryVerb = 'invoke' | 'ok' | 'fail' | 'info';

export interface HistoryLine {
  readonly verb: HistoryVerb;
  /** Who calls: any word. */
  readonly client: string;
  /** Which of the client's operations: any word that it uses once in its node's life. */
  readonly id: string;
  /** `invoke`: the function and its arguments. `ok`: the result. Otherwise nothing that counts. */
  readonly words: readonly string[];
}

const PREFIX = 'op ';
const VERBS: ReadonlySet<string> = new Set<HistoryVerb>(['invoke', 'ok', 'fail', 'info']);

/**
 * Reads `op invoke <client> <id> <function> <argument>…`, `op ok <client> <id> <result>…`,
 * `op fail <client> <id>` or `op info <client> <id>`; words are separated by one space. A line that
 * begins otherwise is no line of a history: null. One that begins so and lacks something is a
 * text that says what it lacks.
 */
export function parseHistoryLine(line: string): HistoryLine | string | null {
  if (!line.startsWith(PREFIX)) return null;
  const [verb, client, id, ...words] = line.slice(PREFIX.length).trimEnd().split(' ');
  if (verb === undefined || !VERBS.has(verb)) return null;
  if (client === undefined || id === undefined || client === '' || id === '') {
    return `"${line}" names no client and operation`;
  }
  if (words.includes('')) return `"${line}" has two spaces in a row`;
  if (verb === 'invoke' && words.length === 0) return `"${line}" names no function`;
  return { verb: verb as HistoryVerb, client, id, words };
}
