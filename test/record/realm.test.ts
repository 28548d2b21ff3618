import { describe, expect, test } from 'vitest';
import { makeHandlers } from '../../cli/record/handlers.ts';
import { Realm } from '../../cli/record/realm.ts';
import { toScript, type HandlerModule } from '../../scenarios/index.ts';
import { builtinService, serviceOf, worldOf } from './worlds.ts';

const WORLD = `
name: w
services:
  s:
    records: { notes: { text: str, size: int } }
    operations:
      act: { kind: custom, handler: m.act, parameters: { text: 'str?' } }
`;

function moduleOf(source: string): HandlerModule {
  return { name: 'm', kind: 'script', bytes: toScript(Buffer.from(source), 'm.ts') };
}

/** What an operation with this body gives or says. */
function run(body: string, before = ''): unknown {
  const source = `${before}\nexport function act(world, clock, args, draws) {${body}}`;
  const placeholder = new Map([['m.act', () => null]]);
  const def = worldOf(WORLD, placeholder);
  const bench = serviceOf(def, { handlers: makeHandlers(def, [moduleOf(source)]) });
  const outcome = bench.call('act', {});
  if (outcome.kind === 'result') return outcome.value;
  return outcome.kind === 'refusal' ? `refusal: ${outcome.message}` : outcome;
}

describe('FH-15: handlers run without host access', () => {
  test.each([
    'process',
    'require',
    'globalThis',
    'Date',
    'console',
    'setTimeout',
    'fetch',
    'crypto',
    'performance',
    'Buffer',
    'WebAssembly',
    'SharedArrayBuffer',
    'Intl',
    'WeakRef',
    'queueMicrotask',
  ])('%s is not there', (name) => {
    expect(run(`return typeof ${name}`)).toBe(name === 'require' ? 'function' : 'undefined');
  });

  test.each([
    ['a constructor of functions', `return clock.now.constructor('return process')().pid`],
    ['that of what it gets', `return args.constructor.constructor('return process')().pid`],
    [
      'that of what it asks for',
      `return world.notes.all().constructor.constructor('return process')()`,
    ],
    [
      'that of an error',
      `try { world.notes.get(9) } catch (e) { return e.constructor.constructor('return process')() }`,
    ],
    ['eval by another name', `return (0, [].map.constructor)('return 1')()`],
    ['chance', 'return Math.random()'],
    ['imports', `return require('node:fs')`],
    ['a promise', 'return Promise.resolve(1)'],
    ['the stack of the host', `return [].push.apply.caller`],
    ['a change of what all share', `Array.prototype.left = 1; return 1`],
    ['a variable of the world', `'use strict'; left = 1; return 1`],
    ['a name that all share', `Math = { random: () => 1 }; return 1`],
    ['a trace on an iterator', `Object.getPrototypeOf(new Map().entries()).left = 1; return 1`],
    ['a trace on a refusal', `Refusal.left = 1; return 1`],
    [
      'a recursion that ends where the host says',
      `let n = 0; const f = () => { n++; f(); }; try { f(); } catch { return n; }`,
    ],
    [
      'the same in a finally',
      `let n = 0; const f = () => { n++; f(); }; try { f(); } finally { return n; }`,
    ],
    [
      'an error of the host, where calls nest too deep',
      `const f = () => { world.notes.all(); f(); };
      try { f(); } catch (e) { return e.constructor.constructor('return process')().pid; }`,
    ],
  ])('%s is out of reach', (_title, body) => {
    expect(() => run(body)).toThrow(/an operation broke/);
  });

  test('no state is left from one call to the next', () => {
    const body = 'count++; return count';
    const def = worldOf(WORLD, new Map([['m.act', () => null]]));
    const source = `let count = 0; export function act() {${body}}`;
    const bench = serviceOf(def, { handlers: makeHandlers(def, [moduleOf(source)]) });
    expect([bench.call('act'), bench.call('act')]).toEqual([
      { kind: 'result', value: 1 },
      { kind: 'result', value: 1 },
    ]);
  });

  test('what it leaves to promises never happens: no write after its call', () => {
    const later = `void (async () => { await null; world.notes.insert({ text: 'late' }); })();
      void Promise.reject(new Error('lost')).catch(() => world.notes.insert({ text: 'later' })); return world.revision;`;
    expect([run(later), run(`/(secret)/.exec('secret'); return String(RegExp.$1)`)]).toEqual([
      0,
      'undefined',
    ]);
  });

  test('a handler reads and writes tables, draws, and knows the time', () => {
    expect(
      run(`
      const row = world.notes.insert({ text: clock.now(), size: draws.below(1) });
      world.notes.update(row.id, { size: 5 });
      const old = world.snapshot();
      world.notes.insert({ text: 'x' });
      world.notes.delete(2);
      return [world.notes.where({ size: 5 }), world.notes.pick({ size: 9 }), world.revision, world.diff(old)];
    `),
    ).toEqual([[{ id: 1, text: '2026-01-01T00:00:00Z', size: 5 }], null, 4, {}]);
  });

  test.each([
    [`throw new Refusal('no more')`, 'refusal: no more'],
    ['return world.notes.get(7)', 'refusal: there is no notes with id 7'],
    [`return world.notes.insert({ size: 'big' })`, 'refusal: size: expected a whole number'],
  ])('FH-19: %s is a refusal', (body, said) => {
    expect(run(body, 'declare const Refusal: unknown;')).toBe(said);
  });

  test('Refusal can be imported by name, types cost nothing', () => {
    expect(run(`throw new Refusal('x')`, `import { Refusal } from 'athanor';`)).toBe('refusal: x');
  });

  test.each([
    ['return draws.below(0)', /a draw is below a whole number/],
    ['return act(world, clock, args, draws)', /an operation broke: .*stack/i],
    ['return undefined.x', /an operation broke/],
  ])('%s is a loud crash', (body, message) => {
    expect(() => run(body)).toThrow(message);
  });

  test('a module that cannot run, or lacks the function, is told when it is loaded', () => {
    const def = worldOf(WORLD, new Map([['m.act', () => null]]));
    expect(() => makeHandlers(def, [moduleOf('export const other = 1')])).toThrow(
      'the module "m" exports no function "act"',
    );
    expect(() => makeHandlers(def, [moduleOf(`throw new Error('at once')`)])).toThrow('at once');
    expect(() => moduleOf('export function {')).toThrow(/Identifier expected|expected/i);
    expect(() => new Realm([{ name: 'm', kind: 'script', bytes: Buffer.from('}{') }])).toThrow(
      'the module is no script',
    );
  });
});

