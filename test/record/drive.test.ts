import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openBundle } from '../../cli/bundle.ts';
import { SimFolder, type SimResult } from '../cli/sim.ts';

const WORLD = `
name: steps
services:
  s:
    records: { effects: { step: int } }
    operations:
      act: { kind: create, record: effects }
`;

/** Calls with a retry of its own: at most args[0] attempts, then gives up with 3. */
const RETRIER = `
export function* main({ args }) {
  const most = Number(args[0]);
  for (let attempt = 1; attempt <= most; attempt++) {
    const reply = yield { do: 'call', target: 'world.act', args: { step: 1 }, timeout_ms: 200, call: 1 };
    yield { do: 'log', text: attempt + ' ' + reply.status + ' ' + reply.retry_after_ms };
    if (reply.status === 200) return 0;
    yield { do: 'sleep', ms: reply.retry_after_ms > 0 ? reply.retry_after_ms : 50 };
  }
  return 3;
}`;

/** A flow of five steps with a journal: what is done is not done again. */
const FLOW = `
export function* main() {
  const journal = (yield { do: 'read', path: 'journal' }) ?? '';
  for (let step = 1; step <= 5; step++) {
    if (journal.includes('done ' + step + ';')) continue;
    yield { do: 'append', path: 'journal', text: 'running ' + step + ';' };
    const reply = yield { do: 'call', target: 'world.act', args: { step }, timeout_ms: 500 };
    if (reply.status !== 200) return 1;
    yield { do: 'append', path: 'journal', text: 'done ' + step + ';' };
  }
  yield { do: 'event', name: 'flow_status', details: { flow: 'f', status: 'completed' } };
  return 0;
}`;

/** Opens a breaker after three failures in a row. */
const BREAKER = `
export function* main() {
  let failures = 0;
  for (let call = 1; call <= 5; call++) {
    if (failures >= 3) {
      yield { do: 'event', name: 'breaker_open', details: { target: 'world.act' } };
      return 0;
    }
    const reply = yield { do: 'call', target: 'world.act', args: {}, timeout_ms: 100, call };
    failures = reply.status === 200 ? 0 : failures + 1;
  }
  return 0;
}`;

class Driver {
  readonly folder = new SimFolder();

  constructor() {
    this.folder.write('world.yaml', WORLD);
    this.folder.write('retrier.mjs', RETRIER);
    this.folder.write('flow.mjs', FLOW);
    this.folder.write('breaker.mjs', BREAKER);
    this.folder.write('silent.mjs', 'export function* main() { return 7; }');
  }

  async drive(plan: object, more: readonly string[] = []): Promise<SimResult> {
    this.folder.write('p.json', JSON.stringify({ worlds: { world: 'world.yaml' }, ...plan }));
    return this.folder.sim(['drive', 'p.json', ...more]);
  }

  cursor(): unknown {
    return JSON.parse(readFileSync(join(this.folder.path, 'p.cursor.json'), 'utf8'));
  }

  /** The console of a node in the bundle of the last run. */
  async effects(bundle: string): Promise<string> {
    const result = await this.folder.sim(['replay', bundle, '--full']);
    expect(result.exitCode).toBe(0);
    return result.stdout.replaceAll('\\"', '"');
  }
}

const reportOf = (result: SimResult): Readonly<Record<string, unknown>> => {
  return result.records().find(({ type }) => type === 'drive') ?? {};
};

describe('KS-4 KS-5 KS-9: directives', () => {
  test('KS-1, KS-3, KS-6, KS-7, KS-10, KS-11: timeout, 5xx, ok; then the real effect', async () => {
    const driver = new Driver();
    const result = await driver.drive({
      target: 'retrier.mjs',
      args: ['5'],
      faults: { 'world.act': [{ kind: 'timeout' }, { kind: '5xx' }, { kind: 'ok' }] },
      assert: { max_attempts: { 'world.act': 3 }, exit_code: 0 },
    });
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 0, restarts: 0, findings: [] });
    expect(result.exitCode).toBe(0);
    expect(driver.cursor()).toEqual({ 'world.act': 3 });
  });

  test('KS-26: four timeouts against a cap of three are one finding', async () => {
    const result = await new Driver().drive({
      target: 'retrier.mjs',
      args: ['9'],
      faults: { 'world.act': [{ kind: 'timeout', repeat: 4 }] },
      assert: { max_attempts: { 'world.act': 3 } },
    });
    expect(result.exitCode).toBe(2);
    expect(reportOf(result)).toMatchObject({
      ok: false,
      exit_code: 0,
      findings: [
        {
          topic: 'max-attempts',
          detail: 'world.act: a call took 5 attempts, at most 3 are allowed',
        },
      ],
    });
  });

  test.each([
    ['ok', '1 200 0'],
    ['conn', '1 -1 0'],
    ['timeout', '1 -2 0'],
    ['timeout_after', '1 -2 0'],
    ['5xx', '1 503 0'],
    ['429', '1 429 0'],
    ['http', '1 500 0'],
    [{ kind: 'http', status: 418 }, '1 418 0'],
    [{ kind: '429', retry_after_ms: 700 }, '1 429 700'],
    [{ kind: '5xx', status: 599, delay_ms: 150 }, '1 599 0'],
    [{ kind: '5xx', delay_ms: 300 }, '1 -2 0'],
  ])('KS-4, KS-5, KS-9: %j is seen by the target as "%s"', async (directive, line) => {
    const driver = new Driver();
    const faults = { 'world.act': [directive] };
    const result = await driver.drive({ target: 'retrier.mjs', args: ['1'], faults }, [
      '--out',
      'b.athanor',
    ]);
    const replay = await driver.effects('b.athanor');
    expect(replay).toContain(line);
    // Whether the effect ran: only of these two.
    const ran = directive === 'ok' || directive === 'timeout_after';
    expect(replay.includes('"tool":"act"')).toBe(ran);
    expect(reportOf(result)['exit_code']).toBe(directive === 'ok' ? 0 : 3);
  });

  test('KS-8: a target without a queue is untouched', async () => {
    const driver = new Driver();
    const result = await driver.drive({
      target: 'retrier.mjs',
      args: ['1'],
      faults: { 'world.other': [{ kind: 'conn', repeat: 9 }] },
    });
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 0 });
    expect(driver.cursor()).toEqual({ 'world.other': 0 });
  });
});

