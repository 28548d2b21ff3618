import { spawn } from 'node:child_process';
import { packagePath } from './paths.ts';

/** Runs this Node with arguments to its end; throws unless it exits with `exitCode`. */
export function runNode(args: readonly string[], exitCode = 0): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    child.on('error', reject);
    child.on('exit', (code) => {
      if (code === exitCode) resolve();
      else reject(new Error(`node ${args.join(' ')} ended with ${code}`));
    });
  });
}

/** Runs the command `sim` in a process of its own. */
export function runSim(args: readonly string[], exitCode = 0): Promise<void> {
  return runNode([packagePath('dist/cli/main.js'), ...args], exitCode);
}
