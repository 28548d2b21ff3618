import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** All images together: 8 GiB on the disk. */
const IMAGES_BYTE_COUNT_MAX = 8 * 1024 * 1024 * 1024;
/** An image that was used within the last hour may be in use now. */
const KEPT_MS = 60 * 60 * 1000;
/** What `stat` counts blocks in. */
const BLOCK = 512;

/** Removes images that were not used for the longest time, until the others fit; never `kept`. */
export function trimImages(folder: string, kept: string): void {
  const images = readdirSync(folder)
    .map((name) => join(folder, name))
    .map((path) => ({ path, usedMs: usedMs(path), byteCount: byteCountOf(path) }))
    .sort((a, b) => a.usedMs - b.usedMs);
  let total = images.reduce((sum, image) => sum + image.byteCount, 0);
  for (const image of images) {
    if (total <= IMAGES_BYTE_COUNT_MAX) return;
    if (image.path === kept || image.usedMs > Date.now() - KEPT_MS) continue;
    rmSync(image.path, { recursive: true, force: true });
    total -= image.byteCount;
  }
}

/** A draft that its maker left behind counts from when it was made. */
function usedMs(path: string): number {
  const manifest = statSync(join(path, 'manifest.json'), { throwIfNoEntry: false });
  return (manifest ?? statSync(path, { throwIfNoEntry: false }))?.mtimeMs ?? 0;
}

function byteCountOf(path: string): number {
  const names = ['kernel', 'initrd', 'disk'];
  return names.reduce((sum, name) => {
    const status = statSync(join(path, name), { throwIfNoEntry: false });
    return sum + (status?.blocks ?? 0) * BLOCK;
  }, 0);
}
