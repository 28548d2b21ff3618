import { parentPort } from 'node:worker_threads';
import { SimError } from '../sim/index.ts';
import { WasmEngine } from '../wasm/index.ts';
import { ignoreForeignRejections } from './foreign-rejections.ts';
import type { ToWorker, FromWorker } from './probe-pool.ts';
import { ThreadMachines } from './machines/thread-machines.ts';
import { runProbe, type ProbeStart } from './probe.ts';

/** A worker thread of a probe pool: keeps the starts that it is given, and runs probes. */
const starts = new Map<number, { readonly start: ProbeStart; readonly engine: WasmEngine }>();
const machines = new ThreadMachines();

ignoreForeignRejections();

function say(message: FromWorker): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', (message: ToWorker) => {
  switch (message.kind) {
    case 'start': {
      const { id, start, shared } = message;
      starts.set(id, { start, engine: new WasmEngine({ shared }) });
      return;
    }
    case 'drop':
      starts.delete(message.id);
      return;
    case 'probe':
      return probe(message);
    case 'end':
      machines.close();
      parentPort?.close();
  }
});

function probe({ ticket, probe }: Extract<ToWorker, { kind: 'probe' }>): void {
  const known = starts.get(probe.start);
  try {
    if (known === undefined) throw new Error(`start ${probe.start} is unknown to the worker`);
    const host = machines.hostFor(known.start);
    const { result } = runProbe(known.start, probe, known.engine, undefined, host);
    say({ kind: 'result', ticket, result });
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    const { code, message, place, remedy } = error;
    say({ kind: 'failed', code, message, place, remedy });
  }
}
