import { spawnSync } from 'node:child_process';
import { SimError } from '../../sim/index.ts';
import { APPLETS } from './applets.ts';
import { moduleName, moduleOrder, NEEDED_MODULES } from './kernel-modules.ts';
import { compare, imageError, type ImageSpec } from './spec.ts';
import type { TarMember } from './tar.ts';
import type { FileTree } from './tree.ts';

/** Never in an image: what only people read, and what other first processes want. */
const LEFT_OUT: readonly string[] = [
  'usr/share/doc',
  'usr/share/man',
  'usr/share/info',
  'usr/share/lintian',
  'usr/share/locale',
  'usr/share/bash-completion',
  'usr/share/zsh',
  'usr/lib/systemd/system',
  'etc/init.d',
];

const OURS = 'usr/lib/athanor';
/** Where the tool and the first process stand: one program. */
const PROGRAM = 'usr/bin/athanor';

/** Whether an image with this specification leaves the path of a package out. */
export function isLeftOut(path: string, spec: ImageSpec): boolean {
  const whole = /^(bin|sbin|lib\w*)\//.test(path) ? `usr/${path}` : path;
  return [...LEFT_OUT, ...spec.leaveOut.map((each) => each.slice(1))].some((prefix) => {
    return whole === prefix || whole.startsWith(`${prefix}/`);
  });
}

/** What every system has, before packages are laid over it. */
export function addBase(tree: FileTree): void {
  for (const path of ['dev', 'proc', 'sys', 'run', 'etc', 'home', 'mnt', 'var/lib', 'var/log']) {
    tree.folder(path, 0o755);
  }
  tree.folder('root', 0o700);
  for (const path of ['tmp', 'var/tmp']) tree.folder(path, 0o1777);
  tree.link('var/run', '/run');
  tree.link('var/lock', '/run');
  // The kernel opens the console before anything is mounted.
  tree.character('dev/console', 0o600, 5, 1);
  tree.character('dev/null', 0o666, 1, 3);
}

/** Users, our program, the shell's commands, and what the first process shall do. */
export function addOurs(
  tree: FileTree,
  spec: ImageSpec,
  program: { readonly bytes: Uint8Array; readonly header: Uint8Array },
): void {
  const users = [{ name: 'root', id: 0 }, ...spec.users, { name: 'nobody', id: 65534 }];
  const home = (id: number): string => (id === 0 ? '/root' : '/');
  const lines = (each: (user: { name: string; id: number }) => string): Uint8Array => {
    return Buffer.from(users.map((user) => `${each(user)}\n`).join(''));
  };
  tree.file(
    'etc/passwd',
    lines(({ name, id }) => `${name}:x:${id}:${id}::${home(id)}:/bin/sh`),
    0o644,
  );
  tree.file(
    'etc/group',
    lines(({ name, id }) => `${name}:x:${id}:`),
    0o644,
  );
  const names = 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n';
  tree.file('etc/nsswitch.conf', Buffer.from(names), 0o644);
  tree.file('etc/resolv.conf', new Uint8Array(0), 0o644);
  // Every program may ring the doorbell, so the tool has root's right to the ports.
  tree.file(PROGRAM, program.bytes, 0o4755);
  tree.file('usr/include/athanor.h', program.header, 0o644);
  tree.link('init', `/${PROGRAM}`);
  for (const name of APPLETS) {
    if (!tree.has(`usr/bin/${name}`) && !tree.has(`usr/sbin/${name}`)) {
      tree.link(`usr/bin/${name}`, '/bin/busybox');
    }
  }
  addTasks(tree, spec);
  for (const { path, bytes, mode, owner } of spec.files) {
    tree.file(path.slice(1), bytes, mode, owner);
  }
}

function addTasks(tree: FileTree, spec: ImageSpec): void {
  const put = (name: string, text: string): void => {
    tree.file(`${OURS}/${name}`, Buffer.from(text), 0o644);
  };
  spec.setup.forEach((script, index) => put(`setup-${index + 1}`, `set -e\n${script}\n`));
  if (spec.main !== null) put('main', `${spec.main}\n`);
  if (spec.ready !== null) put('ready', `${spec.ready}\n`);
  if (spec.user !== null) put('user', `${spec.user}\n`);
  if (spec.disk !== null) put('disk', `/dev/vda ${spec.disk.mount} ext4\n`);
  if (spec.environment.length > 0) {
    put('environment', spec.environment.map(([name, value]) => `${name}=${value}\n`).join(''));
  }
}

/** Takes the kernel, and puts the modules that are needed into the tree. */
export function addKernel(
  tree: FileTree,
  spec: ImageSpec,
  members: readonly TarMember[],
): { readonly kernel: Uint8Array; readonly modules: readonly string[] } {
  const image = members.find(({ path }) => /^boot\/vmlinuz-/.test(path));
  if (image === undefined) {
    throw imageError(
      'kernel-missing',
      'the package of the kernel holds no boot/vmlinuz-…',
      spec.kernel,
      'name a kernel such as linux-image-cloud-amd64',
    );
  }
  const packed = new Map(
    members
      .filter(({ path }) => /\.ko(\.xz)?$/.test(path))
      .map((member) => [moduleName(member.path), member]),
  );
  const builtIn = new Set(
    members
      .filter(({ path }) => path.endsWith('/modules.builtin'))
      .flatMap(({ bytes }) => Buffer.from(bytes).toString('utf8').split('\n').map(moduleName)),
  );
  const unpacked = new Map<string, Uint8Array>();
  const read = (name: string): Uint8Array | undefined => {
    const member = packed.get(name);
    if (member === undefined) return undefined;
    const bytes = unpacked.get(name) ?? unpack(member);
    unpacked.set(name, bytes);
    return bytes;
  };
  const wanted = [...NEEDED_MODULES, ...[...spec.modules].sort(compare)];
  const modules = moduleOrder(wanted, read, builtIn);
  for (const name of modules) {
    tree.file(`${OURS}/modules/${name}.ko`, read(name) as Uint8Array, 0o644);
  }
  const order = modules.map((name) => `${name}\n`).join('');
  tree.file(`${OURS}/modules/order`, Buffer.from(order), 0o644);
  return { kernel: image.bytes, modules };
}

/** Newer kernels have their modules compressed; the guest has no program to undo it. */
function unpack(member: TarMember): Uint8Array {
  if (!member.path.endsWith('.xz')) return member.bytes;
  const result = spawnSync('xz', ['-dc'], {
    input: member.bytes,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.status === 0) return result.stdout;
  throw new SimError({
    code: 'backend/program-missing',
    message: 'a module of the kernel cannot be unpacked with xz',
    place: member.path,
    remedy: 'apt-get install xz-utils',
  });
}