describe('crash and restart', () => {
  test('KS-12, KS-13, KS-17, KS-22: five steps over two incarnations, each effect once', async () => {
    const driver = new Driver();
    const plan = {
      target: 'flow.mjs',
      faults: { 'world.act': ['ok', 'ok', 'ok', 'crash', 'ok', 'ok'] },
      assert: { flow_status: 'completed', exit_code: 0 },
    };
    const result = await driver.drive(plan, ['--out', 'b.athanor']);
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 0, restarts: 1, findings: [] });
    const trace = await driver.effects('b.athanor');
    const steps = [...trace.matchAll(/"args":\{"step":(\d)\}/g)].map(([, step]) => step);
    expect(steps).toEqual(['1', '2', '3', '4', '5']);
    expect(driver.cursor()).toEqual({ 'world.act': 6 });
  });

  test('KS-15, KS-16: two restarts are three starts; then 137 and a finding', async () => {
    const driver = new Driver();
    const faults = { 'world.act': [{ kind: 'crash', repeat: 9 }] };
    const result = await driver.drive({ target: 'flow.mjs', max_restarts: 2, faults });
    expect(reportOf(result)).toMatchObject({
      exit_code: 137,
      restarts: 2,
      findings: [
        { topic: 'crash-restart', detail: 'still crashing after 2 restarts, the cap is 2' },
      ],
    });
    expect(result.exitCode).toBe(2);
    expect(driver.cursor()).toEqual({ 'world.act': 3 });
  });

  test('KS-18: a stale cursor is gone before the first start, so a second run is the same', async () => {
    const driver = new Driver();
    const plan = { target: 'flow.mjs', faults: { 'world.act': ['crash', 'ok'] } };
    const first = reportOf(await driver.drive(plan));
    writeFileSync(join(driver.folder.path, 'p.cursor.json'), '{"world.act":99}');
    expect(reportOf(await driver.drive(plan))).toEqual(first);
    writeFileSync(join(driver.folder.path, 'p.cursor.json'), '{}');
    await driver.drive({ target: 'none.wasm' });
    expect(existsSync(join(driver.folder.path, 'p.cursor.json'))).toBe(false);
  });

  test('KS-20: with a lease, the restart waits for it and 200 ms more, in virtual time', async () => {
    const ends: number[] = [];
    for (const lease of [undefined, 5_000]) {
      const driver = new Driver();
      const plan = { target: 'flow.mjs', faults: { 'world.act': ['crash'] } };
      const more = lease === undefined ? {} : { flow_lease_ms: lease };
      await driver.drive({ ...plan, ...more }, ['--out', 'b.athanor']);
      ends.push(openBundle(driver.folder.read('b.athanor')).manifest.outcome.endNs);
    }
    expect((ends[1] ?? 0) - (ends[0] ?? 0)).toBe(5_200_000_000 - 1);
  });

  test('KS-14: an exit is no crash, whatever its code', async () => {
    const result = await new Driver().drive({ target: 'silent.mjs' });
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 7, restarts: 0 });
    expect(result.exitCode).toBe(0);
  });
});

