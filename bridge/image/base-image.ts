import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
} from 'node:fs';
import { assert, SimError } from '../../sim/index.ts';

const SECTOR_BYTES = 512;
/** A disk image of somebody's own: at most 64 GiB, a whole number of sectors. */
const BYTE_COUNT_MAX = 64 * 1024 ** 3;
const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * A disk image of somebody's own, to be laid under an overlay. It is only ever read (CR-118): there
 * is no way to write through this. Its identity is its content.
 */
export class BaseImage {
  readonly byteCount: number;
  /** SHA-256 of the content, in hexadecimal. */
  readonly sha256: string;
  private readonly descriptor: number;
  private readonly place: string;
  private readonly stamp: string;

  /**
   * Opens and digests the image at `path`. Throws `input/missing`, `input/image-size`, and
   * `input/image-in-use` when somebody else holds a lock on it or has it attached as a device: who
   * may write while we read would make each run another.
   */
  constructor(path: string) {
    this.place = path;
    try {
      this.descriptor = openSync(path, 'r');
    } catch (error) {
      throw new SimError({
        code: 'input/missing',
        message: 'the disk image cannot be opened',
        place: path,
        remedy: 'check the path and who may read it',
        cause: error,
      });
    }
    try {
      const status = fstatSync(this.descriptor);
      this.byteCount = status.size;
      const whole = status.isFile() && status.size > 0 && status.size % SECTOR_BYTES === 0;
      if (!whole || status.size > BYTE_COUNT_MAX) throw wrongSize(path, status.size);
      this.stamp = stampOf(this.descriptor);
      refuseShared(path, status.ino);
      this.sha256 = this.digest();
      this.checkUnchanged();
    } catch (error) {
      closeSync(this.descriptor);
      throw error;
    }
  }

  /** `sectorCount` sectors from `sector` on. */
  read(sector: number, sectorCount: number): Uint8Array {
    const at = sector * SECTOR_BYTES;
    const bytes = Buffer.alloc(sectorCount * SECTOR_BYTES);
    assert(at >= 0 && at + bytes.length <= this.byteCount, 'a read lies within the disk image');
    this.fill(bytes, at);
    return bytes;
  }

  /** Throws `input/image-changed` if somebody wrote to the file since it was opened. */
  checkUnchanged(): void {
    if (stampOf(this.descriptor) === this.stamp) return;
    throw new SimError({
      code: 'input/image-changed',
      message: 'the disk image changed while it was in use, so what was read of it is worthless',
      place: this.place,
      remedy: 'copy it to a place where nobody writes, and run again',
    });
  }

  close(): void {
    closeSync(this.descriptor);
  }

  private digest(): string {
    const hash = createHash('sha256');
    const piece = Buffer.alloc(PIECE_BYTES);
    for (let at = 0; at < this.byteCount; at += PIECE_BYTES) {
      const part = piece.subarray(0, Math.min(PIECE_BYTES, this.byteCount - at));
      this.fill(part, at);
      hash.update(part);
    }
    return hash.digest('hex');
  }

  private fill(bytes: Buffer, at: number): void {
    for (let done = 0; done < bytes.length;) {
      const count = readSync(this.descriptor, bytes, done, bytes.length - done, at + done);
      // Somebody made it shorter meanwhile.
      if (count === 0) return this.checkUnchanged();
      done += count;
    }
  }
}

function stampOf(descriptor: number): string {
  const { size, mtimeNs, ino, dev } = fstatSync(descriptor, { bigint: true });
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

/**
 * Whether others use the file: any lock on it (QEMU locks each image that it opens, as do many
 * tools), or a loop device over it.
 */
function refuseShared(path: string, inode: number): void {
  const real = realpathSync(path);
  const locked = readText('/proc/locks')
    .split('\n')
    .some((line) => line.split(/\s+/).some((word) => word.endsWith(`:${inode}`)));
  const attached = loopDevices().find((device) => {
    return readText(`/sys/block/${device}/loop/backing_file`).trim() === real;
  });
  if (!locked && attached === undefined) return;
  throw new SimError({
    code: 'input/image-in-use',
    message:
      attached === undefined
        ? 'the disk image is locked by another program, such as a virtual machine'
        : `the disk image is attached as ${attached}`,
    place: path,
    remedy: 'end what uses it, or copy it and use the copy',
  });
}

function loopDevices(): readonly string[] {
  try {
    return readdirSync('/sys/block').filter((name) => name.startsWith('loop'));
  } catch {
    // Not a Linux, or no /sys: then there are no loop devices either.
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Without it nothing is known to be in use.
    return '';
  }
}

function wrongSize(path: string, byteCount: number): SimError {
  return new SimError({
    code: 'input/image-size',
    message: `the disk image is no file of 1 to ${BYTE_COUNT_MAX / SECTOR_BYTES} whole sectors; it has ${byteCount} bytes`,
    place: path,
    remedy: 'give a raw image; `qemu-img convert -O raw` makes one of others',
  });
}
