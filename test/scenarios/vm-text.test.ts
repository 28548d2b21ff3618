import { describe, expect, it } from 'vitest';
import { builtinMachineBytes, builtinMachineNames, loadVmBytes } from '../../scenarios/index.ts';
import { SimError } from '../../sim/index.ts';

const LIMITS = {
  memoryByteCountMin: 64 * 1024 ** 2,
  memoryByteCountMax: 4096 * 1024 ** 2,
  diskByteCountMin: 8 * 1024 ** 2,
  diskByteCountMax: 1024 ** 4,
};

const read = (source: string): Uint8Array => {
  if (source === 'data.bin') return Uint8Array.of(1, 2);
  throw new SimError({ code: 'input/missing', message: `missing ${source}` });
};

function load(text: string): ReturnType<typeof loadVmBytes> {
  return loadVmBytes(Buffer.from(text), 'x.vm.toml', read, LIMITS);
}

function errors(text: string): string[] {
  const result = load(text);
  return result.ok
    ? []
    : result.errors.map(({ code, place, message }) => `${code} ${place ?? ''}: ${message}`);
}

describe('vm.toml', () => {
  it('has defaults for everything', () => {
    expect(load('')).toEqual({
      ok: true,
      vm: {
        packages: [],
        without: [],
        leaveOut: [],
        kernel: 'linux-image-cloud-amd64',
        modules: [],
        memoryByteCount: 256 * 1024 ** 2,
        disk: null,
        users: [],
        files: [],
        environment: [],
        setup: [],
        main: null,
        user: null,
        ready: null,
      },
    });
  });

  it('says packages, users, files, a disk, commands', () => {
    const result = load(`
packages = ["redis-server", "etcd-server=3.4.23-4+b4", "linux-perf/bookworm-backports"]
leave_out = ["/usr/share/x"]
setup = ["one"]
main = "exec redis-server"
ready = "redis-cli ping"
user = "redis"
[users]
redis = 101
[environment]
B = "2"
A = "1"
[files]
"/etc/a" = "text"
"/usr/bin/b" = { source = "data.bin", mode = "0755", owner = "redis" }
[machine]
memory = "1GiB"
modules = ["virtio-console"]
[disk]
size = "64MiB"
`);
    expect(result).toMatchObject({
      ok: true,
      vm: {
        memoryByteCount: 1024 ** 3,
        disk: { byteCount: 64 * 1024 ** 2, mount: '/data' },
        modules: ['virtio_console'],
        environment: [
          ['A', '1'],
          ['B', '2'],
        ],
        users: [{ name: 'redis', id: 101 }],
        files: [
          { path: '/etc/a', mode: 0o644, owner: 0 },
          { path: '/usr/bin/b', mode: 0o755, owner: 101, bytes: Uint8Array.of(1, 2) },
        ],
      },
    });
  });

  it('says each mistake with its place', () => {
    expect(errors('package = ["a"]\nmain = 3\n[machine]\nmemory = "8MB"\n')).toEqual([
      expect.stringMatching(
        /^scenario\/unknown-key x.vm.toml:1:1: package: .*did you mean "packages"/,
      ),
      expect.stringMatching(/^scenario\/value x.vm.toml:2:1: main: 3 is not a text/),
      expect.stringMatching(/^scenario\/value x.vm.toml:4:1: machine.memory: "8MB" is not a size/),
    ]);
  });

  it('says what contradicts itself', () => {
    const text = `user = "bob"
ready = "true"
[users]
a = 5
b = 5
[files]
"/x" = { text = "1", source = "2", owner = "eve" }
"etc/y" = "t"
[machine]
memory = "1MiB"
[disk]
size = "1KiB"
[environment]
"A=B" = "c"
`;
    expect(errors(text).map((error) => error.replace(/^scenario\/value x.vm.toml:/, ''))).toEqual([
      '1:1: user: there is no user "bob"; `users` makes them',
      '2:1: ready: without `main` nothing can become ready',
      '5:1: users.b: the number 5 is that of "a"',
      '7:1: files./x: a file has either `text` or `source`',
      '7:36: files./x.owner: there is no user "eve"',
      '8:1: files.etc/y: a path starts with "/", and has no empty, "." or ".." parts',
      '10:1: machine.memory: the size is not within 64MiB to 4096MiB',
      '12:1: disk.size: the size is not within 8MiB to 1048576MiB',
      '14:1: environment.A=B: "A=B" is no name of a variable',
    ]);
  });

  it('passes on what is wrong with a file, and refuses what is no text', () => {
    expect(errors('[files]\n"/x" = { source = "none" }')).toEqual(['input/missing : missing none']);
    expect(errors('x = [')).toEqual([expect.stringMatching(/^scenario\/toml/)]);
    const result = loadVmBytes(Uint8Array.of(0xff), 'x', read, LIMITS);
    expect(result.ok).toBe(false);
  });

  it('reads the machines that come with the simulator', () => {
    expect(builtinMachineNames()).toEqual(['etcd', 'pgbench', 'postgres', 'redis']);
    expect(builtinMachineBytes('mysql')).toBe(null);
    for (const name of builtinMachineNames()) {
      const result = loadVmBytes(
        builtinMachineBytes(name) ?? new Uint8Array(0),
        name,
        read,
        LIMITS,
      );
      expect(result, name).toMatchObject({ ok: true });
    }
  });
});
