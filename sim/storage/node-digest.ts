import { RollingDigest } from '../kernel/rolling-digest.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import type { FileTimes, Node } from './inode.ts';

const KIND_NUMBER = { file: 1, directory: 2, symlink: 3 } as const;

/** A digest over all of the node's state, kept until it changes. */
export function digestNode(node: Node): string {
  if (node.digest !== null) return node.digest;
  const digest = new RollingDigest();
  digest.updateInteger(node.inode);
  digest.updateInteger(KIND_NUMBER[node.kind]);
  digest.updateInteger(node.names);
  digest.updateInteger(node.retained);
  digestTimes(digest, node.times);
  switch (node.kind) {
    case 'file':
      digestHex(digest, node.content.version().digest());
      digestHex(digest, node.durable.content.digest());
      digestTimes(digest, node.durable.times);
      digest.updateInteger(node.dirty ? 1 : 0);
      break;
    case 'directory':
      digest.updateInteger(node.parent);
      digest.updateInteger(node.directory.lastCookie);
      for (const { name, inode, cookie } of node.directory.entries()) {
        digestText(digest, name);
        digest.updateInteger(inode);
        digest.updateInteger(cookie);
      }
      break;
    case 'symlink':
      digestText(digest, node.target);
      break;
  }
  node.digest = digest.hex();
  return node.digest;
}

function digestTimes(digest: RollingDigest, times: FileTimes): void {
  for (const ns of [times.accessedNs, times.modifiedNs, times.changedNs]) {
    digest.updateInteger(Number(BigInt.asUintN(32, ns)));
    digest.updateInteger(Number(BigInt.asIntN(48, ns >> 32n)));
  }
}

function digestText(digest: RollingDigest, text: string): void {
  const bytes = encodeUtf8(text);
  digest.updateInteger(bytes.length);
  digest.update(bytes);
}

/** Feeds 16 hexadecimal digits. */
function digestHex(digest: RollingDigest, hex: string): void {
  digest.updateInteger(Number.parseInt(hex.slice(0, 8), 16));
  digest.updateInteger(Number.parseInt(hex.slice(8), 16));
}
