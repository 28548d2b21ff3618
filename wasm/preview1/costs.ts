/**
 * What effects take, in virtual nanoseconds: about what a server's kernel takes for them without
 * waiting. Every call takes some time, so that a loop of calls makes time pass.
 */
export const COST_NS = {
  /** Reading a clock, a resolution, arguments: no system call on usual systems. */
  clock: 20,
  /** Giving up the processor. */
  yield: 100,
  /** A call that only looks at descriptors. */
  descriptor: 200,
  /** A call on files, consoles or sockets. */
  file: 1_000,
  /** Making data durable. */
  synchronise: 100_000,
} as const;

/** Bytes that move in one nanosecond on top: 4 GB a second. */
export const BYTES_PER_NS = 4;

/** What it takes to move this many bytes. */
export function bytesNs(count: number): number {
  return Math.floor(count / BYTES_PER_NS);
}