describe('FH-54: the examples', () => {
  test('shop: a return within 30 days, once; a key pays once', () => {
    const { call, service, clock } = builtinService('shop');
    const orders = service.world.table('orders');
    orders.update(1, { status: 'delivered' });
    expect(call('create_return', { order: 1, reason: 'broken' })).toMatchObject({ kind: 'result' });
    expect(call('create_return', { order: 1, reason: 'again' })).toMatchObject({
      message: 'order 1 is returned already',
    });
    orders.update(2, { status: 'delivered' });
    clock.advance(31 * 86_400 * 1_000_000_000);
    expect(call('create_return', { order: 2, reason: 'late' })).toMatchObject({
      message: 'order 2 is older than 30 days',
    });
    const refund = { order: 3, amount_cents: 1, key: 'r3' };
    expect(call('issue_refund', refund)).toEqual(call('issue_refund', refund));
    expect(service.world.table('refunds').count).toBe(1);
    call('issue_refund', { order: 3, amount_cents: 1 });
    expect(service.world.table('refunds').count).toBe(2);
  });

  test('bank: money is neither made nor lost, also by what is refused', () => {
    const { call, service } = builtinService('bank');
    const accounts = service.world.table('accounts');
    for (const { id } of accounts.all()) accounts.update(id, { is_frozen: false, currency: 'EUR' });
    const total = (): number => {
      return accounts.all().reduce((sum, row) => sum + Number(row['balance_cents']), 0);
    };
    const before = total();
    const [one, two] = accounts.all();
    const amount = Number(one?.['balance_cents']);
    const args = { from: one?.id, to: two?.id, amount_cents: amount };
    expect(call('transfer', args)).toMatchObject({ kind: 'result' });
    expect(call('transfer', { ...args, amount_cents: 1 })).toMatchObject({
      message: 'the balance is too low',
    });
    call('freeze_account', { account: two?.id });
    expect(call('transfer', { from: two?.id, to: one?.id, amount_cents: 1 })).toMatchObject({
      message: 'a frozen account moves no money',
    });
    expect(call('transfer', { from: 1, to: 1, amount_cents: 1 })).toMatchObject({
      message: 'a transfer is between two accounts',
    });
    expect(total()).toBe(before);
  });

  test('payments: parts of a charge are refunded, never more than it', () => {
    const { call } = builtinService('payments');
    const made = call('create_charge', { amount_cents: 1000, currency: 'EUR' });
    const id = made.kind === 'result' ? (made.value as { id: number }).id : 0;
    expect(call('refund_charge', { charge: id, amount_cents: 400 })).toMatchObject({
      value: { refunded_cents: 400, status: 'partially_refunded' },
    });
    expect(call('refund_charge', { charge: id, amount_cents: 700 })).toMatchObject({
      message: 'only 600 cents are left',
    });
    expect(call('refund_charge', { charge: id, amount_cents: 600 })).toMatchObject({
      value: { refunded_cents: 1000, status: 'refunded' },
    });
  });
});
