/**
 * `athanor/vitest`: worlds, faults, seeds and minimum pass rates for one's own vitest suite.
 *
 *     import { simTest } from 'athanor/vitest';
 *     const it = simTest({ world: './shop.yaml', faults: 'world', runs: 20 });
 *     it('refunds once', async ({ server, world }) => { … });
 */
export type { FaultTable, Markers } from './markers.ts';
export { simTest, type Fixtures, type SimBody, type SimTest } from './sim-test.ts';
export type { WorldProcess } from './world-process.ts';
export { CallError, type WorldServer } from './world-server.ts';
