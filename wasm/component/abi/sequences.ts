import { decodeUtf8, encodeUtf8, isUtf8 } from '../../../sim/index.ts';
import type { Transfer } from './transfer.ts';
import type { Type } from './type.ts';

/** A type that is a pointer and a count in memory and in flat values. */
interface Sequence<T> {
  readonly text: string;
  readonly weight: number;
  readonly read: (transfer: Transfer, offset: number, count: number) => T;
  /** Allocates, writes, and gives the pointer and the count. */
  readonly write: (transfer: Transfer, value: T) => { offset: number; count: number };
}

function sequence<T>(options: Sequence<T>): Type<T> {
  const { text, weight, read, write } = options;
  return {
    text,
    size: 8,
    alignment: 4,
    flat: ['i32', 'i32'],
    weight,
    load: (transfer, offset) => {
      const view = transfer.view();
      return read(transfer, view.getUint32(offset, true), view.getUint32(offset + 4, true));
    },
    store: (transfer, at, value) => {
      const { offset, count } = write(transfer, value);
      const view = transfer.view();
      view.setUint32(at, offset, true);
      view.setUint32(at + 4, count, true);
    },
    lift: (transfer, flat) => {
      const offset = flat.i32() >>> 0;
      return read(transfer, offset, flat.i32() >>> 0);
    },
    lower: (transfer, flat, value) => {
      const { offset, count } = write(transfer, value);
      flat.push(offset | 0, count | 0);
    },
  };
}

/** `list<u8>`: a copy of the guest's bytes. */
export const BYTES: Type<Uint8Array> = sequence({
  text: 'list<u8>',
  weight: 2,
  read: (transfer, offset, count) => {
    transfer.claim(offset, count, 1);
    return transfer.bytes().slice(offset, offset + count);
  },
  write: writeBytes,
});

/** A list of anything but u8 (see `BYTES`). */
export function list<T>(element: Type<T>): Type<readonly T[]> {
  return sequence<readonly T[]>({
    text: `list<${element.text}>`,
    weight: element.weight + 1,
    read: (transfer, offset, count) => {
      transfer.claim(offset, count * element.size, element.alignment);
      const values: T[] = [];
      for (let index = 0; index < count; index++) {
        values.push(element.load(transfer, offset + index * element.size));
      }
      return values;
    },
    write: (transfer, values) => {
      const offset = transfer.allocate(values.length * element.size, element.alignment);
      let at = offset;
      for (const value of values) {
        element.store(transfer, at, value);
        at += element.size;
      }
      return { offset, count: values.length };
    },
  });
}

/** The bit of a length that says UTF-16, in the encoding `latin1+utf16`. */
const UTF16_TAG = 0x8000_0000;

/** A string in the encoding of the function's options. Text that is not valid traps. */
export const STRING: Type<string> = sequence({
  text: 'string',
  weight: 1,
  read: (transfer, offset, count) => {
    if (transfer.encoding === 'utf8') return readUtf8(transfer, offset, count);
    if (transfer.encoding === 'utf16') return readUtf16(transfer, offset, count);
    if (count >= UTF16_TAG) return readUtf16(transfer, offset, count - UTF16_TAG);
    return readLatin1(transfer, offset, count);
  },
  write: (transfer, text) => {
    if (transfer.encoding === 'utf8') return writeBytes(transfer, encodeUtf8(text));
    if (transfer.encoding === 'utf16') return writeUtf16(transfer, text);
    if (isLatin1(text)) return writeLatin1(transfer, text);
    const { offset, count } = writeUtf16(transfer, text);
    return { offset, count: count + UTF16_TAG };
  },
});

function writeBytes(transfer: Transfer, bytes: Uint8Array): { offset: number; count: number } {
  const offset = transfer.allocate(bytes.length, 1);
  transfer.bytes().set(bytes, offset);
  return { offset, count: bytes.length };
}

function readUtf8(transfer: Transfer, offset: number, count: number): string {
  transfer.claim(offset, count, 1);
  const bytes = transfer.bytes().subarray(offset, offset + count);
  if (!isUtf8(bytes)) return transfer.trap('a string is not valid UTF-8');
  return decodeUtf8(bytes);
}

function readUtf16(transfer: Transfer, offset: number, count: number): string {
  transfer.claim(offset, count * 2, 2);
  const view = transfer.view();
  const units: string[] = [];
  for (let index = 0; index < count; index++) {
    units.push(String.fromCharCode(view.getUint16(offset + index * 2, true)));
  }
  const text = units.join('');
  if (!isWellFormed(text)) return transfer.trap('a string is not valid UTF-16');
  return text;
}

function readLatin1(transfer: Transfer, offset: number, count: number): string {
  transfer.claim(offset, count, 2);
  const units = Array.from(transfer.bytes().subarray(offset, offset + count), (unit) =>
    String.fromCharCode(unit),
  );
  return units.join('');
}

function writeUtf16(transfer: Transfer, text: string): { offset: number; count: number } {
  const offset = transfer.allocate(text.length * 2, 2);
  const view = transfer.view();
  for (let index = 0; index < text.length; index++) {
    view.setUint16(offset + index * 2, text.charCodeAt(index), true);
  }
  return { offset, count: text.length };
}

function writeLatin1(transfer: Transfer, text: string): { offset: number; count: number } {
  const offset = transfer.allocate(text.length, 2);
  const bytes = transfer.bytes();
  for (let index = 0; index < text.length; index++) {
    bytes[offset + index] = text.charCodeAt(index);
  }
  return { offset, count: text.length };
}

function isLatin1(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) > 0xff) return false;
  }
  return true;
}

/** Whether each surrogate has its partner. */
function isWellFormed(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const point = text.codePointAt(index) as number;
    if (point > 0xffff) index++;
    else if (point >= 0xd800 && point <= 0xdfff) return false;
  }
  return true;
}
