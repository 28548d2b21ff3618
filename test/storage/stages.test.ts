import { describe, expect, it } from 'vitest';
import { ERRNO, ROOT, type DiskRuleDef, type FileSystem, type Inode } from '../../sim/index.ts';
import { ALWAYS, SickDisk } from './disk-support.ts';
import { bytesOf } from './support.ts';

interface Prepared {
  readonly sick: SickDisk;
  readonly files: FileSystem;
  readonly file: Inode;
}

/** A disk on which `old` is durable in a file; from then on its rule holds. */
function prepared(rule: Partial<DiskRuleDef>): Prepared {
  const sick = new SickDisk({ rules: { fault: rule } });
  const { files } = sick;
  const file = files.createFile(ROOT, 'f', 1n);
  files.write(file, 0, bytesOf('old'), 1n);
  files.synchronise(file, false);
  files.synchronise(ROOT, false);
  sick.disk.rules.start('fault');
  return { sick, files, file };
}

function text({ sick, file }: Prepared): string {
  return Buffer.from(sick.content(file)).toString();
}

/** What a loss of power leaves; each thing that could be kept is kept (1) or lost (0). */
function afterLoss(disk: Prepared, keep: 0 | 1): string {
  disk.sick.crash(() => keep);
  return text(disk);
}

describe('the stages of a write', () => {
  it('CR-90: what is not admitted reaches no later stage', () => {
    for (const keep of [0, 1] as const) {
      const disk = prepared({ writeError: ALWAYS });
      expect(disk.files.write(disk.file, 0, bytesOf('new'), 2n)).toBe(-ERRNO.IO);
      expect([text(disk), afterLoss(disk, keep)]).toEqual(['old', 'old']);
    }
  });

  it('CR-90: what is admitted is visible before it persists, and a loss chooses', () => {
    for (const keep of [0, 1] as const) {
      const disk = prepared({});
      expect(disk.files.write(disk.file, 0, bytesOf('new'), 2n)).toBe(3);
      expect([text(disk), afterLoss(disk, keep)]).toEqual(['new', keep === 1 ? 'new' : 'old']);
    }
  });

  it('CR-90: what has persisted stays, whatever a loss chooses', () => {
    for (const keep of [0, 1] as const) {
      const disk = prepared({});
      disk.files.write(disk.file, 0, bytesOf('new'), 2n);
      expect(disk.files.synchronise(disk.file, false)).toBe(0);
      expect(afterLoss(disk, keep)).toBe('new');
    }
  });

  it('CR-90: an error at a later stage undoes no durable bytes', () => {
    for (const keep of [0, 1] as const) {
      const disk = prepared({ syncError: ALWAYS });
      disk.files.write(disk.file, 0, bytesOf('n'), 2n);
      expect(disk.files.synchronise(disk.file, false)).toBe(-ERRNO.IO);
      expect([text(disk), afterLoss(disk, keep)]).toEqual(['nld', keep === 1 ? 'nld' : 'old']);
    }
  });

  it('CR-90: a flush that lies completes, and moves nothing that a loss may take', () => {
    for (const keep of [0, 1] as const) {
      const disk = prepared({ lyingFlush: ALWAYS });
      disk.files.write(disk.file, 0, bytesOf('new'), 2n);
      expect(disk.files.synchronise(disk.file, false)).toBe(0);
      expect([text(disk), afterLoss(disk, keep)]).toEqual(['new', keep === 1 ? 'new' : 'old']);
    }
  });

  it('CR-90: service takes its time, and what is in service has not persisted', () => {
    for (const [atNs, left] of [
      [0, 'old'],
      [4_000_000, 'old'],
      [6_000_000, 'new'],
    ] as const) {
      const disk = prepared({ syncLatencyNs: 5_000_000 });
      disk.files.write(disk.file, 0, bytesOf('new'), 2n);
      expect(disk.files.synchronise(disk.file, false)).toBe(0);
      expect(disk.files.takeDelayNs()).toBe(5_000_000);
      disk.sick.nowNs = atNs;
      expect([atNs, afterLoss(disk, 0)]).toEqual([atNs, left]);
    }
  });
});
