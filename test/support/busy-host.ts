import { spawn, type ChildProcess } from 'node:child_process';

const PERIOD_MS = 7;

/**
 * Makes the host as unfair to a process as hosts are: others keep every core busy, and the process
 * is stopped and continued at odd moments. Until the returned function is called.
 */
export function disturbProcess(processId: number, hogCount = 2): () => void {
  const hogs: ChildProcess[] = Array.from({ length: hogCount }, () => {
    return spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
  });
  let stopped = false;
  const timer = setInterval(() => {
    stopped = !stopped;
    process.kill(processId, stopped ? 'SIGSTOP' : 'SIGCONT');
  }, PERIOD_MS);
  return () => {
    clearInterval(timer);
    process.kill(processId, 'SIGCONT');
    for (const hog of hogs) hog.kill('SIGKILL');
  };
}
