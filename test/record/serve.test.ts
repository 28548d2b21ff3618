import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MESSAGE_BYTES_MAX } from '../../cli/record/serve-stdio.ts';
import { HTTP_BODY_BYTES_MAX } from '../../sim/index.ts';
import { SimFolder } from '../cli/sim.ts';
import { HttpProcess, inFolder, readState, SIM, ToolClient } from './served.ts';

const TIMEOUT_PROFILE = 'payments.issue_refund: { errors: { timeout: 1 } }\n';

describe('MCP on the standard streams', () => {
  test('FH-17, FH-18, FH-20, FH-22, FH-24: one tool an operation, with its schema, and nothing else', async () => {
    const client = await ToolClient.spawn(['shop']);
    const tools = await client.tools();
    expect(tools.map(({ name }) => name)).toEqual([
      'get_order',
      'list_orders',
      'update_order',
      'create_return',
      'list_refunds',
      'issue_refund',
    ]);
    expect(JSON.stringify(tools)).not.toMatch(/fault|fake|athanor|simulat/i);
    const schema = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema;
    expect(schema('get_order')).toMatchObject({ required: ['id'] });
    expect(schema('list_orders')?.properties).toMatchObject({
      status: { type: 'string', enum: ['paid', 'shipped', 'delivered', 'returned'] },
    });
    expect(schema('issue_refund')).toMatchObject({ required: ['order', 'amount_cents'] });
    const order = await client.call('get_order', { id: 1 });
    expect(JSON.parse(order.text)).toMatchObject({ id: 1 });
    expect(await client.call('get_order', { id: 99 })).toEqual({
      isError: true,
      text: 'there is no orders with id 99',
    });
    expect(await client.call('update_order', { id: 1, status: 'lost' })).toMatchObject({
      isError: true,
      text: 'status: expected one of paid, shipped, delivered, returned',
    });
    expect(await client.call('no_such_tool')).toMatchObject({ isError: true });
    await client.close();
  });

  test('FH-21, FH-23, FH-31: what failed after it was done is in the state file', () =>
    inFolder(async (folder) => {
      const state = join(folder, 'state.json');
      const trace = join(folder, 'trace.jsonl');
      const profile = join(folder, 'profile.yaml');
      writeFileSync(profile, TIMEOUT_PROFILE);
      const client = await ToolClient.spawn([
        'shop',
        '--faults',
        profile,
        '--state-file',
        state,
        '--trace',
        trace,
        '--run-index',
        '4',
      ]);
      expect(readState(state)).toMatchObject({ revision: 0, calls: 0, run: 4 });
      expect(await client.call('issue_refund', { order: 1, amount_cents: 1 })).toEqual({
        isError: true,
        text: 'the request timed out',
      });
      expect(readState(state)).toMatchObject({
        revision: 1,
        calls: 1,
        trace: 'issue_refund!timeout',
        tables: { refunds: [{ id: 1, order: 1 }] },
      });
      await client.call('get_order', { id: 99 });
      expect(readState(state)).toMatchObject({
        calls: 2,
        trace: 'issue_refund!timeout → get_order!error',
      });
      const lines = readFileSync(trace, 'utf8').trimEnd().split('\n');
      expect(lines).toHaveLength(2);
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({ run: 4, fault: 'timeout', world_rev: 1 });
      await client.close();
      expect(readdirSync(folder).sort()).toEqual(['profile.yaml', 'state.json', 'trace.jsonl']);
    }));

  test('garbage is left out and told, concurrent calls are answered, leaving ends it with 0', async () => {
    const child = spawn(process.execPath, [SIM, 'world', 'serve', 'shop']);
    let out = '';
    let errors = '';
    child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
    child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()));
    const hello = {
      protocolVersion: '2025-03-26',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    const send = (message: object): void => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    };
    child.stdin.write('garbage\n{"jsonrpc":"1.0"}\n\u0000\u0001\n[]\n');
    send({ id: 'hello', method: 'initialize', params: hello });
    send({ method: 'notifications/initialized' });
    for (let id = 0; id < 200; id++) {
      const args = { name: 'get_order', arguments: { id: (id % 20) + 1 } };
      send({ id, method: 'tools/call', params: args });
    }
    send({ id: 'odd', method: 'tools/call', params: { name: 7 } });
    while (!out.includes('"odd"') || (out.match(/\n/g) ?? []).length < 202) {
      await once(child.stdout, 'data');
    }
    const answers = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: unknown });
    expect(new Set(answers.map(({ id }) => id)).size).toBe(202);
    expect(errors.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^a message was left out: .*garbage.* is not valid JSON/),
      'a message was left out: it is no message of JSON-RPC 2.0',
      expect.stringMatching(/^a message was left out: .* is not valid JSON/),
      'a message was left out: it is no message of JSON-RPC 2.0',
    ]);
    // It leaves in the middle of a message.
    child.stdin.end('{"jsonrpc":"2.0","id":9,"meth');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('FH-23: clients that leave in mid-call, and a kill, leave a state that is whole', () =>
    inFolder(async (folder) => {
      const state = join(folder, 'state.json');
      const child = spawn(process.execPath, [SIM, 'world', 'serve', 'shop', '--state-file', state]);
      child.stdin.on('error', () => undefined);
      const send = (message: object): void => {
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      };
      const clientInfo = { name: 'x', version: '1' };
      const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
      send({ id: 'hello', method: 'initialize', params });
      send({ method: 'notifications/initialized' });
      const args = { name: 'issue_refund', arguments: { order: 3, amount_cents: 1 } };
      for (let id = 0; id < 300; id++) send({ id, method: 'tools/call', params: args });
      // Whenever it is read while calls come in: a whole document, in which all agree.
      const seen = new Set<number>();
      let answered = 0;
      while (answered < 100) {
        const [bytes] = (await once(child.stdout, 'data')) as [Buffer];
        answered += bytes.toString().split('\n').length - 1;
        seen.add(checkState(state));
      }
      child.kill('SIGKILL');
      await once(child, 'exit');
      seen.add(checkState(state));
      expect(Math.max(...seen)).toBeGreaterThanOrEqual(99);
    }));

  test('a message without an end is refused with its limit', async () => {
    const child = spawn(process.execPath, [SIM, 'world', 'serve', 'shop']);
    let errors = '';
    child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()));
    child.stdin.on('error', () => undefined);
    const piece = Buffer.alloc(1024 * 1024, 'a');
    for (let sent = 0; sent <= MESSAGE_BYTES_MAX; sent += piece.length) child.stdin.write(piece);
    expect(await once(child, 'exit')).toEqual([5, null]);
    expect(errors).toContain('error input/limit: a message of the client has more than 4194304');
    expect(errors).toContain('try: send smaller messages');
  });
});

