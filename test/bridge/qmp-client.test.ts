import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { QmpClient, type QmpOptions } from '../../bridge/index.ts';
import { SimError } from '../../sim/index.ts';
import {
  GREETING,
  monitorServer,
  serveCommands,
  type MonitorServer,
  type Sent,
} from '../support/monitor-server.ts';

const open: { readonly server: MonitorServer; client: QmpClient | null }[] = [];

afterEach(async () => {
  for (const { server, client } of open.splice(0)) {
    client?.close();
    await server.close();
  }
});

type Serve = Parameters<typeof monitorServer>[0];

async function clientOf(serve: Serve, options: QmpOptions = {}): Promise<QmpClient> {
  const server = await monitorServer(serve);
  const entry: (typeof open)[number] = { server, client: null };
  open.push(entry);
  const socket = connect({ host: '127.0.0.1', port: server.port });
  entry.client = await QmpClient.over(socket, { timeoutMs: 2000, ...options });
  return entry.client;
}

/** The code and message that a promise fails with. */
async function failure(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => 'no error',
    (reason: unknown) => reason,
  );
  return error instanceof SimError ? `${error.code}: ${error.message}` : String(error);
}

const STATUS = { running: true, status: 'running' };
const stamp = { timestamp: { seconds: 1, microseconds: 5 } };

