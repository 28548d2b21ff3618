import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Simulation } from '../../cli/simulation.ts';
import { buildGuestFromPath } from '../../guests/index.ts';
import { LocalFiles, scenario } from '../../scenarios/index.ts';
import { WasmEngine } from '../../wasm/index.ts';
import { outcomeOf } from './simulate.ts';

const SOURCE = new URL('programs/datagrams.c', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'athanor-datagrams-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('datagrams in C', () => {
  it('are sent, peeked at, received and answered; an empty queue does not block', async () => {
    writeFileSync(join(folder, 'datagrams.c'), readFileSync(SOURCE));
    const module = await buildGuestFromPath(join(folder, 'datagrams.c'));
    writeFileSync(join(folder, 'datagrams.wasm'), module);
    const { def, images } = scenario('datagrams')
      .guest('datagrams', { wasm: 'datagrams.wasm' })
      .network({ latency: '2ms', jitter: '1ms' })
      .node({ name: 'server', guest: 'datagrams' })
      .node({ name: 'client', guest: 'datagrams', args: ['server'], start: '10ms' })
      .build(new LocalFiles(folder));
    const engine = new WasmEngine({});
    const simulation = new Simulation({ scenario: def, images, engine, seed: 1 });
    simulation.runUntil({});
    const { consoles, result } = outcomeOf(simulation.finish());
    simulation.dispose();
    const lengths = [10, 11, 12, 13, 14];
    expect(consoles.server).toBe(
      lengths.map((length) => `4 of ${length} bytes from 10.0.0.2\n`).join(''),
    );
    expect(consoles.client).toBe(
      lengths.map((length, n) => `answer ${n}: ${'abcde'.charAt(n).repeat(length)}\n`).join(''),
    );
    expect(result.nodes.map(({ code }) => code)).toEqual([0, 0]);
    expect(result.notes.filter(({ kind }) => kind === 'marker').length).toBe(2);
  }, 120_000);
});
