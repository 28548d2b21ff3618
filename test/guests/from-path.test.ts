import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildGuestFromPath } from '../../guests/index.ts';

function folder(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'athanor-path-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

const code = (expected: string): unknown => expect.objectContaining({ code: expected });

describe('a guest from a path', () => {
  it('that is not there, is refused', async () => {
    await expect(buildGuestFromPath('no/such/file.c')).rejects.toThrow(
      code('input/source-missing'),
    );
  });

  it('of an unknown kind, is refused with the kinds there are', async () => {
    const directory = folder({ 'main.zig': '', 'data.txt': '' });
    await expect(buildGuestFromPath(join(directory, 'main.zig'))).rejects.toThrow(
      expect.objectContaining({
        code: 'input/source-kind',
        remedy: expect.stringContaining('.c .cc') as string,
      }),
    );
    await expect(buildGuestFromPath(directory)).rejects.toThrow(code('input/source-kind'));
  });

  it('of a Cargo package, is sent to cargo', async () => {
    const directory = folder({ 'Cargo.toml': '[package]' });
    await expect(buildGuestFromPath(directory)).rejects.toThrow(
      expect.objectContaining({ remedy: expect.stringContaining('cargo build') as string }),
    );
  });

  it('in JavaScript without a world, is told where the world belongs', async () => {
    const directory = folder({ 'app.js': '' });
    await expect(buildGuestFromPath(join(directory, 'app.js'))).rejects.toThrow(
      expect.objectContaining({ remedy: expect.stringContaining('app.wit') as string }),
    );
  });

  it('does not follow hidden folders or the packages of npm', async () => {
    const directory = folder({});
    for (const name of ['.git', 'node_modules']) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'main.c'), 'int main(void) { return 0; }');
    }
    await expect(buildGuestFromPath(directory)).rejects.toThrow(code('input/source-kind'));
  });
});
