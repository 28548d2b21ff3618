import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The path of Debian's kernel for any computer, which handles machine checks; the one for clouds does not.
 * Downloaded once, and kept in `cacheFolder`; only the kernel itself is unpacked.
 */
export function genericKernel(cacheFolder: string): string {
  const folder = join(cacheFolder, 'test-kernel-generic');
  if (!existsSync(folder)) fetchKernel(cacheFolder, folder);
  const boot = join(folder, 'boot');
  return join(boot, readdirSync(boot).find((name) => name.startsWith('vmlinuz-')) ?? '');
}

function fetchKernel(cacheFolder: string, folder: string): void {
  mkdirSync(cacheFolder, { recursive: true });
  const draft = mkdtempSync(join(cacheFolder, 'kernel-'));
  try {
    const options = { cwd: draft, encoding: 'utf8' } as const;
    const depends = execFileSync('apt-cache', ['depends', 'linux-image-amd64'], options);
    const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1] ?? '';
    execFileSync('apt-get', ['-o', 'APT::Sandbox::User=', 'download', name], options);
    const file = readdirSync(draft).find((each) => each.endsWith('.deb')) ?? '';
    const unpack = `dpkg-deb --fsys-tarfile "$1" | tar -x --wildcards './boot/vmlinuz-*'`;
    execFileSync('bash', ['-o', 'pipefail', '-c', unpack, 'unpack', file], options);
    rmSync(join(draft, file));
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
