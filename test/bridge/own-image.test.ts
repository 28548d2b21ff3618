import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { BaseImage } from '../../bridge/image/base-image.ts';
import { ownInitrd, ownKernel } from '../../bridge/image/own-image.ts';

const folder = mkdtempSync(join(tmpdir(), 'athanor-own-'));
const path = join(folder, 'disk');
const content = Buffer.alloc(8 * 512, 'sector');

beforeEach(() => {
  writeFileSync(path, content);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('a disk image of one’s own', () => {
  it('CR-118: is read, named by its content, and never written', () => {
    const image = new BaseImage(path);
    expect(image.sha256).toBe(createHash('sha256').update(content).digest('hex'));
    expect(Buffer.from(image.read(3, 2)).equals(content.subarray(1536, 2560))).toBe(true);
    image.checkUnchanged();
    image.close();
    expect(readFileSync(path).equals(content)).toBe(true);
  });

  it('is refused while another program holds a lock on it', async () => {
    const holder = spawn('flock', [path, 'sh', '-c', 'echo held; read line'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => holder.on('close', resolve));
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    expect(() => new BaseImage(path)).toThrow(/locked by another program/);
    holder.stdin.end();
    await ended;
    new BaseImage(path).close();
  });

  it('says that it changed while it was in use', () => {
    const image = new BaseImage(path);
    truncateSync(path, 512);
    expect(() => image.checkUnchanged()).toThrow(/changed while it was in use/);
    expect(() => image.read(4, 1)).toThrow(/changed while it was in use/);
    image.close();
  });

  it('is a file of whole sectors', () => {
    writeFileSync(path, 'short');
    expect(() => new BaseImage(path)).toThrow(/has 5 bytes/);
    expect(() => new BaseImage(folder)).toThrow(/no file of/);
    expect(() => new BaseImage(join(folder, 'none'))).toThrow(/cannot be opened/);
  });
});

describe('a kernel and an initial file system of one’s own', () => {
  it('are known by their first bytes, and named by their content', () => {
    const kernel = Buffer.alloc(1024);
    kernel.write('HdrS', 0x202);
    writeFileSync(path, kernel);
    expect(ownKernel(path)).toEqual({
      path,
      byteCount: 1024,
      sha256: createHash('sha256').update(kernel).digest('hex'),
    });
    expect(() => ownInitrd(path)).toThrow(/no cpio archive/);
    writeFileSync(path, '070701');
    expect(ownInitrd(path).byteCount).toBe(6);
    expect(() => ownKernel(path)).toThrow(/no bzImage/);
    expect(() => ownKernel(folder)).toThrow(/no file of/);
    expect(() => ownInitrd(join(folder, 'none'))).toThrow(/no such file/);
  });
});
