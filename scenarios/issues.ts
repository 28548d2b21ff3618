import type { z } from 'zod';
import { SimError, type ErrorCode } from '../sim/index.ts';
import { formatPath, formatPlace, type KeyPath, type PlainValue, type Position } from './toml.ts';
import { refuseEffect } from './effect-names.ts';
import { didYouMean } from './suggest.ts';

/** Something wrong in a scenario's text, at a key path. */
export interface Issue {
  readonly code: ErrorCode;
  readonly path: KeyPath;
  readonly message: string;
  /** What to do next. */
  readonly remedy?: string;
}

/** Where a scenario's text stands: a file with positions, or a program's value without. */
export interface Source {
  /** What people call the text: a file's name, a built-in's name. */
  readonly file: string;
  locate(path: KeyPath): Position | null;
}

/** At most this many errors of one text are told. */
export const ISSUES_MAX = 50;

/** Issues as errors with their places, in the order of the text. */
export function toErrors(issues: readonly Issue[], source: Source): readonly SimError[] {
  const placed = issues.map((issue) => ({ issue, position: source.locate(issue.path) }));
  placed.sort((a, b) => comparePositions(a.position, b.position));
  const errors = placed.map(({ issue, position }) => {
    const place =
      position === null
        ? `${source.file}: ${formatPath(issue.path)}`
        : formatPlace(source.file, position, issue.path);
    const { code, message, remedy } = issue;
    return new SimError({ code, message, place, ...(remedy === undefined ? {} : { remedy }) });
  });
  // A table that makes several nodes would say the same for each of them.
  const seen = new Set<string>();
  const distinct = errors.filter((error) => {
    const key = `${error.place ?? ''}\n${error.message}`;
    return !seen.has(key) && seen.add(key);
  });
  return distinct.slice(0, ISSUES_MAX);
}

function comparePositions(a: Position | null, b: Position | null): number {
  if (a === null || b === null) return 0;
  return a.line - b.line || a.column - b.column;
}

/** Turns what the schema found into sentences that say what is allowed. */
export function schemaIssues(error: z.ZodError, root: PlainValue): Issue[] {
  return error.issues.flatMap((issue) => translate(issue, root));
}

function translate(issue: z.core.$ZodIssue, root: PlainValue): Issue[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
  if (issue.code === 'unrecognized_keys') {
    const allowed = issue.message.split(', ');
    return issue.keys.map((key) => ({
      code: 'scenario/unknown-key',
      path: [...path, key],
      message: `unknown key "${key}"${didYouMean(key, allowed)}; allowed: ${issue.message}`,
    }));
  }
  const found = valueAt(root, path);
  if (found === undefined) {
    const allowed = 'options' in issue ? `; one of ${words(issue['options'])}` : '';
    return [{ code: 'scenario/missing-key', path, message: `the key is missing${allowed}` }];
  }
  const refused = path[0] === 'event' && path.at(-1) === 'do' ? refuseEffect(word(found)) : null;
  if (refused !== null) return [{ code: 'scenario/unsupported', path, ...refused }];
  return [{ code: 'scenario/value', path, message: describe(issue, found) }];
}

function describe(issue: z.core.$ZodIssue, found: PlainValue): string {
  const shown = show(found);
  switch (issue.code) {
    case 'invalid_type':
      return `${shown} is not ${KIND_NAMES.get(issue.expected) ?? issue.expected}`;
    case 'invalid_value': {
      const options = issue.values.map(String);
      if (options.length === 1) return `${shown}: ${issue.message}`;
      return `${shown} is not one of ${words(options)}${didYouMean(word(found), options)}`;
    }
    case 'invalid_union': {
      const options = (issue as { options?: unknown }).options;
      if (options === undefined) return `${shown}: ${issue.message}`;
      const known = (options as unknown[]).map(String);
      return `${shown} is not one of ${words(known)}${didYouMean(word(found), known)}`;
    }
    case 'too_small':
      if (issue.origin === 'array') return `it has fewer than ${issue.minimum} items`;
      return `${shown} is below ${issue.minimum}`;
    case 'too_big':
      if (issue.origin === 'array') return `it has more than ${issue.maximum} items`;
      return `${shown} is above ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const KIND_NAMES: ReadonlyMap<string, string> = new Map([
  ['string', 'a text'],
  ['int', 'a whole number'],
  ['number', 'a whole number'],
  ['array', 'a list'],
  ['tuple', 'a list of two'],
  ['object', 'a table'],
  ['record', 'a table'],
]);

function words(options: unknown): string {
  return (options as unknown[]).map((option) => `"${String(option)}"`).join(', ');
}

/** A value that may be a misspelt word; others are like nothing. */
function word(value: PlainValue): string {
  return typeof value === 'string' ? value : '';
}

/** A value as it would be written, cut to a readable length. */
function show(value: PlainValue): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a table';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function valueAt(root: PlainValue, path: KeyPath): PlainValue | undefined {
  let value: PlainValue | undefined = root;
  for (const key of path) {
    if (typeof value !== 'object') return undefined;
    const holder: object = value;
    value = Object.hasOwn(holder, key) ? (holder as Record<string, PlainValue>)[key] : undefined;
  }
  return value;
}
