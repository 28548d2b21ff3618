import { parentPort, workerData } from 'node:worker_threads';
import { decodeScenario, SimError } from '../sim/index.ts';
import { WasmEngine } from '../wasm/index.ts';
import type { ToWorker, WorkerMessage, WorkerStart } from './campaign-pool.ts';
import { runSeed } from './campaign-run.ts';
import { ignoreForeignRejections } from './foreign-rejections.ts';
import { ThreadMachines } from './machines/thread-machines.ts';

/** A worker thread of a campaign: runs the chunks of seeds that it is given. */
const start = workerData as WorkerStart;
const scenario = decodeScenario(start.scenario);
const engine = new WasmEngine({ shared: start.shared });
const threadMachines = new ThreadMachines();

ignoreForeignRejections();

function say(message: WorkerMessage): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'end') {
    threadMachines.close();
    parentPort?.close();
    return;
  }
  const { first, count } = message;
  const { images, machines } = start;
  try {
    const host = threadMachines.hostFor({ scenario, machines });
    for (let index = 0; index < count; index++) {
      const result = runSeed(scenario, first + index, images, engine, machines, host);
      say({ kind: 'result', result });
    }
    say({ kind: 'done' });
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    const { code, message, place, remedy } = error;
    say({ kind: 'failed', code, message, place, remedy });
  }
});
