import { describe, expect, test } from 'vitest';
import {
  FAULT_KINDS,
  MILLION,
  NS_PER_S,
  OverrideSource,
  SimError,
  type FaultKind,
  type FaultProfile,
} from '../../sim/index.ts';
import { builtinService, serviceOf, SMALL_WORLD, worldOf } from './worlds.ts';

const def = worldOf(SMALL_WORLD);

function always(kind: FaultKind): FaultProfile {
  return { default: { errors: { [kind]: MILLION } } };
}

describe('FH-27 FH-28 FH-29 FH-30: what each kind of fault does to the world', () => {
  test('FH-28: timeout runs the operation, then fails', () => {
    const { call, service, trace } = serviceOf(def, { faults: always('timeout') });
    const outcome = call('create_ticket', { state: 'open' });
    expect(outcome).toMatchObject({ kind: 'fault', fault: 'timeout' });
    expect(service.world.revision).toBe(1);
    expect(service.world.table('tickets').count).toBe(11);
    expect(trace.events).toMatchObject([{ fault: 'timeout', ok: false, world_rev: 1 }]);
  });

  test.each(['http_500', 'http_429', 'not_found'] as const)(
    'FH-29: %s rejects before the operation runs',
    (kind) => {
      const { call, service } = serviceOf(def, { faults: always(kind) });
      expect(call('create_ticket')).toMatchObject({
        kind: 'fault',
        fault: kind,
        retryAfterSeconds: kind === 'http_429' ? 1 : 0,
      });
      expect(service.world.revision).toBe(0);
    },
  );

  test.each(['empty_result', 'malformed_json'] as const)(
    'FH-30: %s corrupts the answer and does not run the operation',
    (kind) => {
      const { call, service } = serviceOf(def, { faults: always(kind) });
      expect(call('create_ticket')).toMatchObject({ kind: 'fault', fault: kind, empty: null });
      expect(call('list_tickets')).toMatchObject({ kind: 'fault', fault: kind, empty: [] });
      expect(service.world.revision).toBe(0);
    },
  );

  test('FH-27: these six kinds, in this order', () => {
    expect(FAULT_KINDS.join(' ')).toBe(
      'timeout http_500 http_429 not_found empty_result malformed_json',
    );
  });
});

describe('rules', () => {
  test('FH-25: an own rule wins kind by kind; latency and limit fall back', () => {
    const faults: FaultProfile = {
      default: {
        latencyMs: [3, 3],
        errors: { http_500: MILLION, timeout: 0 },
        rateLimit: { calls: 2, perSeconds: 10 },
      },
      'desk.get_ticket': { errors: { http_500: 0 } },
      'desk.list_tickets': { errors: { http_500: 0, timeout: MILLION }, latencyMs: [1, 1] },
    };
    const { call, trace } = serviceOf(def, { faults });
    expect(call('get_ticket', { id: 1 }).kind).toBe('result');
    expect(call('list_tickets')).toMatchObject({ fault: 'timeout' });
    expect(call('delete_ticket', { id: 1 })).toMatchObject({ fault: 'http_500' });
    call('get_ticket', { id: 1 });
    expect(call('get_ticket', { id: 1 })).toMatchObject({ fault: 'http_429' });
    expect(trace.events.map(({ latency_ms }) => latency_ms)).toEqual([3, 1, 3, 3, 3]);
  });

  test('FH-32: latency, conditional not-found, rate limit, chance, then the operation', () => {
    const faults: FaultProfile = {
      default: {
        latencyMs: [1_000, 1_000],
        errors: { http_500: MILLION },
        rateLimit: { calls: 1, perSeconds: 60 },
        notFoundIfNewerThanNs: 3_600 * NS_PER_S,
      },
    };
    const { call, service, clock } = serviceOf(def, { faults });
    service.world.table('tickets').update(1, { opened_at: clock.now() });
    // Too new: it does not even count for the limit. The clock has gone on by the latency.
    expect(call('get_ticket', { id: 1 })).toMatchObject({ fault: 'not_found' });
    expect(clock.nowNs).toBe(NS_PER_S);
    // Admitted, so chance has its turn.
    expect(call('get_ticket', { id: 2 })).toMatchObject({ fault: 'http_500' });
    // Not admitted: chance is not asked.
    expect(call('get_ticket', { id: 2 })).toMatchObject({ fault: 'http_429' });
    // Even the arguments are looked at last.
    expect(call('get_ticket', {})).toMatchObject({ fault: 'http_429' });
  });

  test('FH-33: not-found-if-newer and the limit draw nothing; time alone decides', () => {
    const faults: FaultProfile = {
      default: { rateLimit: { calls: 2, perSeconds: 10 }, notFoundIfNewerThanNs: 2 * NS_PER_S },
    };
    const { call, service, clock, decisions } = serviceOf(def, { faults });
    service.world.table('tickets').update(1, { opened_at: clock.now() });
    expect(call('update_ticket', { id: 1 })).toMatchObject({ fault: 'not_found' });
    expect(call('list_tickets').kind).toBe('result');
    clock.advance(2 * NS_PER_S);
    expect(call('update_ticket', { id: 1 }).kind).toBe('result');
    clock.advance(3 * NS_PER_S);
    call('update_ticket', { id: 1 });
    clock.advance(500_000_000);
    expect(call('update_ticket', { id: 1 })).toMatchObject({
      fault: 'http_429',
      retryAfterSeconds: 7,
    });
    clock.advance(7 * NS_PER_S);
    expect(call('update_ticket', { id: 1 }).kind).toBe('result');
    expect(decisions.decisionCount).toBe(0);
  });

  test('FH-36: two hours pass without waiting', () => {
    const faults = { default: { notFoundIfNewerThanNs: 7_200 * NS_PER_S } };
    const { call, service, clock } = serviceOf(def, { faults });
    service.world.table('tickets').update(1, { opened_at: clock.now() });
    clock.set(7_199 * NS_PER_S);
    expect(call('get_ticket', { id: 1 }).kind).toBe('fault');
    clock.advance(NS_PER_S);
    expect(clock.now()).toBe('2026-01-01T02:00:00Z');
    expect(call('get_ticket', { id: 1 }).kind).toBe('result');
  });

  test('FH-35: without a profile nothing is injected, whatever the file says', () => {
    const shop = builtinService('shop');
    expect(shop.service.world.def.faults).not.toBeNull();
    for (let count = 0; count < 200; count++) shop.call('get_order', { id: 1 });
    expect(shop.trace.faults()).toEqual([]);
    expect(shop.decisions.decisionCount).toBe(0);
  });
});

