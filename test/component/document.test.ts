import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { HOST_INTERFACES } from '../../wasm/component/registry.ts';

const PAGE = readFileSync(new URL('../../docs/wasi-preview2.md', import.meta.url), 'utf8');

/** The rows of the page's tables: interface, name, whether it waits. */
function documented(): string[] {
  let section = '';
  const rows: string[] = [];
  for (const line of PAGE.split('\n')) {
    const heading = /^## (.*)$/.exec(line);
    if (heading !== null) section = heading[1];
    const row = /^\| `([^`]+)`\s*\| (yes|\s*)\s*\| /.exec(line);
    if (row !== null) rows.push(`${section} ${row[1]} ${row[2].trim()}`);
  }
  return rows;
}

it('the page has a row for each function and resource of the table, in its order, and no other', () => {
  const offered = HOST_INTERFACES.flatMap(({ name, functions, resources }) => [
    ...functions.map((one) => `${name} ${one.name} ${one.blocks ? 'yes' : ''}`),
    ...resources.map((one) => `${name} ${one.name.replace(/.*#/, '')} (resource) `),
  ]);
  expect(documented()).toEqual(offered);
});