describe('QmpClient', () => {
  it('greets, takes out-of-band execution, and matches answers by id in any order', async () => {
    const log: Sent[] = [];
    const held: (() => void)[] = [];
    const client = await clientOf((socket) => {
      serveCommands(socket, (command, write) => {
        log.push(command);
        if (command.execute === 'qmp_capabilities') return write({ return: {}, id: command.id });
        held.push(() => write({ return: STATUS, id: command.id }));
        if (held.length === 3) for (const answer of held.reverse()) answer();
      });
    });
    const statuses = await Promise.all([1, 2, 3].map(() => client.execute('query-status', {})));
    expect(statuses).toEqual([STATUS, STATUS, STATUS]);
    expect(client.version.qemu).toEqual({ major: 10, minor: 0, micro: 2 });
    expect(client.outOfBand).toBe(true);
    expect(log[0]).toEqual({ execute: 'qmp_capabilities', arguments: { enable: ['oob'] }, id: 1 });
  });

  it('keeps at most eight commands in flight, and lets an out-of-band one pass them', async () => {
    let inFlight = 0;
    let most = 0;
    const held: ((message: object) => void)[] = [];
    const ids: number[] = [];
    const client = await clientOf((socket) => {
      serveCommands(socket, (command, write) => {
        if (command.execute === 'qmp_capabilities') return write({ return: {}, id: command.id });
        if (command['exec-oob'] !== undefined) return write({ return: [], id: command.id });
        most = Math.max(most, ++inFlight);
        ids.push(command.id);
        held.push(write);
      });
    });
    const calls = Array.from({ length: 30 }, () => client.execute('stop', {}));
    expect(await client.executeOutOfBand('query-yank', {})).toEqual([]);
    expect(most).toBe(8);
    const answerAll = setInterval(() => {
      const write = held.shift();
      if (write === undefined) return;
      inFlight--;
      write({ return: {}, id: ids.shift() });
    }, 1);
    await Promise.all(calls);
    clearInterval(answerAll);
    expect(most).toBe(8);
  });

  it('gives events to each subscriber in order, known ones with their data', async () => {
    const client = await clientOf((socket) => {
      serveCommands(socket, (command, write) => {
        write({ return: {}, id: command.id });
        if (command.execute !== 'system_reset') return;
        write({
          event: 'RESET',
          data: { guest: false, reason: 'host-qmp-system-reset' },
          ...stamp,
        });
        write({ event: 'VNC_CONNECTED', data: { a: 1 }, ...stamp });
        write({ event: 'STOP', ...stamp });
      });
    });
    const events = client.events();
    const stopped = client.nextEvent('STOP');
    await client.execute('system_reset', {});
    const first = [await events.next(), await events.next()].map(({ value }): unknown => value);
    expect(first).toEqual([
      {
        name: 'RESET',
        data: { guest: false, reason: 'host-qmp-system-reset' },
        hostMicroseconds: 1000005,
      },
      { name: 'other', event: 'VNC_CONNECTED', data: { a: 1 }, hostMicroseconds: 1000005 },
    ]);
    expect((await stopped).name).toBe('STOP');
  });

  it('says what QEMU refused, and goes on', async () => {
    const client = await clientOf((socket) => {
      serveCommands(socket, (command, write) => {
        if (command.execute !== 'cont') return write({ return: {}, id: command.id });
        write({ error: { class: 'GenericError', desc: 'not now' }, id: command.id });
      });
    });
    expect(await failure(client.execute('cont', {}))).toBe(
      'backend/qmp-refused: QEMU refused cont: GenericError: not now',
    );
    expect(await client.execute('stop', {})).toEqual({});
  });

  it('gives up after its time, and drops the late answer', async () => {
    const late: (() => void)[] = [];
    const client = await clientOf((socket) => {
      serveCommands(socket, (command, write) => {
        if (command.execute !== 'query-status') {
          for (const answer of late.splice(0)) answer();
          return write({ return: {}, id: command.id });
        }
        late.push(() => write({ return: STATUS, id: command.id }));
      });
    });
    expect(await failure(client.execute('query-status', {}, { timeoutMs: 20 }))).toMatch(
      /^backend\/qmp-timeout/,
    );
    expect(await client.execute('stop', {})).toEqual({});
    expect(await client.execute('stop', {})).toEqual({});
  });

  const BROKEN: readonly (readonly [string, string, RegExp])[] = [
    ['no JSON', 'hello\r\n', /qmp-protocol.*not JSON/],
    ['no UTF-8', '\u00ff\u00fe\n', /qmp-protocol.*not UTF-8/],
    ['an unknown form', '{"ready":true}\n', /qmp-protocol.*unknown form/],
    ['an unknown id', '{"return":{},"id":77}\n', /qmp-protocol.*no command of ours/],
    ['an answer of another form', '{"return":{"status":3},"id":2}\n', /query-status has another/],
    [
      'an event of another form',
      '{"event":"RESET","timestamp":{"seconds":1,"microseconds":2}}\n',
      /RESET/,
    ],
    ['an endless message', 'x'.repeat(70_000), /qmp-limit.*65536/],
    ['the end', '', /qmp-disconnected/],
  ];
  it.each(BROKEN)(
    'fails every open call and event reader on %s',
    async (_what, bytes, expected) => {
      const client = await clientOf(
        (socket) => {
          serveCommands(socket, (command, write) => {
            if (command.execute === 'qmp_capabilities') write({ return: {}, id: command.id });
            else if (bytes === '') socket.end();
            else socket.write(bytes, 'latin1');
          });
        },
        { messageByteCountMax: 65536 },
      );
      const waiting = failure(client.nextEvent('STOP'));
      const calls = [
        failure(client.execute('query-status', {})),
        failure(client.execute('stop', {})),
      ];
      for (const text of [...(await Promise.all(calls)), await waiting])
        expect(text).toMatch(expected);
      expect(await failure(client.execute('stop', {}))).toMatch(expected);
      expect(await failure(client.events().next())).toMatch(expected);
    },
  );

  it('does not let events pile up unread', async () => {
    const client = await clientOf(
      (socket) => {
        serveCommands(socket, (command, write) => {
          if (command.execute === 'stop')
            for (let n = 0; n < 20; n++) write({ event: 'STOP', ...stamp });
          write({ return: {}, id: command.id });
        });
      },
      { eventCountMax: 10 },
    );
    const events = client.events();
    await client.execute('stop', {});
    expect(await failure(events.next())).toMatch(/^backend\/qmp-limit/);
    expect((await events.next()).done).toBe(true);
  });

  const NO_GREETING: readonly (readonly [string, string, RegExp])[] = [
    ['garbage', 'SSH-2.0\r\n', /qmp-protocol/],
    ['another document', '{"return":{}}\n', /qmp-protocol.*no greeting/],
    ['two messages at once', `${GREETING}{"return":{},"id":1}\n`, /qmp-protocol.*before/],
    ['silence', '', /qmp-timeout.*greeting/],
  ];
  it.each(NO_GREETING)('refuses a server that greets with %s', async (_what, bytes, expected) => {
    const made = clientOf((socket) => void socket.write(bytes), { timeoutMs: 100 });
    expect(await failure(made)).toMatch(expected);
  });

  it('says that nobody listens', async () => {
    expect(await failure(QmpClient.connect('/nowhere/at/all'))).toMatch(
      /^backend\/qmp-disconnected/,
    );
  });
});
