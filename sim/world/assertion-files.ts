import type { VirtualNs } from '../kernel/units.ts';
import type { NodeDef } from '../plan/scenario.ts';
import type { Assertions } from '../property/assertions.ts';
import type { FileSystem } from '../storage/file-system.ts';
import { ROOT } from '../storage/node-table.ts';

/** So much of a node's file of assertions is read; what is beyond counts for nothing. */
export const ASSERTION_FILE_BYTES_MAX = 64 * 1024 * 1024;

/** The files that the public Antithesis SDKs write, as their environment variables name them. */
export function assertionFilePath(env: NodeDef['env']): string | null {
  const find = (name: string): string | undefined => env.find(([each]) => each === name)?.[1];
  const file = find('ANTITHESIS_SDK_LOCAL_OUTPUT');
  if (file !== undefined && file !== '') return file;
  const folder = find('ANTITHESIS_OUTPUT_DIR');
  return folder === undefined || folder === '' ? null : `${folder}/sdk.jsonl`;
}

/**
 * Reads what a node has written to its file of assertions since the last time. It is read when
 * the node's guest ends, before a crash takes what is not durable, and at the end of the run.
 */
export function readAssertionFile(
  files: FileSystem,
  path: string,
  to: { readonly assertions: Assertions; readonly node: number; readonly atNs: VirtualNs },
): void {
  const { assertions, node, atNs } = to;
  let inode = ROOT;
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    inode = files.lookup(inode, part);
    if (inode < 0) return;
  }
  const stat = files.stat(inode);
  const offset = assertions.fileOffset(node);
  const size = Math.min(stat.size, ASSERTION_FILE_BYTES_MAX);
  if (stat.kind !== 'file' || size <= offset) return;
  const bytes = new Uint8Array(size - offset);
  const count = files.read(inode, offset, bytes);
  if (count > 0) assertions.file(node, bytes.subarray(0, count), atNs);
}
