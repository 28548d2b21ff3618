import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HOST_INTERFACES } from '../../wasm/component/registry.ts';
import { ALL_FUNCTIONS } from '../../wasm/preview1/functions.ts';

const CLASSES = ['eliminated', 'normalised', 'ordered', 'recorded'];

/** Names of the table of host values, each with its class. */
function classified(): Map<string, string> {
  const names = new Map<string, string>();
  for (const line of readFileSync('docs/determinism.md', 'utf8').split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim());
    const [, , listed, className] = cells;
    if (cells.length !== 6 || listed === undefined || !listed.startsWith('`')) continue;
    for (const name of listed.matchAll(/`([^`]+)`/g)) {
      expect(names.has(name[1] as string), `${name[1]} stands once`).toBe(false);
      names.set(name[1] as string, className ?? '');
    }
  }
  return names;
}

/** Everything that a guest can import. */
function offered(): string[] {
  const preview1 = ALL_FUNCTIONS.map(({ name }) => name.replace(/_v2$/, ''));
  const components = HOST_INTERFACES.map(({ name }) => name);
  return [...new Set([...preview1, 'marker', ...components])];
}

describe('docs/determinism.md', () => {
  it('CR-119: classifies each function and interface that a guest can import, and no other', () => {
    const names = classified();
    const compare = (a: string, b: string): number => (a < b ? -1 : 1);
    expect([...names.keys()].sort(compare)).toEqual(offered().sort(compare));
    for (const className of names.values()) expect(CLASSES).toContain(className);
  });
});
