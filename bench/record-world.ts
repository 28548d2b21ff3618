import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { loadWorldFile, LocalFiles, packageRoot, type LoadedWorld } from '../scenarios/index.ts';
import { Decisions, FakeClock, RecordService, RecordTrace } from '../sim/index.ts';
import { makeHandlers } from '../cli/record/handlers.ts';
import { median, type Benchmark, type Figure } from './harness.ts';
import { packagePath } from './paths.ts';

const OWN_CALLS = 100_000;
const MCP_CALLS = 1_000;
const ROUNDS = 5;

/** `get_order` with the file's faults and a trace: in this process, and over MCP in another. */
export const recordWorldBenchmark: Benchmark = {
  name: 'record-world',
  async measure(progress): Promise<readonly Figure[]> {
    const own: number[] = [];
    const served: number[] = [];
    const client = await connect();
    try {
      await callsServed(client);
      callsHere();
      for (let round = 0; round < ROUNDS; round++) {
        progress(`round ${round + 1} of ${ROUNDS}`);
        own.push(callsHere());
        served.push(await callsServed(client));
      }
    } finally {
      await client.close();
    }
    const note = `get_order of the shop, with latency and faults, median of ${ROUNDS} rounds`;
    return [
      { name: 'calls in process', value: median(own), unit: '/s', bar: null, note },
      { name: 'calls through MCP over stdio', value: median(served), unit: '/s', bar: null, note },
      {
        name: 'in process, of MCP over stdio',
        value: median(own) / median(served),
        unit: 'x',
        bar: { kind: 'at-least', value: 100 },
        note: 'faults and trace on both sides, wall time, taken in turns',
      },
    ];
  },
};

function shop(): LoadedWorld {
  const files = new LocalFiles(join(packageRoot(), 'scenarios', 'worlds'));
  const result = loadWorldFile(files.read('shop.yaml'), 'shop.yaml', files);
  if (!result.ok) throw result.errors[0] as Error;
  return result.world;
}

/** Calls a second. */
function callsHere(): number {
  const { def, modules } = shop();
  const trace = new RecordTrace();
  const clock = new FakeClock();
  const service = new RecordService({
    def,
    handlers: makeHandlers(def, modules),
    faults: def.faults,
    decisions: new Decisions(1, () => undefined),
    scope: 'record/shop',
    runIndex: 0,
    onCall: (event) => {
      trace.add(event);
    },
  });
  const start = performance.now();
  for (let call = 0; call < OWN_CALLS; call++)
    service.call('get_order', { id: (call % 20) + 1 }, clock);
  const seconds = (performance.now() - start) / 1_000;
  if (trace.count('get_order') !== OWN_CALLS) throw new Error('calls are missing in the trace');
  return OWN_CALLS / seconds;
}

async function connect(): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1' });
  const args = [packagePath('dist/cli/main.js'), 'world', 'serve', 'shop', '--faults', 'world'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  return client;
}

async function callsServed(client: Client): Promise<number> {
  const start = performance.now();
  for (let call = 0; call < MCP_CALLS; call++) {
    await client.callTool({ name: 'get_order', arguments: { id: (call % 20) + 1 } });
  }
  return (MCP_CALLS * 1_000) / (performance.now() - start);
}
