/**
 * Keeps the process alive where a promise of a script was rejected and nobody waited for it: that is the script's own
 * affair (see suite/lost-rejections.ts). One of ours is a defect and ends the process, as ever.
 */
export function ignoreForeignRejections(): void {
  process.on('unhandledRejection', (reason, promise) => {
    if (!isForeign(promise)) throw reason;
  });
}

/** Whether a promise is of another realm than this code. */
export function isForeign(promise: unknown): boolean {
  return !(promise instanceof Promise);
}
