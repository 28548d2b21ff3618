import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MachineFolder } from '../machines/machine-folder.ts';

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

/** That machine and a WASM client of it, which begins at a time; properties and faults follow. */
export const echoWorld = (start: string): string => `schema_version = 1
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
start = "${start}"

[network]
latency = "2ms"
jitter = "1ms"
loss = "3%"
`;

/** A folder with the machine's vm.toml in it, whose image is made. */
export class EchoFolder extends MachineFolder {
  /** Sees to it that machines are set up and that the image is made. */
  async prepare(): Promise<void> {
    this.write('echo.vm.toml', VM);
    await this.image('echo.vm.toml');
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.path, name), text);
  }

  bytes(name: string): Buffer {
    return readFileSync(join(this.path, name));
  }

  /** An empty folder in it. */
  folder(name: string): string {
    const path = join(this.path, name);
    mkdirSync(path);
    return path;
  }
}
