import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { S_IFDIR, S_IFLNK, S_IFREG, writeCpio, type CpioEntry } from '../../bridge/image/cpio.ts';
import { moduleName, moduleOrder } from '../../bridge/image/kernel-modules.ts';
import { closure, parseStanzas } from '../../bridge/image/packages.ts';
import { canonicalSpec, type ImageSpec } from '../../bridge/image/spec.ts';
import { readTar } from '../../bridge/image/tar.ts';
import { FileTree } from '../../bridge/image/tree.ts';
import { drawUniform, SimError, streamKey } from '../../sim/index.ts';

const bytesOf = (text: string): Uint8Array => Buffer.from(text);

function tarOf(make: (folder: string) => void): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'athanor-tar-'));
  try {
    make(folder);
    const flags = ['--format=gnu', '--owner=0', '--group=0', '--numeric-owner', '-cf', '-', '.'];
    return execFileSync('tar', ['-C', folder, ...flags], { maxBuffer: 64 * 1024 * 1024 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('tar', () => {
  const long = `${'folder/'.repeat(30)}file`;
  const archive = tarOf((folder) => {
    mkdirSync(join(folder, 'folder/'.repeat(30)), { recursive: true });
    writeFileSync(join(folder, long), 'deep');
    writeFileSync(join(folder, 'plain'), 'a'.repeat(1000), { mode: 0o640 });
    execFileSync('ln', ['-s', `/${long}`, join(folder, 'symbolic')]);
    execFileSync('ln', [join(folder, 'plain'), join(folder, 'second')]);
  });

  it('reads what the system writes: long names, links, modes', () => {
    const members = new Map([...readTar(archive, 'x')].map((member) => [member.path, member]));
    expect(Buffer.from(members.get(long)?.bytes ?? []).toString()).toBe('deep');
    expect(members.get('symbolic')).toMatchObject({ kind: 'symlink', target: `/${long}` });
    const kinds = ['plain', 'second'].map((path) => members.get(path)?.kind);
    expect(kinds.sort()).toEqual(['file', 'hardlink']);
    expect([members.get('plain')?.mode, members.get('')?.kind]).toEqual([0o640, 'folder']);
  });

  it('reads damaged archives as far as they are sound, or says that they are not', () => {
    const outcomes = new Set<string>();
    for (let run = 0; run < 500; run++) {
      const key = streamKey(run, 'tar');
      const damaged = Buffer.from(archive.subarray(0, drawUniform(key, 0, archive.length)));
      for (let n = 1; n < 4 && damaged.length > 0; n++) {
        damaged[drawUniform(key, 2 * n, Math.min(damaged.length, 20_000))] = drawUniform(
          key,
          n,
          256,
        );
      }
      try {
        outcomes.add([...readTar(damaged, 'x')].length > 0 ? 'some' : 'none');
      } catch (error) {
        outcomes.add(error instanceof SimError ? error.code : String(error));
      }
    }
    expect([...outcomes].sort()).toEqual(['input/package-damaged', 'none', 'some']);
  });

  it('lets no member leave the image', () => {
    const header = Buffer.alloc(1024);
    header.write('usr/../../etc/passwd');
    header.write('0000644\0', 100);
    header.fill(' ', 148, 156);
    const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    expect(() => [...readTar(header, 'x')]).toThrow(/has the path/);
  });
});

describe('cpio', () => {
  it('writes the bytes that the format asks for', () => {
    const entries: CpioEntry[] = [
      { path: '.', mode: S_IFDIR | 0o755, uid: 0, gid: 0, bytes: bytesOf('') },
      { path: 'abc', mode: S_IFREG | 0o644, uid: 1, gid: 2, bytes: bytesOf('hello') },
      { path: 'to', mode: S_IFLNK | 0o777, uid: 0, gid: 0, bytes: bytesOf('abc') },
    ];
    const archive = Buffer.concat([...writeCpio(entries)]);
    expect(archive.length % 512).toBe(0);
    const second = archive.subarray(112, 112 + 110 + 6 + 8).toString('latin1');
    expect(second).toBe(
      '07070100000002000081a400000001000000020000000100000000000000050000000000000000' +
        '00000000000000000000000400000000abc\0\0\0hello\0\0\0',
    );
    expect(archive.toString('latin1')).toContain('TRAILER!!!');
  });
});

describe('the file tree', () => {
  const paths = (tree: FileTree): string[] => [...tree.entries()].map(({ path }) => path);
  const member = {
    mode: 0o755,
    uid: 0,
    gid: 0,
    bytes: bytesOf('x'),
    target: '',
    major: 0,
    minor: 0,
  };

  it('puts /bin, /lib and the like into /usr, however a package names them', () => {
    const tree = new FileTree();
    tree.add({ ...member, path: 'bin', kind: 'folder', bytes: bytesOf('') }, 'p');
    tree.add({ ...member, path: 'bin/sh', kind: 'file' }, 'p');
    tree.add({ ...member, path: 'lib/x86/libc.so', kind: 'file' }, 'p');
    tree.add({ ...member, path: 'usr/lib/x86/libm.so', kind: 'file' }, 'p');
    expect(paths(tree).filter((path) => path.includes('x86') || path.includes('sh'))).toEqual([
      'usr/bin/sh',
      'usr/lib/x86',
      'usr/lib/x86/libc.so',
      'usr/lib/x86/libm.so',
    ]);
    expect([tree.has('usr/bin/sh'), tree.has('bin/sh'), tree.byteCount > 0]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('keeps a link to a folder where a package brings the folder, and refuses circles', () => {
    const tree = new FileTree();
    tree.link('var/run', '/run');
    tree.add({ ...member, path: 'var/run', kind: 'folder', bytes: bytesOf('') }, 'p');
    tree.file('var/run/pid', bytesOf('1'), 0o644);
    expect(paths(tree)).toContain('run/pid');
    tree.link('a', 'b');
    tree.link('b', 'a');
    expect(() => tree.file('a/x', bytesOf(''), 0o644)).toThrow(/too many links/);
  });

  it('is the same whatever the order', () => {
    const make = (names: readonly string[]): Buffer => {
      const tree = new FileTree();
      for (const name of names) tree.file(name, bytesOf(name), 0o644);
      return Buffer.concat([...writeCpio(tree.entries())]);
    };
    const names = ['z', 'a/b/c', 'a/b', 'usr/lib/q', 'é'].filter((name) => name !== 'a/b');
    expect(make(names).equals(make([...names].reverse()))).toBe(true);
  });
});

describe('packages', () => {
  const STANZAS = `Package: server
Version: 1:2.0-1
Depends: libc6 (>= 2.34), adduser, tool:any | other, mail-agent
Pre-Depends: init-system-helpers
Size: 10
SHA256: ${'a'.repeat(64)}
Description: a server
 that serves

Package: libc6
Version: 2.36
Size: 5
SHA256: ${'b'.repeat(64)}

Package: adduser
Version: 3
Depends: perl
Size: 5
SHA256: ${'c'.repeat(64)}

Package: perl
Version: 5
Size: 5
SHA256: ${'d'.repeat(64)}

Package: exim
Version: 4
Provides: mail-agent (= 1)
Size: 5
SHA256: ${'e'.repeat(64)}

Package: tool
Version: 4
Size: 5
SHA256: ${'f'.repeat(64)}
`;
  const all = parseStanzas(STANZAS);
  const names = (roots: string[], without: string[] = []): string[] => {
    return closure(roots, all, new Set(without))
      .map(({ name }) => name)
      .sort();
  };

  it('reads what apt says of them', () => {
    expect(all[0]).toEqual({
      name: 'server',
      version: '1:2.0-1',
      sha256: 'a'.repeat(64),
      byteCount: 10,
      depends: [['init-system-helpers'], ['libc6'], ['adduser'], ['tool', 'other'], ['mail-agent']],
      provides: [],
    });
  });

  it('follows what a package needs, but not what only installs it', () => {
    expect(names(['server'])).toEqual(['exim', 'libc6', 'server', 'tool']);
    expect(names(['server'], ['exim', 'tool'])).toEqual(['libc6', 'server']);
    expect(names(['adduser'])).toEqual(['adduser', 'perl']);
  });
});

describe('kernel modules', () => {
  const module = (depends: string): Uint8Array =>
    bytesOf(`\x7fELF\0license=GPL\0depends=${depends}\0x`);
  const files = new Map([
    ['virtio_net', module('net-failover,virtio')],
    ['net_failover', module('failover')],
    ['failover', module('')],
    ['virtio', module('')],
  ]);
  const read = (name: string): Uint8Array | undefined => files.get(name);

  it('come after those they depend on, built-in ones not at all', () => {
    const order = moduleOrder(['virtio_net', 'virtio', 'ext4'], read, new Set(['ext4']));
    expect(order).toEqual(['failover', 'net_failover', 'virtio', 'virtio_net']);
    expect(() => moduleOrder(['nfs'], read, new Set())).toThrow(/no module "nfs"/);
    expect(moduleName('lib/modules/6/kernel/drivers/virtio-rng.ko.xz')).toBe('virtio_rng');
  });
});

describe('the identity of an image', () => {
  const spec: ImageSpec = {
    packages: ['b', 'a'],
    without: [],
    leaveOut: [],
    kernel: 'k',
    modules: [],
    memoryByteCount: 1,
    disk: null,
    users: [],
    files: [{ path: '/x', bytes: bytesOf('1'), mode: 0o644, owner: 0 }],
    environment: [],
    setup: ['one', 'two'],
    main: null,
    user: null,
    ready: null,
  };

  it('knows no order of packages and files, but of commands', () => {
    expect(canonicalSpec({ ...spec, packages: ['a', 'b'] })).toBe(canonicalSpec(spec));
    expect(canonicalSpec({ ...spec, setup: ['two', 'one'] })).not.toBe(canonicalSpec(spec));
    const other = { path: '/x', bytes: bytesOf('2'), mode: 0o644, owner: 0 };
    expect(canonicalSpec({ ...spec, files: [other] })).not.toBe(canonicalSpec(spec));
  });
});
