import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testBackend } from './machine-fixture.ts';

const MAIN = join(process.cwd(), 'dist', 'cli', 'main.js');
const TIMEOUT_MS = 240_000;

/** A machine that sends back what it hears on port 7, keeps it on its disk, and powers off. */
const VM = `main = """
mkfifo /run/back
nc -l -p 7 < /run/back | tee /data/heard > /run/back
sync
echo "kept $(wc -c < /data/heard)"
"""

[machine]
memory = "96MiB"

[disk]
size = "16MiB"
`;

/** That machine and a WASM client of it; properties and faults follow. */
export const ECHO_WORLD = `schema_version = 1
name = "a machine and a client"

[guest.linux.machine]
vm = "echo.vm.toml"

[guest.client]
builtin = "echo-client"

[[node]]
name = "server"
guest = "linux"

[[node]]
name = "client"
guest = "client"
args = ["server", "7", "20", "256"]
start = "1500ms"

[network]
latency = "2ms"
jitter = "1ms"
loss = "3%"
`;

/** What a command line has said. */
export interface Ended {
  readonly exitCode: number;
  readonly errors: string;
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

/** A folder with the machine's vm.toml in it, and `sim` in processes of its own. */
export class MachineFolder {
  readonly path: string = mkdtempSync(join(tmpdir(), 'athanor-world-'));

  /** Sees to it that machines are set up and that the image is made. */
  async prepare(): Promise<void> {
    await testBackend();
    this.write('echo.vm.toml', VM);
    await this.sim('vm', 'image', 'echo.vm.toml');
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.path, name), text);
  }

  bytes(name: string): Buffer {
    return readFileSync(join(this.path, name));
  }

  async sim(...args: string[]): Promise<Ended> {
    const options = { cwd: this.path, maxBuffer: 64 * 1024 ** 2, timeout: TIMEOUT_MS };
    const ended = await promisify(execFile)(process.execPath, [MAIN, ...args], options).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );
    const lines = ended.stdout.split('\n').filter((line) => line !== '');
    const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    return { exitCode: ended.code, errors: ended.stderr, records };
  }

  dispose(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
