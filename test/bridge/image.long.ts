import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildImage, type ImageSpec, type MachineImage } from '../../bridge/index.ts';
import { readMachine } from '../../cli/vm-input.ts';
import { machineCache, testBackend } from '../support/machine-fixture.ts';
import { bootMachine, bootStock } from '../support/machine-image.ts';

const shipped = (name: string): ImageSpec => readMachine(name, { path: (text) => resolve(text) });

function build(spec: ImageSpec, folder = machineCache): Promise<MachineImage> {
  return buildImage(spec, { cacheFolder: folder, say: () => undefined, update: false });
}

/** A shipped machine whose main command runs beside one that uses it, and then ends. */
function exercised(name: string, main: string): Promise<MachineImage> {
  const spec = shipped(name);
  return build({ ...spec, main: `(\n${spec.main ?? ''}\n) &\n${main}` });
}

describe('the shipped machines, under a stock QEMU', () => {
  it('Redis answers, and keeps what it was told on its disk', async () => {
    const image = await exercised(
      'redis',
      `until redis-cli ping 2>/dev/null | grep PONG; do sleep 0.02; done
redis-cli set key value
echo "got $(redis-cli get key)"
athanor always "redis answers" true '{"n":1}'
redis-cli shutdown
wait
grep -c value /data/appendonlydir/*.incr.aof`,
    );
    const { console, text } = await bootStock(image);
    expect(console).toMatch(/PONG\nOK\ngot value\n[^]*1\nathanor: exit 0/);
    expect(text).toBe(
      '{"kind":"always","name":"redis answers","condition":true,"hit":true,"details":{"n":1}}\n',
    );
  });

  it('etcd elects itself, and answers', async () => {
    const image = await exercised(
      'etcd',
      // The machine asks the same question for its readiness, and must have had its answer.
      `until etcdctl endpoint health 2>/dev/null; do sleep 0.1; done
sleep 2
etcdctl put key value
etcdctl get key
etcdctl endpoint status -w fields | grep Leader
ls /data/etcd/member`,
    );
    const { console } = await bootStock(image);
    expect(console).toMatch(/OK\nkey\nvalue\n[^]*"Leader" : [1-9]\d+\nsnap\s+wal\nathanor: exit 0/);
  });

  it('PostgreSQL makes its cluster, and runs pgbench', async () => {
    const image = await exercised(
      'postgres',
      `until pg_isready -q && psql -c 'select 1' >/dev/null; do sleep 0.05; done
set -e
createdb bench
pgbench -i -q -s 1 bench
pgbench -t 20 -c 2 bench
psql -At -c 'select count(*) from pgbench_history' bench
pg_ctl stop -m fast`,
    );
    const { console } = await bootStock(image);
    expect(console).toMatch(/processed: 40\/40\n[^]*\n40\n[^]*server stopped\nathanor: exit 0/);
  });
});

describe('images', () => {
  const other = mkdtempSync(join(tmpdir(), 'athanor-image-'));
  afterAll(() => {
    rmSync(other, { recursive: true, force: true });
  });

  it('are the same bytes when they are made elsewhere, at another time, with other masks', async () => {
    const first = await build(shipped('redis'));
    expect((await build(shipped('redis'))).cached).toBe(true);
    mkdirSync(join(machineCache, 'apt'), { recursive: true });
    symlinkSync(join(machineCache, 'apt'), join(other, 'apt'));
    const mask = process.umask(0o077);
    process.env['SOURCE_DATE_EPOCH'] = '1';
    const second = await build(shipped('redis'), other);
    process.umask(mask);
    expect(second.cached).toBe(false);
    expect(second.manifest).toEqual(first.manifest);
    const bytes = (image: MachineImage): Buffer[] => {
      const paths = [image.kernelPath, image.initrdPath, image.diskPath ?? ''];
      return paths.map((path) => readFileSync(path));
    };
    const twins = bytes(second);
    for (const [index, mine] of bytes(first).entries()) {
      expect(mine.equals(twins[index] as Buffer), `file ${index}`).toBe(true);
    }
  });

  it('refuse a package that nobody has, and a machine that is too small', async () => {
    await expect(build({ ...shipped('redis'), packages: ['no-such-thing'] })).rejects.toMatchObject(
      {
        code: 'input/package-missing',
        message: expect.stringContaining('"no-such-thing"') as string,
      },
    );
    const small = { ...shipped('redis'), memoryByteCount: 64 * 1024 ** 2 };
    await expect(build(small)).rejects.toMatchObject({
      code: 'input/image-too-big',
      remedy: expect.stringMatching(/at least 1\d\d MiB/) as string,
    });
  });

  it('say that there is no network', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'athanor-offline-'));
    process.env['http_proxy'] = 'http://127.0.0.1:9';
    try {
      await expect(build(shipped('redis'), folder)).rejects.toMatchObject({
        code: 'backend/apt-failed',
      });
    } finally {
      delete process.env['http_proxy'];
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('an image under the adapter', () => {
  let image: MachineImage;
  beforeAll(async () => {
    image = await build({
      ...shipped('redis'),
      packages: [],
      files: [],
      setup: [],
      ready: 'true',
      main: `athanor bell 7
athanor sometimes "it \\"quotes\\"" false
athanor random > /data/number
echo "number $(cat /data/number)"
exit 3`,
    });
  });

  it('rings the doorbell, draws, uses its disk, and ends with its status (CR-55)', async () => {
    const backend = await testBackend();
    const limitNs = 10_000_000_000;
    const [first, again, third] = [
      await bootMachine(image, backend, { seed: 1, limitNs }),
      await bootMachine(image, backend, { seed: 1, limitNs }),
      await bootMachine(image, backend, { seed: 2, limitNs }),
    ];
    expect(first.reason).toBe('off');
    expect(first.text).toBe(
      '{"kind":"sometimes","name":"it \\"quotes\\"","condition":false,"hit":true}\n',
    );
    expect([...first.bells].sort((a, b) => a - b)).toEqual([7, 0x01000000, 0x02000003, 0x03000000]);
    expect(first.bells.at(-1)).toBe(0x02000003);
    expect(first.console).toMatch(/number \d+/);
    expect(again).toEqual(first);
    const number = /number \d+/;
    expect(number.exec(third.console)?.[0]).not.toBe(number.exec(first.console)?.[0]);
  });
});
