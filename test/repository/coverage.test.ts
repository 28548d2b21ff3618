import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { testFiles } from '../support/test-files.ts';

/** How many requirements each group of the specification has. */
const GROUPS: Readonly<Record<string, number>> = { FB: 75, CR: 120, FH: 56, KS: 45, PG: 108 };

const STATUSES = [
  'packaged',
  'public API',
  'certified',
  'model only',
  'rejected',
  'partial',
  'missing',
];

interface Row {
  readonly id: string;
  readonly status: string;
  readonly tests: readonly string[];
  readonly page: string;
}

function rows(): Row[] {
  const lines = readFileSync('docs/coverage.md', 'utf8').split('\n');
  return lines.flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    const [, id, , status, tests, page] = cells;
    if (id === undefined || !/^[A-Z]{2}-\d+$/.test(id)) return [];
    const files = [...(tests ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
    return [{ id, status: status ?? '', tests: files, page: (page ?? '').replaceAll('`', '') }];
  });
}

/** Requirement ids in the titles of a test file. */
function titledIds(path: string): Set<string> {
  const text = readFileSync(path, 'utf8');
  const titles = text.matchAll(/\b(?:it|test|describe)(?:\.each)?\b[\s\S]{0,4000}?(['"`])(.*?)\1/g);
  const ids = new Set<string>();
  for (const title of titles) {
    for (const id of (title[2] ?? '').matchAll(/\b(?:FB|CR|FH|KS|PG)-\d+\b/g)) ids.add(id[0]);
  }
  return ids;
}

const tests = testFiles();
const titled = new Map(tests.map((path) => [path, titledIds(path)]));

describe('docs/coverage.md', () => {
  it('has one row for each requirement, in order', () => {
    const expected = Object.entries(GROUPS).flatMap(([group, count]) => {
      return Array.from({ length: count }, (_, index) => `${group}-${index + 1}`);
    });
    expect(rows().map((row) => row.id)).toEqual(expected);
  });

  it('CR-1: gives each a status of the closed list', () => {
    const unknown = rows().filter(({ status }) => {
      return !status.split(', ').every((each) => STATUSES.includes(each));
    });
    expect(unknown).toEqual([]);
  });

  it('names for each claim a test whose title has the id, and a page that exists', () => {
    const wrong = rows().flatMap(({ id, status, tests: files, page }) => {
      if (status === 'missing') return files.length === 0 ? [] : [`${id}: missing, with a test`];
      const proven = files.length > 0 && files.every((file) => titled.get(file)?.has(id) === true);
      return [
        ...(proven ? [] : [`${id}: ${files.join(' ')} does not name it`]),
        ...(page !== '' && existsSync(page) ? [] : [`${id}: no page ${page}`]),
      ];
    });
    expect(wrong).toEqual([]);
  });

  it('calls nothing missing that a test names', () => {
    const missing = new Set(rows().flatMap(({ id, status }) => (status === 'missing' ? [id] : [])));
    const wrong = [...titled].flatMap(([path, ids]) => {
      return [...ids].filter((id) => missing.has(id)).map((id) => `${path} names ${id}`);
    });
    expect(wrong).toEqual([]);
  });
});
