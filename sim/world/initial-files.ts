import { assert } from '../kernel/assert.ts';
import type { FileDef } from '../plan/scenario.ts';
import { FileSystem } from '../storage/file-system.ts';
import { EPOCH_NS } from './node-port.ts';

/** The root directory's inode. */
const ROOT = 1;

/** A disk that holds these files, durably, as the node finds it at its first start. */
export function loadFiles(files: readonly FileDef[]): FileSystem {
  const system = new FileSystem({ createdNs: EPOCH_NS });
  for (const { path, bytes } of files) {
    const names = path.split('/').filter((name) => name !== '');
    const name = names.pop();
    assert(name !== undefined, "a file's path names a file");
    let directory = ROOT;
    for (const part of names) {
      const known = system.lookup(directory, part);
      directory = known > 0 ? known : system.makeDirectory(directory, part, EPOCH_NS);
      assert(directory > 0, "a file's folder can be made");
    }
    const inode = system.createFile(directory, name, EPOCH_NS);
    assert(inode > 0, "a scenario's file can be made");
    const written = system.write(inode, 0, bytes, EPOCH_NS);
    assert(written === bytes.length, "a scenario's file fits");
  }
  system.synchroniseAll();
  return system;
}
