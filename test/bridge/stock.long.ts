import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PACKAGED_QEMU, proveStock } from '../../bridge/index.ts';
import { SimFolder } from '../cli/sim.ts';

const folder = mkdtempSync(join(tmpdir(), 'athanor-stock-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A QEMU that never counts instructions, whatever it is told. */
function hasty(): string {
  const path = join(folder, 'qemu');
  const script = [
    '#!/bin/bash',
    'arguments=()',
    'while [ $# -gt 0 ]; do',
    '  if [ "$1" = -icount ]; then shift 2; else arguments+=("$1"); shift; fi',
    'done',
    `exec ${PACKAGED_QEMU} "\${arguments[@]}"`,
  ];
  writeFileSync(path, `${script.join('\n')}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe('the stock backend', () => {
  it('FB-69: says what is measured of it, and refuses the rest by name', async () => {
    const place = new SimFolder();
    const env = { ATHANOR_CACHE: folder };
    const { exitCode, records } = await place.sim(['vm', 'setup', '--backend', 'stock'], { env });
    expect(exitCode).toBe(0);
    const [record] = records();
    expect(record).toMatchObject({ backend: 'stock', level: 'L3' });
    const refuses = Object.keys(record?.['refuses'] as object);
    expect(refuses).toContain('worlds');
    expect(refuses).toContain('save, resume, fork');
  });

  it('is not believed where the clock of the host shows (CR-115)', async () => {
    const proof = proveStock({ cacheFolder: folder, qemu: hasty(), say: () => undefined });
    await expect(proof).rejects.toMatchObject({
      code: 'backend/self-test',
      message: 'a machine on the stock QEMU does not repeat: its runs differ',
      exitCode: 4,
    });
  });
});
