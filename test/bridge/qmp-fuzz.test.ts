import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { QmpClient } from '../../bridge/index.ts';
import { drawUniform, SimError, streamKey } from '../../sim/index.ts';
import { GREETING, monitorServer } from '../support/monitor-server.ts';

const RUNS = 200;

const PIECES = [
  GREETING,
  '{"return":{},"id":1}\r\n',
  '{"return":{},"id":2}\r\n',
  '{"return":{"running":true,"status":"running"},"id":3}\r\n',
  '{"return":[{"cpu-index":0,"thread-id":1,"qom-path":"/"}],"id":4}\r\n',
  '{"error":{"class":"GenericError","desc":"no"},"id":2}\r\n',
  '{"event":"STOP","timestamp":{"seconds":1,"microseconds":2}}\r\n',
  '{"event":"RESET","data":{"guest":true,"reason":"x"},"timestamp":{"seconds":1,"microseconds":2}}\n',
  '{"error":{"class":"GenericError","desc":"JSON parse error"}}\r\n',
  '{"return":{"a":[[[[[[[[1]]]]]]]]},"id":1e99}\n',
  '[]\n',
  '\n',
  '\0',
];

/** Numbers that depend on `run` alone. */
function draws(run: number): (below: number) => number {
  const key = streamKey(run, 'qmp-fuzz');
  let ordinal = 0;
  return (below) => drawUniform(key, ordinal++, below);
}

/**
 * What the server of a run says at each turn: the greeting, the answer to the negotiation, then
 * anything. Bytes are damaged, most often in the last; chunks are of odd sizes.
 */
function transcript(draw: (below: number) => number): Buffer[][] {
  const rest = Array.from({ length: draw(8) }, () => PIECES[draw(PIECES.length)] as string);
  const turns = [GREETING, PIECES[1] as string, rest.join('')].map((text) => Buffer.from(text));
  const damaged = draw(3) === 0 ? draw(3) : 2;
  const bytes = turns[damaged] as Buffer;
  for (let left = draw(4); left > 0 && bytes.length > 0; left--) {
    bytes[draw(bytes.length)] = draw(256);
  }
  return turns.map((turn) => {
    const chunks: Buffer[] = [];
    for (let at = 0; at < turn.length;) {
      const size = 1 + draw(1 + draw(200));
      chunks.push(turn.subarray(at, at + size));
      at += size;
    }
    return chunks;
  });
}

it(`ends every call with an answer or a typed error, over ${RUNS} hostile servers`, async () => {
  let run = 0;
  const outcomes = new Set<string>();
  const server = await monitorServer((socket) => {
    const turns = transcript(draws(run));
    const speak = (): void => {
      for (const chunk of turns.shift() ?? []) socket.write(chunk);
      if (turns.length === 0 && run % 3 === 0) socket.end();
    };
    speak();
    socket.on('data', speak);
  });
  const record = async (promise: Promise<unknown>): Promise<void> => {
    await promise.then(
      () => outcomes.add('answer'),
      (error: unknown) => outcomes.add(error instanceof SimError ? error.code : String(error)),
    );
  };
  for (; run < RUNS; run++) {
    const socket = connect({ host: '127.0.0.1', port: server.port });
    const made = QmpClient.over(socket, { timeoutMs: 20, messageByteCountMax: 4096 });
    await record(made);
    const client = await made.catch(() => null);
    if (client === null) continue;
    const calls = [client.execute('stop', {}), client.execute('query-status', {})];
    await Promise.all([...calls.map(record), record(client.execute('query-cpus-fast', {}))]);
    client.close();
    await record(client.nextEvent('STOP'));
  }
  await server.close();
  expect([...outcomes].sort()).toEqual([
    'answer',
    'backend/qmp-disconnected',
    'backend/qmp-protocol',
    'backend/qmp-refused',
    'backend/qmp-timeout',
  ]);
});
