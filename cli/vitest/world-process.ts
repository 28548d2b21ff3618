import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../scenarios/index.ts';
import { parseTrace, summarise, type Snapshot } from '../../sim/index.ts';
import type { Markers } from './markers.ts';

/** How long a server may take to start. */
const START_MS_MAX = 60_000;

/** What the server's process runs first: it ends with its standard input, however the test's process ends. */
const END_WITH_PARENT = `data:text/javascript,process.stdin.on('end',()=>process.exit()).resume()`;

/** A world that a process of its own serves over HTTP, for clients that want an address (FH-42). */
export class WorldProcess {
  /** `http://127.0.0.1:PORT`: operations at `/<operation>`, JSON-RPC at `/rpc`. */
  readonly href: string;
  /** The address of MCP over streamable HTTP. */
  readonly mcp: string;
  private readonly child: ChildProcess;
  private readonly folder: string;

  private constructor(href: string, child: ChildProcess, folder: string) {
    this.href = href;
    this.mcp = `${href}/mcp`;
    this.child = child;
    this.folder = folder;
  }

  /** Serves the world of markers that have been found good. */
  static async start(
    { world = '', faults }: Markers,
    testFile: string,
    runIndex: number,
  ): Promise<WorldProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'sim-world-'));
    const args = ['world', 'serve', world, '--http', '--run-index', String(runIndex)];
    args.push('--state-file', join(folder, 'state.json'), '--trace', join(folder, 'trace.jsonl'));
    if (typeof faults === 'object') {
      writeFileSync(join(folder, 'faults.yaml'), JSON.stringify(faults));
      args.push('--faults', join(folder, 'faults.yaml'));
    } else if (faults !== undefined) args.push('--faults', faults);
    const program = join(packageRoot(), 'dist', 'cli', 'main.js');
    const child = spawn(process.execPath, ['--import', END_WITH_PARENT, program, ...args], {
      cwd: dirname(testFile),
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    try {
      return new WorldProcess(await address(child), child, folder);
    } catch (error) {
      await end(child);
      rmSync(folder, { recursive: true });
      throw error;
    }
  }

  /** The tables as they stand: also what a call has written whose answer was lost. */
  snapshot(): Snapshot {
    const text = readFileSync(join(this.folder, 'state.json'), 'utf8');
    return (JSON.parse(text) as { readonly tables: Snapshot }).tables;
  }

  /** The one line of the calls so far. */
  summary(): string {
    return summarise(parseTrace(readFileSync(join(this.folder, 'trace.jsonl'), 'utf8')));
  }

  async close(): Promise<void> {
    await end(this.child);
    rmSync(this.folder, { recursive: true });
  }
}

/** What the server says when it listens. */
function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const timer = setTimeout(() => {
      reject(new Error(`the world's server did not start within ${START_MS_MAX / 1_000} s`));
    }, START_MS_MAX);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const found = /serving .* on (http:\/\/[^,\s]+), MCP/.exec(said)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
    child.once('error', reject);
    child.once('exit', () => {
      clearTimeout(timer);
      reject(new Error(`the world's server ended: ${said.trim()}`));
    });
  });
}

function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => {
      resolve();
    });
    child.stdin?.end();
  });
}
