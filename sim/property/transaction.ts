import { NIL, type Operation } from './operation.ts';

/** A part of a transaction: it appends a value to a list, or reads the whole list. */
export type MicroOperation =
  | { readonly kind: 'append'; readonly key: string; readonly value: string }
  | { readonly kind: 'read'; readonly key: string; readonly list: readonly string[] | null };

/**
 * Reads `append <key> <value>` and `read <key>`, one after the other; `result` has one word for
 * each read: the list with commas. Null leaves the lists unknown. A text says what is wrong.
 */
export function parseTransaction(
  words: readonly string[],
  result: readonly string[] | null,
): readonly MicroOperation[] | string {
  const micros: MicroOperation[] = [];
  let readCount = 0;
  for (let at = 0; at < words.length;) {
    const [kind, key, value] = [words[at], words[at + 1], words[at + 2]];
    if (kind === 'append' && key !== undefined && value !== undefined) {
      if (value === NIL || value.includes(',')) return `"${value}" is no value of a list`;
      micros.push({ kind, key, value });
      at += 3;
    } else if (kind === 'read' && key !== undefined) {
      micros.push({ kind, key, list: listOf(result?.[readCount]) });
      readCount++;
      at += 2;
    } else {
      return `"txn" takes "append key value" and "read key"; it got "${words.slice(at).join(' ')}"`;
    }
  }
  if (micros.length === 0) return '"txn" does nothing';
  if (result !== null && result.length !== readCount) {
    return `the result of "txn" has ${result.length} lists for ${readCount} reads`;
  }
  return micros;
}

function listOf(word: string | undefined): readonly string[] | null {
  if (word === undefined) return null;
  return word === NIL ? [] : word.split(',');
}

/** `n1/c3 7: append x 1, read y → 4,5`, for people. */
export function describeTransaction(operation: Operation): string {
  const result = operation.status === 'ok' ? operation.result : null;
  const micros = parseTransaction(operation.args, result);
  if (typeof micros === 'string') return micros;
  const parts = micros.map((micro) => {
    if (micro.kind === 'append') return `append ${micro.key} ${micro.value}`;
    const { key, list } = micro;
    return list === null ? `read ${key}` : `read ${key} → ${list.length === 0 ? NIL : list.join()}`;
  });
  const status = operation.status === 'ok' ? '' : ' (unknown outcome)';
  return `${operation.client} ${operation.id}: ${parts.join(', ')}${status}`;
}
