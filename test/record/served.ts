import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** The command as users have it; `npm test` builds it first. */
export const SIM = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js');

export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
}

/** The library gives up after a minute, which a busy machine may need to start a process. */
const PATIENCE = { timeout: 600_000 } as const;

/** A real client over real MCP. */
export class ToolClient {
  private readonly client = new Client({ name: 'agent', version: '1' });

  /** Starts `sim world serve` with these arguments and speaks with it on its standard streams. */
  static async spawn(args: readonly string[]): Promise<ToolClient> {
    const made = new ToolClient();
    const command = { command: process.execPath, args: [SIM, 'world', 'serve', ...args] };
    await made.client.connect(new StdioClientTransport({ ...command, stderr: 'ignore' }), PATIENCE);
    return made;
  }

  static async connect(url: string): Promise<ToolClient> {
    const made = new ToolClient();
    const transport = new StreamableHTTPClientTransport(new URL(url));
    await made.client.connect(transport as Parameters<Client['connect']>[0], PATIENCE);
    return made;
  }

  async tools() {
    return (await this.client.listTools({}, PATIENCE)).tools;
  }

  async call(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<ToolAnswer> {
    const asked = { name, arguments: { ...args } };
    const { content, isError } = await this.client.callTool(asked, undefined, PATIENCE);
    const [first] = content as { text: string }[];
    return { isError: isError === true, text: first?.text ?? '' };
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}

/** A real process that serves over HTTP on a free port of 127.0.0.1. */
export class HttpProcess {
  readonly child: ChildProcess;
  url = '';
  stderr = '';

  private constructor(child: ChildProcess) {
    this.child = child;
  }

  static async start(args: readonly string[]): Promise<HttpProcess> {
    const child = spawn(process.execPath, [SIM, 'world', 'serve', ...args, '--http'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const made = new HttpProcess(child);
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (bytes: Buffer) => {
        made.stderr += bytes.toString();
        const found = /on (http:\/\/\S+),/.exec(made.stderr);
        if (found === null) return;
        made.url = found[1] ?? '';
        resolve();
      });
      child.once('exit', () => {
        reject(new Error(made.stderr));
      });
    });
    return made;
  }

  async post(path: string, body: string | Uint8Array): Promise<{ status: number; text: string }> {
    const response = await fetch(this.url + path, { method: 'POST', body });
    return { status: response.status, text: await response.text() };
  }

  async stop(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const [code] = (await exit) as [number | null];
    return code;
  }
}

/** Runs with a folder that is gone afterwards. */
export async function inFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'world-'));
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function readState(path: string): Readonly<Record<string, unknown>> & {
  readonly revision: number;
  readonly calls: number;
  readonly trace: string;
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
} {
  return JSON.parse(readFileSync(path, 'utf8')) as ReturnType<typeof readState>;
}