describe('draws', () => {
  const faults: FaultProfile = {
    default: { latencyMs: [0, 9], errors: { timeout: 100_000, http_500: 200_000 } },
  };
  const walk = (options: { seed?: number } = {}): string => {
    const bench = serviceOf(def, { faults, ...options });
    for (let count = 0; count < 60; count++) bench.call('get_ticket', { id: 1 });
    return bench.trace.lines();
  };

  test('FH-34: the same seed gives the same faults, another gives others', () => {
    expect(walk()).toBe(walk());
    expect(walk({ seed: 2 })).not.toBe(walk());
  });

  test('FH-34: calls of another operation shift no fault of this one', () => {
    const bench = serviceOf(def, { faults });
    for (let count = 0; count < 60; count++) {
      bench.call('list_tickets');
      bench.call('get_ticket', { id: 1 });
    }
    const kinds = (lines: string): string[] => lines.match(/"fault":("\w+"|null)/g) ?? [];
    const own = bench.trace.callsTo('get_ticket').map((event) => JSON.stringify(event));
    expect(kinds(own.join('\n'))).toEqual(kinds(walk()));
  });

  test('the share of each kind is what the profile says', () => {
    const bench = serviceOf(def, { faults });
    for (let count = 0; count < 20_000; count++) bench.call('get_ticket', { id: 1 });
    const share = (kind: string): number => {
      return bench.trace.events.filter(({ fault }) => fault === kind).length / 20_000;
    };
    expect(share('timeout')).toBeCloseTo(0.1, 1);
    expect(share('http_500')).toBeCloseTo(0.2, 1);
  });

  test('an override decides what happens: one mechanism', () => {
    const bench = serviceOf(def, { faults });
    const stream = 'record/test/desk.get_ticket/error';
    bench.decisions.setSources([
      new OverrideSource([
        { stream, ordinal: 0, choice: 1 },
        { stream, ordinal: 1, choice: 0 },
        { stream, ordinal: 2, choice: 2 },
      ]),
    ]);
    for (let count = 0; count < 3; count++) bench.call('get_ticket', { id: 1 });
    expect(bench.trace.summary()).toBe('get_ticket!timeout → get_ticket → get_ticket!http_500');
  });

  test('a service that is saved goes on as it would have', () => {
    const limited: FaultProfile = {
      default: { ...faults['default'], rateLimit: { calls: 4, perSeconds: 5 } },
    };
    const first = serviceOf(def, { faults: limited });
    for (let count = 0; count < 9; count++) first.call('create_ticket');
    const second = serviceOf(def, { faults: limited });
    second.service.restore(first.service.capture());
    second.decisions.restore(first.decisions.capture());
    second.clock.set(first.clock.nowNs);
    const skip = first.trace.events.length;
    for (const bench of [first, second]) {
      for (let count = 0; count < 30; count++) bench.call('create_ticket', { state: 'open' });
    }
    expect(second.trace.events).toEqual(first.trace.events.slice(skip));
  });
});

