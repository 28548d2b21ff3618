/** Adds determinism, counting, suspension and page tracking to a core module. */
export { instrument } from './instrument.ts';
export { explainModule } from './explain.ts';
export type * from './explain.ts';
export * from './layout.ts';
export * from './options.ts';
