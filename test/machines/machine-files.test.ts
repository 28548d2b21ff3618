import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { makeMachineFolder } from '../../cli/machines/machine-files.ts';

const parent = mkdtempSync(join(tmpdir(), 'athanor-files-'));

afterEach(() => {
  rmSync(parent, { recursive: true, force: true });
});

describe('files of machines', () => {
  it('go, when their process has gone without clearing up, with the next machine', () => {
    mkdirSync(parent, { recursive: true });
    const mine = makeMachineFolder(parent);
    const gone = spawnSync('true').pid;
    const left = mine.replace(`-${process.pid}-`, `-${gone}-`);
    const elsewhere = join(
      parent,
      basename(left).replace(/machines-\w+/, 'machines-0123456789abcdef'),
    );
    const strange = mine.replace(`-${process.pid}-`, '-x-');
    for (const path of [left, elsewhere, strange]) mkdirSync(path);
    const next = makeMachineFolder(parent);
    expect([mine, next, elsewhere, strange, left].map((path) => existsSync(path))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });
});
