import { describe, expect, it } from 'vitest';
import { Machine } from '../../bridge/index.ts';
import type { MachineEvent } from '../../bridge/index.ts';
import { disturbProcess } from '../support/busy-host.ts';
import { testOptions } from '../support/machine-fixture.ts';

const MS = 1_000_000;
const TIMES = 3;

/** Runs a machine to `untilNs` on a busy host; what it did and what became of it, and its end. */
async function disturbed(
  machine: Machine,
  run: (machine: Machine) => Promise<readonly MachineEvent[]>,
): Promise<unknown> {
  const calm = disturbProcess(machine.processId);
  try {
    const events = await run(machine);
    const { nowNs, instructions } = machine;
    return { events, nowNs, instructions, state: await machine.hash() };
  } finally {
    calm();
    await machine.close();
  }
}

describe('whatever the host does meanwhile', () => {
  it('a machine that powers itself off ends at that instruction (CR-115)', async () => {
    const commandLine = 'console=ttyS0 quiet panic=-1 rdinit=/init off';
    const options = await testOptions({ commandLine, nics: [], disks: [] });
    const whole = await Machine.start(options);
    const { reason, atNs } = await whole.run(20_000 * MS);
    await whole.close();
    expect(reason).toBe('off');
    const nearlyThere = await Machine.start(options);
    await nearlyThere.run(atNs - 1);
    const results: unknown[] = [];
    for (let time = 0; time < TIMES; time++) {
      const twin = await nearlyThere.fork();
      results.push(
        await disturbed(twin, async (machine) => {
          const { events } = await machine.run(atNs + 1000 * MS);
          expect(machine.nowNs).toBe(atNs);
          return events;
        }),
      );
    }
    await nearlyThere.close();
    for (const result of results) expect(result).toEqual(results[0]);
  });

  it('frames that are heard later have the time of the instruction that sent them', async () => {
    const options = await testOptions({ disks: [] });
    const parent = await Machine.start(options);
    await parent.run(1_700 * MS);
    const results: unknown[] = [];
    for (let time = 0; time < TIMES; time++) {
      const twin = await parent.fork();
      results.push(
        await disturbed(twin, async (machine) => {
          const heard: MachineEvent[] = [];
          // Nothing comes back in less than two milliseconds, so the machine is heard that often.
          for (const endNs = machine.nowNs + 40 * MS; machine.nowNs < endNs;) {
            const { events } = await machine.run(machine.nowNs + 2 * MS);
            heard.push(...events);
            for (const event of events) {
              if (event.kind !== 'frame') continue;
              machine.deliverFrame(0, event.atNs + 2 * MS, event.bytes);
            }
          }
          expect(heard.filter(({ kind }) => kind === 'frame').length).toBeGreaterThan(5);
          return heard;
        }),
      );
    }
    await parent.close();
    for (const result of results) expect(result).toEqual(results[0]);
  });
});
