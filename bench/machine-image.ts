import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync } from 'node:fs';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S_IFDIR, S_IFREG, writeCpio } from '../bridge/image/cpio.ts';

/** Modules of Debian's cloud kernel that the machines of tests use, in the order of loading. */
const MODULES = [
  'drivers/virtio/virtio_ring',
  'drivers/virtio/virtio',
  'drivers/virtio/virtio_mmio',
  'drivers/virtio/virtio_pci_legacy_dev',
  'drivers/virtio/virtio_pci_modern_dev',
  'drivers/virtio/virtio_pci',
  'drivers/block/virtio_blk',
  'net/core/failover',
  'drivers/net/net_failover',
  'drivers/net/virtio_net',
];

/** Debian's cloud kernel, unpacked; downloaded once. */
function kernelFolder(cacheFolder: string): string {
  const folder = join(cacheFolder, 'test-kernel');
  if (existsSync(folder)) return folder;
  mkdirSync(cacheFolder, { recursive: true });
  const draft = mkdtempSync(join(cacheFolder, 'kernel-'));
  const options = { cwd: draft, encoding: 'utf8' } as const;
  const depends = execFileSync('apt-cache', ['depends', 'linux-image-cloud-amd64'], options);
  const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1] ?? '';
  execFileSync('apt-get', ['-o', 'APT::Sandbox::User=', 'download', name], options);
  const file = readdirSync(draft).find((each) => each.endsWith('.deb')) ?? '';
  execFileSync('dpkg-deb', ['-x', file, '.'], options);
  rmSync(join(draft, file));
  renameSync(draft, folder);
  return folder;
}

/**
 * Debian's cloud kernel, and an initial file system with the C program `source` as all that runs:
 * paths of both, which are kept in `cacheFolder`.
 */
export function smallImage(
  cacheFolder: string,
  source: string,
): { readonly kernel: string; readonly initrd: string } {
  const folder = kernelFolder(cacheFolder);
  const key = createHash('sha256').update(readFileSync(source)).update(MODULES.join());
  const initrd = join(cacheFolder, `test-initrd-${key.digest('hex').slice(0, 16)}.cpio`);
  const boot = join(folder, 'boot');
  const name = readdirSync(boot).find((each) => each.startsWith('vmlinuz-')) ?? '';
  const kernel = join(boot, name);
  if (!existsSync(initrd)) makeInitrd(source, folder, name.slice('vmlinuz-'.length), initrd);
  return { kernel, initrd };
}

function makeInitrd(source: string, folder: string, release: string, path: string): void {
  const draft = mkdtempSync(join(tmpdir(), 'athanor-initrd-'));
  try {
    const init = join(draft, 'init');
    execFileSync('gcc', ['-O2', '-static', '-o', init, source]);
    const owned = { uid: 0, gid: 0 };
    const folders = ['.', 'dev', 'modules', 'proc'].map((name) => {
      return { path: name, mode: S_IFDIR | 0o755, bytes: new Uint8Array(0), ...owned };
    });
    const modules = MODULES.map((module, index) => {
      const from = join(folder, 'lib/modules', release, 'kernel', `${module}.ko`);
      const name = `modules/${String(index).padStart(2, '0')}.ko`;
      return { path: name, mode: S_IFREG | 0o644, bytes: readFileSync(from), ...owned };
    });
    const program = { path: 'init', mode: S_IFREG | 0o755, bytes: readFileSync(init), ...owned };
    writeFileSync(path, Buffer.concat([...writeCpio([...folders, ...modules, program])]));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