describe('trace', () => {
  test('FH-37, FH-38: one line for each attempt, with the fault also where the call failed', () => {
    const bench = builtinService('shop', {
      faults: { 'payments.issue_refund': { errors: { timeout: MILLION }, latencyMs: [7, 7] } },
      runIndex: 3,
    });
    const order = bench.service.world.table('orders').get(1);
    bench.call('get_order', { id: 1 });
    bench.call('issue_refund', { order: 1, amount_cents: order['total_cents'] });
    bench.call('get_order', { id: 99 });
    const lines = bench.trace.lines().trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        run: 3,
        seq: 0,
        ts: '2026-01-01T00:00:00Z',
        tool: 'get_order',
        args: { id: 1 },
        fault: null,
        latency_ms: 0,
        ok: true,
        result: order,
        world_rev: 0,
      },
      {
        run: 3,
        seq: 1,
        ts: '2026-01-01T00:00:00Z',
        tool: 'issue_refund',
        args: { order: 1, amount_cents: order['total_cents'] },
        fault: 'timeout',
        latency_ms: 7,
        ok: false,
        error: 'timeout',
        world_rev: 1,
      },
      {
        run: 3,
        seq: 2,
        ts: '2026-01-01T00:00:00Z',
        tool: 'get_order',
        args: { id: 99 },
        fault: null,
        latency_ms: 0,
        ok: false,
        error: 'there is no orders with id 99',
        world_rev: 1,
      },
    ]);
  });

  test('FH-39, FH-40: queries, and the one line of a run', () => {
    const bench = serviceOf(def, {
      faults: { 'desk.list_tickets': { errors: { http_500: MILLION } } },
    });
    expect(bench.trace.summary()).toBe('(no calls)');
    bench.call('get_ticket', { id: 1 });
    bench.call('list_tickets');
    bench.call('get_ticket', { id: 77 });
    const { trace } = bench;
    expect(trace.summary()).toBe('get_ticket → list_tickets!http_500 → get_ticket!error');
    expect(trace.count('get_ticket')).toBe(2);
    expect(trace.callsTo('get_ticket').map(({ ok }) => ok)).toEqual([true, false]);
    expect(trace.faults().map(({ tool }) => tool)).toEqual(['list_tickets']);
    expect(trace.failures().map(({ seq }) => seq)).toEqual([1, 2]);
  });
});

describe('handlers', () => {
  const custom = `
name: w
services:
  s:
    records: { notes: { text: str } }
    operations:
      act: { kind: custom, handler: m.act, parameters: { times: int, note: 'str?' } }
`;
  const withHandler = (act: Parameters<typeof Map.prototype.set>[1]) => {
    const handlers = new Map([['m.act', act as never]]);
    return serviceOf(worldOf(custom, handlers), { handlers });
  };

  test('FH-14: a handler is called with world, clock, arguments and draws', () => {
    const bench = withHandler((world: never, clock: never, args: unknown, draws: never) => {
      const { notes } = world as { notes: { insert(values: object): unknown } };
      notes.insert({ text: (clock as { now(): string }).now() });
      return { args, drawn: (draws as { below(arity: number): number }).below(6) < 6 };
    });
    expect(bench.call('act', { times: 2 })).toEqual({
      kind: 'result',
      value: { args: { times: 2, note: null }, drawn: true },
    });
    expect(bench.decisions.decisionCount).toBe(1);
    expect(bench.service.world.table('notes').get(1)['text']).toBe('2026-01-01T00:00:00Z');
  });

  test('FH-19: a refusal is an answer; anything else is a loud crash with a place', () => {
    const shop = builtinService('shop');
    expect(shop.call('issue_refund', { order: 1, amount_cents: -1 })).toEqual({
      kind: 'refusal',
      refusal: 'refused',
      message: 'a refund is at least one cent',
    });
    const broken = withHandler(() => (undefined as unknown as { x: { y: 1 } }).x.y);
    const crash = (): unknown => broken.call('act', { times: 1 });
    expect(crash).toThrow(SimError);
    expect(crash).toThrow(/an operation broke: Cannot read properties/);
  });

  test.each([
    [{ times: 'x' }, 'times: expected a whole number'],
    [{}, 'the argument "times" is missing'],
    [{ times: 1, tmies: 2 }, 'unknown argument "tmies"; known: times, note'],
  ])('FH-18: arguments are checked: %j', (args, message) => {
    const bench = withHandler(() => null);
    expect(bench.call('act', args)).toEqual({ kind: 'refusal', refusal: 'invalid', message });
  });

  test('an unknown operation is an answer that names those there are', () => {
    expect(withHandler(() => null).call('atc')).toMatchObject({
      refusal: 'unknown_operation',
      message: 'there is no operation "atc"; there are act',
    });
  });
});
