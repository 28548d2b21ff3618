import { SimError } from '../../sim/index.ts';

/** A member of an archive. `path` has neither a leading `./` nor a trailing `/`; the root is ''. */
export interface TarMember {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'symlink' | 'hardlink' | 'character' | 'block' | 'fifo';
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** A view of the archive; empty unless it is a file. */
  readonly bytes: Uint8Array;
  /** Of links: where they point. */
  readonly target: string;
  readonly major: number;
  readonly minor: number;
}

const BLOCK = 512;
const KINDS: ReadonlyMap<string, TarMember['kind']> = new Map([
  ['0', 'file'],
  ['\0', 'file'],
  ['1', 'hardlink'],
  ['2', 'symlink'],
  ['3', 'character'],
  ['4', 'block'],
  ['5', 'folder'],
  ['6', 'fifo'],
]);

/**
 * Reads an archive as `dpkg-deb --fsys-tarfile` writes it: ustar with GNU's long names (deb(5)
 * allows no others). Throws `input/package-damaged`.
 */
export function* readTar(archive: Uint8Array, place: string): Generator<TarMember> {
  let longName: string | null = null;
  let longTarget: string | null = null;
  for (let at = 0; at + BLOCK <= archive.length;) {
    const header = archive.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) return;
    checkSum(header, place);
    const size = octal(header, 124, 12, place);
    const start = at + BLOCK;
    if (start + size > archive.length) throw damaged('a member is cut short', place);
    const body = archive.subarray(start, start + size);
    at = start + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === 'L') longName = textOf(body);
    else if (type === 'K') longTarget = textOf(body);
    else {
      const names = {
        name: longName ?? nameOf(header),
        target: longTarget ?? text(header, 157, 100),
      };
      longName = longTarget = null;
      yield member(header, type, body, names, place);
    }
  }
}

function member(
  header: Uint8Array,
  type: string,
  bytes: Uint8Array,
  names: { readonly name: string; readonly target: string },
  place: string,
): TarMember {
  const kind = KINDS.get(type);
  if (kind === undefined) throw damaged(`a member is of the unknown type "${type}"`, place);
  const path = names.name.replace(/^(\.?\/)+/, '').replace(/\/+$/, '');
  const parts = path.split('/');
  if (parts.includes('..') || path.includes('\0')) {
    throw damaged(`a member has the path "${names.name}"`, place);
  }
  const device = kind === 'character' || kind === 'block';
  return {
    path: path === '.' ? '' : path,
    kind,
    mode: octal(header, 100, 8, place) & 0o7777,
    uid: octal(header, 108, 8, place),
    gid: octal(header, 116, 8, place),
    bytes: kind === 'file' ? bytes : new Uint8Array(0),
    target: names.target,
    major: device ? octal(header, 329, 8, place) : 0,
    minor: device ? octal(header, 337, 8, place) : 0,
  };
}

function nameOf(header: Uint8Array): string {
  const name = text(header, 0, 100);
  // GNU archives use the field of the prefix for other things.
  const isUstar = text(header, 257, 8) === 'ustar' && header[263] === 0x30;
  const prefix = isUstar ? text(header, 345, 155) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString('utf8');
}

function text(header: Uint8Array, at: number, size: number): string {
  return textOf(header.subarray(at, at + size));
}

function octal(header: Uint8Array, at: number, size: number, place: string): number {
  const digits = text(header, at, size).trim();
  if (!/^[0-7]*$/.test(digits)) throw damaged('a header holds no octal number', place);
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

function checkSum(header: Uint8Array, place: string): void {
  let sum = 8 * 0x20;
  header.forEach((byte, index) => {
    if (index < 148 || index >= 156) sum += byte;
  });
  if (sum !== octal(header, 148, 8, place)) throw damaged('a header has a wrong sum', place);
}

function damaged(why: string, place: string): SimError {
  return new SimError({
    code: 'input/package-damaged',
    message: `the package is damaged: ${why}`,
    place,
    remedy: 'remove it from the cache of packages; it will be downloaded again',
  });
}
