import { Simulation } from '../cli/simulation.ts';
import { loadGuest } from '../guests/index.ts';
import { LocalFiles, scenario } from '../scenarios/index.ts';
import { WasmEngine } from '../wasm/index.ts';
import { asyncify } from './asyncified.ts';
import { interleave, medianMs, ratio, type Benchmark, type Figure } from './harness.ts';
import { SHIM_STOPS, ShimNetwork, ShimProcess } from './shim-network.ts';

const ROUNDS = 7;
const CLIENTS = 20;
const MESSAGES = 500;
const SIZE = 64;
const ECHOES = CLIENTS * MESSAGES;
const SERVER_ARGS = ['7', String(CLIENTS)];
const CLIENT_ARGS = ['7', String(MESSAGES), String(SIZE)];

function check(console: string, others: readonly string[]): void {
  const served = `served ${CLIENTS} connections, ${ECHOES * SIZE} bytes\n`;
  const done = others.every((text) => text.startsWith(`ok: ${MESSAGES} echoes of ${SIZE} bytes`));
  if (!console.endsWith(served) || !done || others.length !== CLIENTS) {
    throw new Error(`not all came back: ${console}${others.join('')}`);
  }
}

/** The guests in the simulator: TCP over links, virtual time, both logs. */
function makeOurs(): () => void {
  const { def, images } = scenario('echo')
    .until('stopped')
    .guest('server', { builtin: 'echo-server' })
    .guest('client', { builtin: 'echo-client' })
    .node({ name: 'server', guest: 'server', args: SERVER_ARGS })
    .node({
      names: Array.from({ length: CLIENTS }, (_, index) => `client${index}`),
      guest: 'client',
      args: ['server', ...CLIENT_ARGS],
    })
    .build(new LocalFiles('.'));
  const engine = new WasmEngine();
  return () => {
    const simulation = new Simulation({ scenario: def, seed: 1, images, engine });
    try {
      simulation.runUntil({});
      const consoles = new Map(
        simulation
          .finish()
          .consoles.map(({ node, bytes }) => [node, Buffer.from(bytes).toString()]),
      );
      const server = consoles.get('server') ?? '';
      consoles.delete('server');
      check(server, [...consoles.values()]);
    } finally {
      simulation.dispose();
    }
  };
}

/** The same binaries on the shim: queues of bytes in memory, and neither time nor logs. */
async function makeTheirs(): Promise<() => void> {
  const server = await asyncify(await loadGuest('echo-server'), SHIM_STOPS);
  const client = await asyncify(await loadGuest('echo-client'), SHIM_STOPS);
  return () => {
    const network = new ShimNetwork();
    const first = new ShimProcess(network, server.module, ['echo-server', ...SERVER_ARGS]);
    const others = Array.from(
      { length: CLIENTS },
      () => new ShimProcess(network, client.module, ['echo-client', '10.0.0.1', ...CLIENT_ARGS]),
    );
    network.run([first, ...others]);
    check(
      first.console,
      others.map(({ console }) => console),
    );
  };
}

/** An echo server with blocking clients, here and on another host with Asyncify. */
export const echoBenchmark: Benchmark = {
  name: 'echo',
  async measure(): Promise<readonly Figure[]> {
    const contenders = [
      { name: 'shim', run: await makeTheirs() },
      { name: 'ours', run: makeOurs() },
    ];
    const timings = interleave(contenders, ROUNDS);
    const note = `${CLIENTS} clients, ${ECHOES} echoes of ${SIZE} bytes, median of ${ROUNDS} interleaved rounds`;
    const each = (name: string): Figure => ({
      name: `an echo, ${name}`,
      value: (medianMs(timings, name) * 1000) / ECHOES,
      unit: 'us',
      bar: null,
      note,
    });
    return [
      each('shim'),
      each('ours'),
      {
        name: 'browser_wasi_shim and Asyncify, of ours',
        value: ratio(timings, 'shim', 'ours'),
        unit: 'x',
        bar: { kind: 'at-least', value: 5 },
        note: 'ours simulates TCP and logs each effect, the shim has queues of bytes and no time',
      },
    ];
  },
};
