import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { LocalFiles } from '../../scenarios/index.ts';
import { failure } from '../support/failure.ts';

const folder = mkdtempSync(join(tmpdir(), 'disk-lock-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('CR-118: a disk image is read whole', () => {
  it('is refused while another process has it locked for writing, and taken before and after', async () => {
    const files = new LocalFiles(folder);
    const path = join(folder, 'data.img');
    writeFileSync(path, 'bytes');
    expect(Buffer.from(files.readDisk('data.img')).toString()).toBe('bytes');
    // It holds an exclusive lock until its input ends.
    const holder = spawn('flock', ['-x', path, '-c', 'echo held; read line'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(holder, 'exit');
    try {
      await once(holder.stdout, 'data');
      expect(failure(() => files.readDisk('data.img'))).toMatchObject({
        code: 'input/busy',
        message: 'the disk image "data.img" is open elsewhere for writing',
        exitCode: 5,
      });
    } finally {
      holder.stdin.end();
      await ended;
    }
    expect(Buffer.from(files.readDisk('data.img')).toString()).toBe('bytes');
  });

  it('says of an image that is not there that it is missing', () => {
    const files = new LocalFiles(folder);
    expect(failure(() => files.readDisk('none.img')).code).toBe('input/missing');
  });
});
