import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import wabt from 'wabt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lineOf, MachineFolder, type Ended } from './machine-folder.ts';

/** One machine asks, the other answers; `nc` says nothing of its own. */
const VM = `packages = ["netcat-openbsd"]
main = """
case $ROLE in
asks)
  for node in b c; do
    test $node = b && host=fd00::a00:2 || host=fd00::a00:3
    ping6 -c 2 $host | grep received
    echo "a stream for $node" | nc.openbsd -6 -N -w 5 $host 7
    test $node = b && sleep 0.3 || host=fd00::a00:4
    echo "a datagram for $node" | nc.openbsd -6 -u -W 1 -w 5 $host 7
  done
  ;;
answers)
  echo "a stream of b" | nc.openbsd -6 -l -N 7
  { sleep 1; echo "a datagram of b"; } | nc.openbsd -6 -u -l -w 2 7
  ;;
esac
"""

[machine]
memory = "128MiB"
`;

const WORLD = `schema_version = 1
name = "IPv6"

[guest.linux.machine]
vm = "six.vm.toml"
command_line = "cryptomgr.notests"

[guest.streams]
builtin = "echo-server"

[guest.datagrams]
wasm = "datagrams.wasm"

[[node]]
name = "a"
guest = "linux"
args = ["ROLE=asks"]

[[node]]
name = "b"
guest = "linux"
args = ["ROLE=answers"]

[[node]]
name = "c"
guest = "streams"
args = ["7", "1"]

[[node]]
name = "d"
guest = "datagrams"

[network]
latency = "2ms"
jitter = "1ms"

[limits]
virtual_time = "20s"
`;

const imported = (name: string, parameters: number): string => {
  const types = Array.from({ length: parameters }, () => 'i32').join(' ');
  return `(import "wasi_snapshot_preview1" "sock_${name}"
    (func $${name} (param ${types}) (result i32)))`;
};

/** Sends the first datagram to port 7 back. At 0 an address, at 8 a vector, at 16 the results. */
const DATAGRAMS = `(module
  ${imported('open', 3)}
  ${imported('bind', 3)}
  ${imported('recv_from', 8)}
  ${imported('send_to', 7)}
  (memory (export "memory") 1)
  (data (i32.const 0) "\\00\\04\\00\\00\\80\\00\\00\\00\\00\\10\\00\\00\\00\\08\\00\\00")
  (data (i32.const 1024) "\\01\\00")
  (func $must (param i32) (if (local.get 0) (then unreachable)))
  (func (export "_start") (local $fd i32)
    (call $must (call $open (i32.const 1) (i32.const 1) (i32.const 16)))
    (local.set $fd (i32.load (i32.const 16)))
    (call $must (call $bind (local.get $fd) (i32.const 0) (i32.const 7)))
    (call $must (call $recv_from (local.get $fd) (i32.const 8) (i32.const 1) (i32.const 0)
      (i32.const 0) (i32.const 20) (i32.const 24) (i32.const 28)))
    (i32.store (i32.const 12) (i32.load (i32.const 24)))
    (call $must (call $send_to (local.get $fd) (i32.const 8) (i32.const 1) (i32.const 0)
      (i32.load (i32.const 20)) (i32.const 0) (i32.const 24)))))`;

/** What stood on a node's console, of these words. */
function said(run: Ended, node: string, words: string): boolean {
  return lineOf(run, node, new RegExp(`^${words}$`)) !== null;
}

describe('Linux that speaks IPv6', { timeout: 900_000 }, () => {
  const folder = new MachineFolder();
  beforeAll(async () => {
    const write = (name: string, bytes: string | Uint8Array): void => {
      writeFileSync(join(folder.path, name), bytes);
    };
    write('six.vm.toml', VM);
    write('world.toml', WORLD);
    const module = (await wabt()).parseWat('datagrams.wat', DATAGRAMS);
    write('datagrams.wasm', module.toBinary({}).buffer);
    await folder.image('six.vm.toml');
  }, 600_000);
  afterAll(() => {
    folder.remove();
  });

  const run = (out: string): Promise<Ended> => {
    return folder.sim('run', 'world.toml', '--seed', '1', '--full', '--thin', '--out', out);
  };

  it('reaches machines and WASM guests by TCP, UDP and ping6, and that repeats', async () => {
    // Side by side, each disturbs the other's pace.
    const [first, second] = await Promise.all([run('1.athanor'), run('2.athanor')]);
    expect(first.exitCode, first.errors).toBe(0);
    const received = '2 packets transmitted, 2 packets received, 0% packet loss';
    const answers = ['a stream of b', 'a datagram of b', 'a stream for c', 'a datagram for c'];
    for (const words of [received, ...answers]) expect(said(first, 'a', words), words).toBe(true);
    for (const words of ['a stream for b', 'a datagram for b']) {
      expect(said(first, 'b', words), words).toBe(true);
    }
    expect(first.records.filter((each) => each['text'] === received)).toHaveLength(2);
    expect(second.exitCode, second.errors).toBe(0);
    const bytes = (name: string): Buffer => readFileSync(join(folder.path, name));
    expect(bytes('2.athanor').equals(bytes('1.athanor'))).toBe(true);
  });
});
