import { assert } from '../kernel/assert.ts';
import { machineDiskPath } from '../plan/machine.ts';
import type { NodeDef } from '../plan/scenario.ts';
import { FileSystem } from '../storage/file-system.ts';
import { EPOCH_NS } from './node-port.ts';

/** The root directory's inode. */
const ROOT = 1;

/** The node's files, and a machine's disks, durably, as it finds them at its first start. */
export function loadFiles({ files, guest }: Pick<NodeDef, 'files' | 'guest'>): FileSystem {
  const disks = guest.kind === 'vm' ? guest.machine.disks : [];
  const bytesMax = disks.reduce((sum, { bytes }) => sum + bytes, 0);
  const system = new FileSystem({ createdNs: EPOCH_NS, ...(bytesMax > 0 ? { bytesMax } : {}) });
  disks.forEach(({ bytes, extents }, place) => {
    const inode = system.createFile(ROOT, machineDiskPath(place).slice(1), EPOCH_NS);
    assert(system.truncate(inode, bytes, EPOCH_NS) === 0, "a machine's disk fits");
    for (const { offset, bytes: held } of extents) {
      const written = system.write(inode, offset, held, EPOCH_NS);
      assert(written === held.length, 'what stands on a disk fits');
    }
  });
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
