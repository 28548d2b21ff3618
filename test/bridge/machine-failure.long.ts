import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Machine } from '../../bridge/index.ts';
import { testOptions } from '../support/machine-fixture.ts';

/** Processes of this test's machines: QEMU with our doorbell, started by us or forked from such. */
function machineProcesses(kernel: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      return words.includes(kernel) && words.includes(MARK);
    } catch {
      return false;
    }
  });
}

const MARK = `console=ttyS0 quiet panic=-1 reboot=t rdinit=/init busy mark=${process.pid}`;

describe('a machine that goes wrong', () => {
  const started: Machine[] = [];
  const start = async (changes = {}): Promise<Machine> => {
    const machine = await Machine.start(await testOptions({ commandLine: MARK, ...changes }));
    started.push(machine);
    return machine;
  };
  afterEach(async () => {
    for (const machine of started.splice(0)) await machine.close();
  });

  it('whose process is killed at any moment is one error with exit code 4, and no orphan', async () => {
    for (const delayMs of [0, 3, 40, 170]) {
      const machine = await start();
      const child = await machine.fork();
      started.push(child);
      const running = machine.run(60_000_000_000);
      const outcome = expect(running).rejects.toMatchObject({
        code: 'backend/machine-ended',
        exitCode: 4,
        message: expect.stringContaining('SIGKILL') as string,
      });
      await sleep(delayMs);
      process.kill(machine.processId, 'SIGKILL');
      await outcome;
      await expect(machine.hash()).rejects.toMatchObject({ code: 'backend/machine-ended' });
      expect((await child.run(1000)).reason).toBe('limit');
      await child.close();
    }
    await sleep(50);
    expect(machineProcesses(started[0]?.options.kernel ?? '')).toEqual([]);
  });

  it('that does not answer in time is ended', async () => {
    const machine = await start();
    await expect(machine.run(3_600_000_000_000, [], 300)).rejects.toMatchObject({
      code: 'backend/timeout',
      exitCode: 4,
    });
    expect(machineProcesses(machine.options.kernel ?? '')).toEqual([]);
  });

  it('says what QEMU said when it cannot start', async () => {
    await expect(start({ kernel: '/nonexistent/kernel' })).rejects.toMatchObject({
      code: 'backend/machine-ended',
      message: expect.stringContaining('/nonexistent/kernel') as string,
    });
  });

  it('reports power-off and reset with their time, and can be switched on again', async () => {
    const machine = await start({
      commandLine: MARK.replace('busy', 'reset'),
      nics: [],
      disks: [],
    });
    const stop = await machine.run(4_000_000_000, ['reset']);
    expect(stop.events.at(-1)).toMatchObject({ kind: 'reset', byGuest: true, atNs: stop.atNs });
    await machine.powerLoss(stop.atNs + 500_000_000);
    const off = await machine.run(stop.atNs + 500_000_000);
    expect(off.instructions).toBe(stop.instructions);
    const again = await machine.run(stop.atNs + 4_500_000_000, ['reset']);
    expect(again.events.at(-1)).toMatchObject({ kind: 'reset', byGuest: true });
  });
});
