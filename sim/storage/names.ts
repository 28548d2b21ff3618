import { ERRNO } from '../kernel/errno.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';

/** The longest name of a directory entry, in bytes of UTF-8 (Linux: NAME_MAX). */
export const NAME_BYTES_MAX = 255;
/** The longest path and the longest target of a symbolic link, in bytes (Linux: PATH_MAX). */
export const PATH_BYTES_MAX = 4096;

/** 0 if an entry may have this name, or a negative errno. */
export function checkName(name: string): number {
  if (name === '') return -ERRNO.NOENT;
  if (name === '.' || name === '..') return -ERRNO.INVAL;
  if (name.includes('/') || name.includes('\0')) return -ERRNO.INVAL;
  return isLongerThan(name, NAME_BYTES_MAX) ? -ERRNO.NAMETOOLONG : 0;
}

/** Whether the text has more than `bytesMax` bytes of UTF-8. */
export function isLongerThan(text: string, bytesMax: number): boolean {
  // A UTF-16 unit takes 1 to 3 bytes.
  if (text.length * 3 <= bytesMax) return false;
  return text.length > bytesMax || encodeUtf8(text).length > bytesMax;
}

/** How many bytes of UTF-8 the text has. */
export function utf8Length(text: string): number {
  return encodeUtf8(text).length;
}
