import { closeSync, ftruncateSync, openSync } from 'node:fs';
import { SimError } from '../../sim/index.ts';
import { runCommand } from './command.ts';

const REMEDY = 'apt-get install e2fsprogs';
/** The same on every computer and for every disk: a disk's bytes depend on its size alone. */
const IDENTITY = '61746861-6e6f-7240-8000-000000000001';
/** Spelled out, so that no configuration of this computer changes them. */
const FEATURES =
  'none,has_journal,ext_attr,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,' +
  'huge_file,dir_nlink,extra_isize,metadata_csum';

/** What makes file systems here: a part of what an image with a disk is made of. */
export async function diskMaker(): Promise<string> {
  const result = await runCommand('mke2fs', ['-V'], { remedy: REMEDY, environment: SEARCH });
  return result.errors.split('\n')[0] ?? '';
}

/** mke2fs stands in /sbin, which is not on everybody's path. */
const SEARCH = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };

/** Writes an empty ext4 file system of `byteCount` bytes to a new file; holes stay holes. */
export async function makeDisk(path: string, byteCount: number): Promise<void> {
  const descriptor = openSync(path, 'wx', 0o644);
  ftruncateSync(descriptor, byteCount);
  closeSync(descriptor);
  const extended = `hash_seed=${IDENTITY},root_owner=0:0,lazy_itable_init=0,lazy_journal_init=0,nodiscard`;
  const args = ['-q', '-F', '-t', 'ext4', '-b', '4096', '-I', '256', '-i', '32768', '-m', '0'];
  const result = await runCommand(
    'mke2fs',
    [...args, '-U', IDENTITY, '-O', FEATURES, '-E', extended, path],
    {
      remedy: REMEDY,
      environment: { ...SEARCH, E2FSPROGS_FAKE_TIME: '1', MKE2FS_CONFIG: '/dev/null' },
    },
  );
  if (result.status === 0) return;
  throw new SimError({
    code: 'backend/disk-failed',
    message: `mke2fs cannot make a disk of ${byteCount} bytes: ${result.errors.trim().slice(0, 500)}`,
    place: 'disk',
    remedy: 'see whether there is room for it',
  });
}
