import { decodeUtf8, encodeUtf8 } from '../kernel/utf8.ts';
import { ROOT } from '../storage/node-table.ts';
import type { GuestPort } from '../world/port.ts';

/** The files of a model: those of its node's root folder, by name, as text. They survive a kill. */

/** A file's text, or null if there is none. */
export function readText({ files }: GuestPort, name: string): string | null {
  const inode = files.lookup(ROOT, plainName(name));
  if (inode <= 0) return null;
  const bytes = new Uint8Array(files.stat(inode).size);
  const count = files.read(inode, 0, bytes);
  return count < 0 ? null : decodeUtf8(bytes.subarray(0, count));
}

/** Writes a whole file and makes it durable; false where that fails. */
export function writeText(port: GuestPort, name: string, text: string): boolean {
  const inode = openFile(port, name);
  if (inode <= 0) return false;
  port.files.truncate(inode, 0, port.realtimeNs());
  return put(port, inode, 0, text);
}

/** Adds to the end of a file and makes it durable. */
export function appendText(port: GuestPort, name: string, text: string): boolean {
  const inode = openFile(port, name);
  return inode > 0 && put(port, inode, port.files.stat(inode).size, text);
}

function put(port: GuestPort, inode: number, offset: number, text: string): boolean {
  const bytes = encodeUtf8(text);
  const { files } = port;
  const written = files.write(inode, offset, bytes, port.realtimeNs());
  const isDurable = files.synchronise(inode, false) >= 0 && files.synchronise(ROOT, false) >= 0;
  port.nowNs += files.takeDelayNs();
  return written === bytes.length && isDurable;
}

function openFile(port: GuestPort, name: string): number {
  const { files } = port;
  const known = files.lookup(ROOT, plainName(name));
  return known > 0 ? known : files.createFile(ROOT, plainName(name), port.realtimeNs());
}

function plainName(name: string): string {
  return name.replace(/^\/+/, '');
}
