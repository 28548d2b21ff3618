import type { Worker } from 'node:worker_threads';

/** A worker may be in the middle of a run that nobody waits for any more. */
const END_MS = 10_000;

/** Lets a worker that is told `{ kind: 'end' }` end by itself, with its machines; else ends it. */
export async function endWorker(worker: Worker): Promise<void> {
  const hasEnded = worker.threadId < 0;
  if (hasEnded) return;
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
    timer = setTimeout(resolve, END_MS);
  });
  worker.postMessage({ kind: 'end' });
  await ended;
  clearTimeout(timer);
  await worker.terminate();
}
