#!/usr/bin/env node
import { packageVersion } from './version.ts';

const args = process.argv.slice(2);
if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  process.stdout.write(`${packageVersion()}\n`);
} else {
  const [{ runCommandLine }, { processHost }, { ignoreForeignRejections }] = await Promise.all([
    import('./program.ts'),
    import('./host.ts'),
    import('./foreign-rejections.ts'),
  ]);
  ignoreForeignRejections();
  // Whoever reads our output may close it early, as `head` does: that is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  process.exitCode = await runCommandLine(args, processHost());
}
