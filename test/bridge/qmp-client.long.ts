import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QmpClient } from '../../bridge/index.ts';
import { QMP_COMMANDS } from '../../bridge/qmp/schema.ts';
import { startStockQemu, type StockQemu } from '../support/stock-qemu.ts';

describe('QmpClient and a real QEMU', () => {
  let qemu: StockQemu;
  let client: QmpClient;

  beforeAll(async () => {
    qemu = await startStockQemu(['-M', 'q35', '-m', '16', '-S', '-icount', 'shift=0,sleep=off']);
    client = await QmpClient.connect(qemu.monitor);
  });
  afterAll(async () => {
    client.close();
    await qemu.dispose();
  });

  it('negotiates, and QEMU knows every command of the schema', async () => {
    expect(client.version.qemu.major).toBeGreaterThanOrEqual(7);
    expect(client.outOfBand).toBe(true);
    const known = new Set((await client.execute('query-commands', {})).map(({ name }) => name));
    // The negotiation's own command is no longer offered once it has happened.
    known.add('qmp_capabilities');
    expect(Object.keys(QMP_COMMANDS).filter((name) => !known.has(name))).toEqual([]);
  });

  it('runs, stops, resets and inspects a machine, with the events that follow', async () => {
    expect(await client.execute('query-status', {})).toEqual({
      running: false,
      status: 'prelaunch',
    });
    const events = client.events();
    await client.execute('cont', {});
    await client.execute('stop', {});
    await client.execute('system_reset', {});
    const names: string[] = [];
    for await (const event of events) {
      names.push(event.name);
      if (event.name === 'RESET') break;
    }
    expect(names).toEqual(['RESUME', 'STOP', 'RESET']);
    expect((await client.execute('query-replay', {})).mode).toBe('none');
    expect((await client.execute('query-cpus-fast', {})).length).toBe(1);
    const image = join(qemu.folder, 'memory');
    await client.execute('pmemsave', { val: 0, size: 1024 * 1024, filename: image });
    expect(statSync(image).size).toBe(1024 * 1024);
    const line = { 'command-line': 'info name' };
    expect(await client.execute('human-monitor-command', line)).toBe('');
  });

  it('answers hundreds of calls at once, each with its own answer', async () => {
    const calls = Array.from({ length: 500 }, (_, index) => {
      return index % 2 === 0
        ? client.execute('query-version', {})
        : client.execute('query-cpus-fast', {});
    });
    const answers = await Promise.all(calls);
    expect(answers.every((answer, index) => Array.isArray(answer) === (index % 2 === 1))).toBe(
      true,
    );
  });

  it('says what QEMU refuses, in and out of band', async () => {
    await expect(client.execute('migrate-incoming', { uri: 'tcp:0' })).rejects.toMatchObject({
      code: 'backend/qmp-refused',
    });
    await expect(client.executeOutOfBand('migrate-pause', {})).rejects.toMatchObject({
      code: 'backend/qmp-refused',
    });
    expect(await client.executeOutOfBand('query-yank', {})).toEqual([{ type: 'chardev' }]);
  });

  it('fails open calls when QEMU is killed', async () => {
    const other = await startStockQemu(['-M', 'none', '-S']);
    const lost = await QmpClient.connect(other.monitor);
    const shutdown = lost.nextEvent('SHUTDOWN');
    other.process.kill('SIGKILL');
    await expect(shutdown).rejects.toMatchObject({ code: 'backend/qmp-disconnected' });
    await expect(lost.execute('cont', {})).rejects.toMatchObject({
      code: 'backend/qmp-disconnected',
    });
    await other.dispose();
  });

  it('sees QEMU leave', async () => {
    const shutdown = client.nextEvent('SHUTDOWN');
    await client.execute('quit', {});
    expect((await shutdown).data).toEqual({ guest: false, reason: 'host-qmp-quit' });
    expect(await qemu.ended).toBe(0);
  });
});
