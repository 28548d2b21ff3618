import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { openBundle } from '../../cli/bundle.ts';
import { testBackend } from '../support/machine-fixture.ts';

const MAIN = resolve('dist', 'cli', 'main.js');

export type SimRecord = Readonly<Record<string, unknown>>;

/** What a `sim` in a process of its own has said. */
export interface Ended {
  readonly exitCode: number;
  readonly errors: string;
  readonly records: readonly SimRecord[];
}

/** A folder with a scenario of `scenarios/machines` and the image that it wants. */
export class MachineFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'athanor-machines-'));

  /** Makes the image, unless it was made before. */
  async image(machine: string): Promise<void> {
    await testBackend();
    const made = await this.sim('vm', 'image', machine, '--out', machine.replace('.vm.toml', ''));
    if (made.exitCode !== 0) throw new Error(made.errors);
  }

  /** Writes a scenario down, with some of its words replaced; each must be there. */
  scenario(from: string, name: string, changes: readonly (readonly [string, string])[] = []): void {
    let text = readFileSync(resolve('scenarios', 'machines', `${from}.toml`), 'utf8');
    for (const [before, after] of changes) {
      if (!text.includes(before)) throw new Error(`${from}.toml has no ${before}`);
      text = text.replaceAll(before, after);
    }
    writeFileSync(join(this.path, `${name}.toml`), text);
  }

  async sim(...args: readonly string[]): Promise<Ended> {
    const options = { cwd: this.path, maxBuffer: 64 * 1024 ** 2 };
    const words = [MAIN, ...args, '--format', 'jsonl'];
    const ended = await promisify(execFile)(process.execPath, words, options).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );
    const lines = ended.stdout.split('\n').filter((line) => line !== '');
    const records = lines.map((line) => JSON.parse(line) as SimRecord);
    return { exitCode: ended.code, errors: ended.stderr, records };
  }

  /** A bundle's manifest; of its files, each by its digest, only those that releases share. */
  manifest(name: string, alike: boolean): Readonly<Record<string, unknown>> {
    const bytes = readFileSync(join(this.path, name));
    const { machines, members, ...rest } = openBundle(bytes).manifest;
    // Fingerprints hold the devices' state, which differs between releases of QEMU 10.0.
    const shared = members.filter((each) => alike || each.name !== 'fingerprints.bin');
    return { ...rest, machines: machines?.backend, members: shared };
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The verdict of a property. */
export function verdictOf({ records }: Ended, name: string): unknown {
  return records.find((each) => each['type'] === 'property' && each['name'] === name)?.['verdict'];
}

/** The last line of a node's console in which the pattern matches, or null. */
export function lineOf({ records }: Ended, node: string, pattern: RegExp): RegExpExecArray | null {
  const lines = records.filter((each) => each['type'] === 'timeline' && each['node'] === node);
  const found = lines.map((each) => pattern.exec(String(each['text'])));
  return found.filter((each) => each !== null).at(-1) ?? null;
}