describe('KS-28 KS-29 KS-30 KS-31 KS-33 KS-35: grading', () => {
  const timeouts = { 'world.act': [{ kind: '5xx', repeat: 9 }] };

  test('KS-27: breakers that must and must not open', async () => {
    const good = await new Driver().drive({
      target: 'breaker.mjs',
      faults: timeouts,
      assert: { breaker_open: ['world.act'], no_breaker_open: ['world.other'] },
    });
    expect(reportOf(good)).toMatchObject({ ok: true });
    const bad = await new Driver().drive({
      target: 'breaker.mjs',
      faults: timeouts,
      assert: { breaker_open: ['world.other'], no_breaker_open: ['world.act'] },
    });
    expect(reportOf(bad)['findings']).toEqual([
      { level: 'error', topic: 'breaker', detail: 'world.other: the breaker never opened' },
      { level: 'error', topic: 'breaker', detail: 'world.act: the breaker opened' },
    ]);
  });

  test.each([
    [{ max_attempts: { x: 1 } }, ['no-events']],
    [{ breaker_open: ['x'] }, ['no-events', 'breaker']],
    [{ max_attempts: { x: 1 }, breaker_open: ['x'] }, ['no-events', 'breaker']],
    [{ no_breaker_open: ['x'] }, []],
    [{ flow_status: 'completed' }, ['flow-status']],
    [{ exit_code: 0 }, ['exit-code']],
    [{}, []],
  ])('KS-29, KS-30, KS-31, KS-35: nothing seen and %j gives %j', async (wanted, topics) => {
    const result = await new Driver().drive({ target: 'silent.mjs', assert: wanted });
    const findings = reportOf(result)['findings'] as { topic: string }[];
    expect(findings.map(({ topic }) => topic)).toEqual(topics);
    expect(result.exitCode).toBe(topics.length === 0 ? 0 : 2);
  });

  test('KS-32: a target that is never called is a warning, not a silent pass', async () => {
    const result = await new Driver().drive({
      target: 'retrier.mjs',
      args: ['1'],
      assert: { max_attempts: { 'world.wrong': 1 } },
    });
    expect(reportOf(result)).toMatchObject({
      ok: true,
      warnings: [{ topic: 'target-not-seen', detail: 'world.wrong: no call was seen' }],
    });
  });

  test('KS-34: the report in words, and with sorted keys', async () => {
    const driver = new Driver();
    const plan = { target: 'silent.mjs' };
    const text = await driver.drive(plan, ['--format', 'table']);
    expect(text.stdout.split('\n')[0]).toBe('passed — exit 7, 0 restart(s)');
    const bad = await driver.drive({ ...plan, assert: { exit_code: 0 } }, ['--format', 'table']);
    expect(bad.stdout.split('\n')[0]).toBe('found 1 problem(s)');
    const report = reportOf(await driver.drive(plan));
    const keys = Object.keys(report).slice(2);
    expect(keys).toEqual(['exit_code', 'findings', 'ok', 'plan', 'restarts', 'warnings']);
    expect(report).toMatchObject({ plan: 'p.json' });
  });
});

describe('KS-36 KS-37: bad plans', () => {
  test.each([
    ['{', 'error input/drive-plan: p.json is not a valid sim plan (not JSON): '],
    ['[]', 'error input/drive-plan: p.json is not a valid sim plan (plan): it is not a map'],
    ['{}', 'is not a valid sim plan (target): the field is missing'],
    ['{"target":7}', 'is not a valid sim plan (target): it is not text'],
    [
      '{"target":"x","max_restarts":-1}',
      'is not a valid sim plan (max_restarts): -1 is not within',
    ],
    [
      '{"target":"x","faults":{"a.b":[{"kind":"boom"}]}}',
      '(faults.a.b[0].kind): it is not one of ok, conn',
    ],
    [
      '{"target":"x","faults":{"a.b":[{"kind":"ok","repeat":0}]}}',
      '(faults.a.b[0].repeat): 0 is not within',
    ],
    [
      '{"target":"x","assert":{"max_attempts":{"a":0}}}',
      '(assert.max_attempts.a): 0 is not within 1',
    ],
  ])('KS-36, KS-37: %s ends with 1', async (text, said) => {
    const folder = new SimFolder();
    folder.write('p.json', text);
    const result = await folder.sim(['drive', 'p.json']);
    expect(result.stderr).toContain(said);
    expect(result.stderr).toContain('try: ');
    expect(result.exitCode).toBe(1);
  });

  test('KS-37: a plan that is not there', async () => {
    const result = await new SimFolder().sim(['drive', 'none.json']);
    expect(result.stderr).toContain('could not read none.json: there is no such file');
    expect(result.exitCode).toBe(1);
  });

  test('KS-2: unknown fields are ignored, unless strict', async () => {
    const driver = new Driver();
    const plan = { target: 'silent.mjs', note: 'mine', v: 1 };
    expect((await driver.drive(plan)).exitCode).toBe(0);
    const strict = await driver.drive(plan, ['--strict']);
    expect(strict.stderr).toContain('(note): the field is unknown');
    expect(strict.exitCode).toBe(1);
  });

  test('KS-36: a target that is not there is the error of the plain run', async () => {
    const result = await new Driver().drive({ target: 'none.wasm' });
    expect(result.stderr).toContain('cannot read "none.wasm"');
    expect(result.exitCode).toBe(5);
  });

  test('KS-38: a target that cannot be started is exit 1, no crash, and a finding', async () => {
    const driver = new Driver();
    driver.folder.write('odd.wasm', Buffer.from('0061736d01000000', 'hex'));
    const result = await driver.drive({ target: 'odd.wasm' });
    expect(reportOf(result)).toMatchObject({
      exit_code: 1,
      restarts: 0,
      findings: [{ topic: 'spawn' }],
    });
    expect(result.exitCode).toBe(2);
  });
});
