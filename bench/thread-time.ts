import { readdirSync, readFileSync } from 'node:fs';

/**
 * Processor time that the main thread has used so far, in milliseconds. The compilers of V8 work on
 * threads of their own, for seconds after the start of a module of megabytes: their time is part of
 * the process's time, and would count as the guest's. Linux gives each thread's time in
 * nanoseconds; elsewhere the time of the whole process must do.
 */
export function threadTimeMs(): number {
  // The system brings the running thread's count up to date when it is asked for the process's.
  const { user, system } = process.cpuUsage();
  const text = readSchedule();
  if (text === null) return (user + system) / 1000;
  return Number(text.slice(0, text.indexOf(' '))) / 1e6;
}

/** The first number is the time on the processor, in nanoseconds (proc_pid_schedstat). */
function readSchedule(): string | null {
  try {
    return readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1');
  } catch {
    return null;
  }
}

/** Processor time that all threads of another process have used so far, in milliseconds. */
export function processTimeMs(processId: number): number {
  const folder = `/proc/${processId}/task`;
  return readdirSync(folder).reduce((sum, thread) => {
    const text = readFileSync(`${folder}/${thread}/schedstat`, 'latin1');
    return sum + Number(text.slice(0, text.indexOf(' '))) / 1e6;
  }, 0);
}
