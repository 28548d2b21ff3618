/** The engine: pure, synchronous, without host globals. Other folders import it through here. */
export * from './kernel/units.ts';
export * from './kernel/errors.ts';
export * from './kernel/assert.ts';
export * from './kernel/draw.ts';
export * from './kernel/rolling-digest.ts';
export * from './kernel/sha256.ts';
export * from './kernel/utf8.ts';
export * from './kernel/queue.ts';
export * from './kernel/log.ts';
export * from './kernel/stream.ts';
export * from './kernel/decision.ts';
export * from './kernel/event-log.ts';
export * from './kernel/guest.ts';
export * from './plan/scenario.ts';
export type { GuestPort } from './world/port.ts';
