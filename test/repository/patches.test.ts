import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(path, 'utf8');

/** The cells of each line of the table in docs/patches.md, without the marks of code. */
function rows(): readonly (readonly string[])[] {
  const lines = read('docs/patches.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  return lines.map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
}

it('CR-117: each patch has its line, its order, and two tests that are there', () => {
  const patches = readdirSync('bridge/qemu/patches').sort();
  expect(rows().map(([, patch]) => patch)).toEqual(patches);
  patches.forEach((patch, place) => {
    expect(patch.slice(0, 5)).toBe(`${String(place + 1).padStart(4, '0')}-`);
  });
  const tests = read('test/bridge/patches.long.ts') + read('test/bridge/sources.long.ts');
  for (const [, patch = '', , , effect = '', inert = ''] of rows()) {
    expect(effect, patch).not.toBe('');
    expect(effect, patch).not.toBe(inert);
    expect(tests).toContain(`it('${effect}'`);
    expect(tests).toContain(`it('${inert}'`);
  }
});