describe('HTTP', () => {
  let server: HttpProcess;
  beforeAll(async () => {
    server = await HttpProcess.start(['shop']);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });

  test('FH-21, FH-22: MCP over streamable HTTP', async () => {
    const client = await ToolClient.connect(`${server.url}/mcp`);
    expect(await client.tools()).toHaveLength(6);
    expect(JSON.parse((await client.call('get_order', { id: 2 })).text)).toMatchObject({ id: 2 });
    await client.close();
  });

  test('plain calls, JSON-RPC, and what there is', async () => {
    const { status, text } = await server.post('/get_order', '{"id":1}');
    expect([status, JSON.parse(text)]).toMatchObject([200, { id: 1 }]);
    const rpc = await server.post(
      '/rpc',
      '{"jsonrpc":"2.0","id":5,"method":"get_order","params":{"id":1}}',
    );
    expect(JSON.parse(rpc.text)).toMatchObject({ jsonrpc: '2.0', id: 5, result: { id: 1 } });
    const all = (await (await fetch(server.url)).json()) as { operations: unknown[] };
    expect(all.operations).toHaveLength(6);
  });

  test.each([
    ['/get_order', '{"id":99}', 404, 'there is no orders with id 99'],
    ['/get_order', '{', 400, 'the body is no JSON'],
    ['/get_order', '[1]', 400, 'the body is no JSON object'],
    ['/get_ordre', '{}', 404, 'there is no operation'],
    ['/issue_refund', '{"order":1,"amount_cents":-5}', 422, 'a refund is at least one cent'],
    ['/rpc', '{', 200, '-32700'],
    ['/rpc', '[]', 200, '-32600'],
    ['/rpc', '{"jsonrpc":"2.0","id":1,"method":"x"}', 200, '-32601'],
    ['/rpc', '{"jsonrpc":"2.0","id":1,"method":"get_order","params":[1]}', 200, '-32602'],
    ['/mcp', '{', 400, '-32700'],
    ['/mcp', '{"a":1}', 406, 'Not Acceptable'],
  ])('POST %s with %s is %i: %s', async (path, body, status, said) => {
    const answer = await server.post(path, body);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(said);
  });

  test('a body that is too long is refused with its limit', async () => {
    for (const path of ['/get_order', '/mcp']) {
      const answer = await server
        .post(path, Buffer.alloc(HTTP_BODY_BYTES_MAX + 1, 'a'))
        .catch(() => null);
      // The server may close while the client still writes.
      if (answer !== null) expect(answer.status).toBe(413);
    }
    expect((await server.post('/get_order', '{"id":1}')).status).toBe(200);
  });

  test('garbage and clients that leave in the middle harm nobody', async () => {
    const { port } = new URL(server.url);
    for (const bytes of [
      'garbage\r\n\r\n',
      'POST /issue_refund HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"order":1',
      `GET / HTTP/1.1\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
    ]) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(bytes);
      await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();
    }
    const refunds = await server.post('/list_refunds', '{}');
    expect(refunds).toEqual({ status: 200, text: '[]' });
  });

  test('a hundred calls at once are answered, each in full', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        server.post('/get_order', `{"id":${(index % 20) + 1}}`),
      ),
    );
    answers.forEach(({ text }, index) => {
      expect(JSON.parse(text)).toMatchObject({ id: (index % 20) + 1 });
    });
  });
});

/** Reads a state whose rows, revision and calls must agree: how many refunds there are. */
function checkState(path: string): number {
  const { calls, revision, tables } = readState(path);
  const refunds = tables['refunds']?.length ?? 0;
  expect([revision, calls]).toEqual([refunds, refunds]);
  return refunds;
}

describe('bad input', () => {
  test.each([
    [['world', 'serve', 'nothing.yaml'], 5, 'no file and no built-in world'],
    [['world', 'serve', 'shop', '--faults', 'nothing.yaml'], 5, 'cannot read "nothing.yaml"'],
    [['world', 'serve', 'plain.yaml', '--faults', 'world'], 64, 'has no block "faults"'],
    [['world', 'serve', 'shop', '--port', '1'], 64, '--host and --port are about HTTP'],
    [['world', 'check', 'broken.yaml'], 5, 'broken.yaml:1:7'],
    [['world', 'serve', 'shop', '--state-file', 'plain.yaml/x.json'], 5, 'cannot write "x.json"'],
  ])('%j ends with %i', async (args, exitCode, said) => {
    const folder = new SimFolder();
    folder.write('plain.yaml', 'name: plain\nservices: {}\n');
    folder.write('broken.yaml', 'name: plain: x\n');
    const result = await folder.sim(args);
    expect(result.stderr).toContain(said);
    expect(result.exitCode).toBe(exitCode);
  });

  test('sim world check says what a world has', async () => {
    const result = await new SimFolder().sim(['world', 'check', 'shop', '--format', 'table']);
    expect(result.stdout).toContain('shop is a sound world, seed 10');
    expect(result.stdout).toMatch(
      /operation +payments.issue_refund +custom\(order, amount_cents, key\)/,
    );
  });
});
