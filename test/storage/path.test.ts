import { describe, expect, it } from 'vitest';
import { ERRNO, FileSystem, resolvePath, ROOT } from '../../sim/index.ts';
import { put } from './support.ts';

const files = new FileSystem();
const dir = files.makeDirectory(ROOT, 'dir', 1n);
const nested = files.makeDirectory(dir, 'nested', 1n);
const file = put(files, nested, 'file', 'text');
for (const [directory, name, target] of [
  [ROOT, 'to-dir', 'dir'],
  [ROOT, 'to-dir-slash', 'dir/'],
  [ROOT, 'to-file', 'dir/nested/file'],
  [ROOT, 'to-file-slash', 'dir/nested/file/'],
  [ROOT, 'dangling', 'dir/none'],
  [ROOT, 'absolute', '/dir'],
  [ROOT, 'loop', 'loop'],
  [ROOT, 'escape', '../dir'],
  [dir, 'up', '../dir/nested'],
  [dir, 'self', '.'],
] as const) {
  files.symlink(directory, name, target, 1n);
}
for (let index = 0; index < 41; index++) {
  files.symlink(ROOT, `chain${index}`, index === 0 ? 'dir' : `chain${index - 1}`, 1n);
}
const link = (name: string): number => files.lookup(ROOT, name);

interface Row {
  readonly path: string;
  readonly base?: number;
  /** Default false. */
  readonly follow?: boolean;
  readonly followSlash?: boolean;
  /** A negative errno, or directory, name, inode. */
  readonly leads: number | readonly [number, string, number];
}

const rows: readonly Row[] = [
  { path: 'dir', leads: [ROOT, 'dir', dir] },
  { path: 'dir/nested/file', leads: [nested, 'file', file] },
  { path: 'dir/.//nested/../../dir/nested/../nested///./file', leads: [nested, 'file', file] },
  { path: 'dir/nested/', leads: [dir, 'nested', nested] },
  { path: 'dir/nested///', leads: [dir, 'nested', nested] },
  { path: 'dir/nested/file/', leads: -ERRNO.NOTDIR },
  { path: 'dir/nested/file/x', leads: -ERRNO.NOTDIR },
  { path: 'dir/nested/file/..', leads: -ERRNO.NOTDIR },
  { path: 'none', leads: [ROOT, 'none', 0] },
  { path: 'none/', leads: [ROOT, 'none', 0] },
  { path: 'none/x', leads: -ERRNO.NOENT },
  { path: '', leads: -ERRNO.NOENT },
  { path: '.', leads: [ROOT, '.', ROOT] },
  { path: 'dir/.', leads: [dir, '.', dir] },
  { path: 'dir/nested/..', leads: [nested, '..', dir] },
  { path: 'dir/..', leads: [dir, '..', ROOT] },
  { path: '..', leads: -ERRNO.PERM },
  { path: 'dir/../..', leads: -ERRNO.PERM },
  { path: '..', base: dir, leads: -ERRNO.PERM },
  { path: 'nested/../..', base: dir, leads: -ERRNO.PERM },
  { path: '/', leads: -ERRNO.PERM },
  { path: '/dir', leads: -ERRNO.PERM },
  { path: 'a\0', leads: -ERRNO.INVAL },
  { path: 'a'.repeat(256), leads: -ERRNO.NAMETOOLONG },
  { path: 'ä'.repeat(128), leads: -ERRNO.NAMETOOLONG },
  { path: './'.repeat(2047) + 'ä', leads: [ROOT, 'ä', 0] },
  { path: './'.repeat(2047) + 'äx', leads: -ERRNO.NAMETOOLONG },
  { path: 'to-dir', leads: [ROOT, 'to-dir', link('to-dir')] },
  { path: 'to-dir', follow: true, leads: [ROOT, 'dir', dir] },
  { path: 'to-dir/', leads: [ROOT, 'dir', dir] },
  { path: 'to-dir/', followSlash: false, leads: -ERRNO.NOTDIR },
  { path: 'to-dir/nested', leads: [dir, 'nested', nested] },
  { path: 'to-file', follow: true, leads: [nested, 'file', file] },
  { path: 'to-file/', leads: -ERRNO.NOTDIR },
  { path: 'to-file-slash', follow: true, leads: -ERRNO.NOTDIR },
  { path: 'to-dir-slash', follow: true, leads: [ROOT, 'dir', dir] },
  { path: 'dangling', follow: true, leads: [dir, 'none', 0] },
  { path: 'dangling', leads: [ROOT, 'dangling', link('dangling')] },
  { path: 'absolute', follow: true, leads: -ERRNO.PERM },
  { path: 'absolute/nested', leads: -ERRNO.PERM },
  { path: 'absolute', leads: [ROOT, 'absolute', link('absolute')] },
  { path: 'escape', follow: true, leads: -ERRNO.PERM },
  { path: 'loop', leads: [ROOT, 'loop', link('loop')] },
  { path: 'loop', follow: true, leads: -ERRNO.LOOP },
  { path: 'loop/x', leads: -ERRNO.LOOP },
  { path: 'chain39', follow: true, leads: [ROOT, 'dir', dir] },
  { path: 'chain40', follow: true, leads: -ERRNO.LOOP },
  { path: 'dir/up/file', leads: [nested, 'file', file] },
  { path: 'up/file', base: dir, leads: -ERRNO.PERM },
  { path: 'self/self/self/nested', base: dir, leads: [dir, 'nested', nested] },
  { path: 'self', base: dir, follow: true, leads: [dir, '.', dir] },
  { path: 'x', base: file, leads: -ERRNO.NOTDIR },
];

describe('resolvePath', () => {
  for (const { path, base = ROOT, follow = false, followSlash = true, leads } of rows) {
    const shown = path.length > 60 ? `${path.slice(0, 20)}… (${path.length})` : path;
    const where = base === ROOT ? '' : ` from inode ${base}`;
    it(`${JSON.stringify(shown)}${where}${follow ? ', followed' : ''}`, () => {
      const found = resolvePath(files, base, path, { followFinal: follow, followSlash });
      const slash = path.endsWith('/');
      if (typeof leads === 'number') expect(found).toBe(leads);
      else expect(found).toMatchObject({ directory: leads[0], name: leads[1], inode: leads[2] });
      if (typeof found !== 'number' && !follow) expect(found.slash).toBe(slash);
    });
  }
});
