import { spawn } from 'node:child_process';

const PERIOD_MS = 7;

/** Keeps so many cores of the host busy, until the returned function is called. */
export function keepBusy(count: number): () => void {
  const hogs = Array.from({ length: count }, () => {
    return spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
  });
  return () => {
    for (const hog of hogs) hog.kill('SIGKILL');
  };
}

/**
 * Makes the host as unfair to a process as hosts are: others keep every core busy, and the process
 * is stopped and continued at odd moments. Until the returned function is called.
 */
export function disturbProcess(processId: number): () => void {
  const rest = keepBusy(2);
  let stopped = false;
  const timer = setInterval(() => {
    stopped = !stopped;
    process.kill(processId, stopped ? 'SIGSTOP' : 'SIGCONT');
  }, PERIOD_MS);
  return () => {
    clearInterval(timer);
    process.kill(processId, 'SIGCONT');
    rest();
  };
}
