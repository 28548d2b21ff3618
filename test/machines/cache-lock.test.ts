import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LOCK_MS_MAX, withLock } from '../../cli/machines/cache-lock.ts';
import { hasEnded, nameOfProcess, placeOfNumbers } from '../../cli/machines/process-name.ts';

describe('a lock of the cache', () => {
  let folder = '';
  let path = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'athanor-lock-'));
    path = join(folder, 'entry.lock');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const neverWait = (): void => {
    throw new Error('nobody has it');
  };
  const takeOver = (owner: string): void => {
    writeFileSync(path, owner);
    expect(withLock(path, () => readFileSync(path, 'latin1'), neverWait)).not.toBe(owner);
    expect(readdirSync(folder)).toEqual([]);
  };

  it('is held while the work is done, and goes with it, also when it fails', () => {
    const held = withLock(path, () => existsSync(path), neverWait);
    expect([held, readdirSync(folder)]).toEqual([true, []]);
    const fail = (): void => {
      throw new Error('no');
    };
    expect(() => withLock(path, fail, neverWait)).toThrow('no');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('waits for a process that lives, says which, and takes over when it has ended', () => {
    const owner = spawn('sleep', ['60'], { stdio: 'ignore' });
    const { pid = 0 } = owner;
    try {
      writeFileSync(path, `${nameOfProcess(pid)} 0`);
      const told: unknown[] = [];
      withLock(
        path,
        () => told.push('work'),
        (number) => {
          told.push(number);
          if (told.length === 3) owner.kill('SIGKILL');
        },
      );
      expect(told.slice(0, 3)).toEqual([pid, pid, pid]);
      expect(told.at(-1)).toBe('work');
    } finally {
      owner.kill('SIGKILL');
    }
  });

  it('is taken over from one who has gone, though another process has its number', () => {
    takeOver(`${placeOfNumbers()} ${spawnSync('true').pid} 1 0`);
    takeOver(`${placeOfNumbers()} ${process.pid} 1 0`);
    expect(hasEnded(nameOfProcess())).toBe(false);
  });

  it('is not believed for ever where nobody can see whether its owner lives', () => {
    writeFileSync(path, `${'0'.repeat(16)} 1 1 0`);
    let waits = 0;
    withLock(
      path,
      () => undefined,
      (number) => {
        expect(number).toBe(1);
        const long = (Date.now() - LOCK_MS_MAX) / 1000 - 1;
        if (++waits === 2) utimesSync(path, long, long);
      },
    );
    expect(waits).toBe(2);
  });

  it('stays with who has taken it over meanwhile', () => {
    withLock(path, () => writeFileSync(path, 'another'), neverWait);
    expect(readFileSync(path, 'latin1')).toBe('another');
  });
});
