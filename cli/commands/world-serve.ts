import { SimError } from '../../sim/index.ts';
import type { Context } from '../context.ts';
import type { OptionsOf } from '../options.ts';
import { openFaults, openWorld } from '../record/open-world.ts';
import { serveHttp } from '../record/serve-http.ts';
import { serveStdio } from '../record/serve-stdio.ts';
import { ServedWorld } from '../record/served-world.ts';

/**
 * `sim world serve`: a record world for clients outside of any simulation, over MCP on the standard
 * streams or over HTTP, until the client leaves or somebody ends it.
 */
export async function run(
  args: readonly string[],
  options: OptionsOf<'world serve'>,
  context: Context,
): Promise<number> {
  checkUsage(options);
  const path = (text: string): string => context.path(text);
  const world = openWorld(args[0] ?? '', path);
  const { stateFile, runIndex = 0, step = 0 } = options;
  const { trace } = context.globals;
  const served = new ServedWorld({
    world,
    faults: openFaults(options.faults, world, path),
    runIndex,
    stepNs: step,
    stateFile: stateFile === undefined ? null : path(stateFile),
    traceFile: trace === undefined ? null : path(trace),
  });
  const { stderr, streams } = context.host;
  if (!options.http) {
    await serveStdio(served, streams(), (line) => {
      stderr.write(`${line}\n`);
    });
    return 0;
  }
  const { host = '127.0.0.1', port = 0 } = options;
  const serving = await serveHttp(served, { host, port });
  const shown = host.includes(':') ? `[${host}]` : host;
  stderr.write(`serving ${world.def.name} on http://${shown}:${serving.port}, MCP at /mcp\n`);
  try {
    await Promise.race([serving.over, ended()]);
  } finally {
    await serving.close();
  }
  return 0;
}

function checkUsage({ http, host, port }: OptionsOf<'world serve'>): void {
  if (http || (host ?? port) === undefined) return;
  throw new SimError({
    code: 'usage/http',
    message: '--host and --port are about HTTP',
    remedy: 'add --http, or leave them out',
  });
}

/** Until somebody ends this process in the usual ways. */
function ended(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
}
