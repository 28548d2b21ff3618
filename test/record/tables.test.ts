import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import {
  EPOCH_NS,
  EPOCH_SECONDS,
  FakeClock,
  formatDatetime,
  parseDatetime,
  RecordWorld,
  Refusal,
  SEED_WINDOW_SECONDS,
} from '../../sim/index.ts';
import { SMALL_WORLD, worldOf } from './worlds.ts';

const def = worldOf(SMALL_WORLD);
const world = (): RecordWorld => new RecordWorld(def);

describe('seeded rows', () => {
  test('FH-3: the same file and seed give the same bytes', () => {
    expect(Buffer.from(world().capture()).equals(Buffer.from(world().capture()))).toBe(true);
    // Golden: a change of these bytes is a change of meaning for every recorded run.
    expect(world().digest()).toMatchInlineSnapshot(`"d550d89281adebdd"`);
    expect(world().table('tickets').get(1)).toMatchInlineSnapshot(`
      {
        "id": 1,
        "opened_at": "2025-12-13T23:36:34Z",
        "person": 1,
        "state": "open",
      }
    `);
  });

  test('FH-3: another process in another time zone and locale gives the same bytes', () => {
    const script = `
      const { readFileSync } = await import('node:fs');
      const { RecordWorld } = await import('./dist/sim/index.js');
      process.stdout.write(new RecordWorld(JSON.parse(readFileSync(0, 'utf8'))).digest());`;
    const digest = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      input: JSON.stringify(def),
      env: { TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8' },
    });
    expect(digest.toString()).toBe(world().digest());
  });

  test('FH-3: another field or record moves no value of the others', () => {
    const more = SMALL_WORLD.replace('name: str', 'name: str\n        city: str').replace(
      '    records:',
      '    records:\n      rooms: { floor: int }',
    );
    const wider = new RecordWorld(worldOf(more));
    expect(wider.table('tickets').all()).toEqual(world().table('tickets').all());
    const ages = (of: RecordWorld): unknown[] =>
      of
        .table('people')
        .all()
        .map(({ age }) => age);
    expect(ages(wider)).toEqual(ages(world()));
  });

  test('another seed gives other rows', () => {
    expect(new RecordWorld({ ...def, seed: 6 }).digest()).not.toBe(world().digest());
  });

  test('FH-4: times lie in the 20 days that end at the epoch, which is now', () => {
    expect(EPOCH_NS).toBe(BigInt(EPOCH_SECONDS) * 1_000_000_000n);
    expect(new FakeClock().now()).toBe(formatDatetime(EPOCH_SECONDS));
    const many = new RecordWorld(worldOf(SMALL_WORLD.replace('tickets: 10', 'tickets: 2000')));
    const seconds = many
      .table('tickets')
      .all()
      .map((row) => {
        return parseDatetime(String(row['opened_at'])) ?? 0;
      });
    expect(Math.max(...seconds)).toBeLessThan(EPOCH_SECONDS);
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(EPOCH_SECONDS - SEED_WINDOW_SECONDS);
  });

  test('FH-5: values fit their types', () => {
    for (const row of world().table('people').all()) {
      expect(typeof row['name']).toBe('string');
      expect(Number.isSafeInteger(row['age'])).toBe(true);
      expect(Number.isFinite(row['score'])).toBe(true);
      expect(typeof row['is_active']).toBe('boolean');
    }
    for (const row of world().table('tickets').all()) {
      expect(['open', 'closed']).toContain(row['state']);
      expect(world().table('people').has(Number(row['person']))).toBe(true);
    }
  });
});

describe('tables', () => {
  test('FH-9: get, all, where, pick, insert, update, delete', () => {
    const { tables } = world();
    const people = tables['people'];
    const ada = people?.insert({ name: 'ada', age: 36 });
    expect(ada).toEqual({ id: 4, name: 'ada', age: 36, score: null, is_active: null });
    expect(people?.get(4)).toBe(ada);
    people?.insert({ name: 'ada', age: 7 });
    expect(people?.where({ name: 'ada' }).map(({ id }) => id)).toEqual([4, 5]);
    expect(people?.pick({ name: 'ada' })?.id).toBe(4);
    expect(people?.pick({ name: 'ada', age: 7 })?.['age']).toBe(7);
    expect(people?.pick({ name: 'eve' })).toBeNull();
    expect(people?.update(4, { age: 37 })).toEqual({ ...ada, age: 37 });
    expect(people?.delete(5).id).toBe(5);
    expect(people?.all().map(({ id }) => id)).toEqual([1, 2, 3, 4]);
    expect(() => people?.get(5)).toThrow(new Refusal('there is no people with id 5', 'not_found'));
  });

  test('FH-11: ids count up, and an id that exists is refused', () => {
    const people = world().table('people');
    expect(people.insert({ id: 10, name: 'x' }).id).toBe(10);
    expect(people.insert({ name: 'y' }).id).toBe(11);
    expect(() => people.insert({ id: 10 })).toThrow('people 10 exists already');
    expect(() => people.insert({ id: 0 })).toThrow('expected a whole number from 1');
  });

  test.each([
    ['people', { name: 7 }, 'name: expected a text'],
    ['people', { age: 1.5 }, 'age: expected a whole number'],
    ['people', { score: 'high' }, 'score: expected a number'],
    ['people', { is_active: 1 }, 'is_active: expected true or false'],
    ['tickets', { state: 'ajar' }, 'state: expected one of open, closed'],
    ['tickets', { opened_at: '2026-02-30T00:00:00Z' }, 'opened_at: expected a time'],
    ['tickets', { person: 99 }, 'person: there is no people with id 99'],
    ['people', { nmae: 'x' }, 'people has no field "nmae"; it has name, age, score, is_active'],
  ])('FH-12: %s with %j is refused: %s', (record, values, message) => {
    const before = world().digest();
    const fresh = world();
    expect(() => fresh.table(record).insert(values)).toThrow(message);
    expect(() => fresh.table(record).update(1, values)).toThrow(message);
    expect(fresh.digest()).toBe(before);
  });
});

describe('the world', () => {
  test('FH-10: a fresh world is revision 0; each write counts one', () => {
    const fresh = world();
    expect(fresh.revision).toBe(0);
    fresh.table('people').insert({});
    fresh.table('people').update(1, { age: 1 });
    fresh.table('people').delete(2);
    expect(fresh.revision).toBe(3);
  });

  test('FH-10: diff tells what was added, removed and changed', () => {
    const fresh = world();
    const old = fresh.snapshot();
    const before = fresh.table('people').get(1);
    const added = fresh.table('people').insert({ name: 'new' });
    const removed = fresh.table('people').delete(2);
    const after = fresh.table('people').update(1, { age: 99 });
    fresh.table('tickets').update(1, { state: fresh.table('tickets').get(1)['state'] });
    expect(fresh.diff(old)).toEqual({
      people: { added: [added], removed: [removed], changed: [{ id: 1, before, after }] },
    });
  });

  test('a saved world comes back byte for byte', () => {
    const fresh = world();
    fresh.table('people').insert({ name: 'ä€𐍈', score: 0.1 });
    fresh.table('people').delete(1);
    const saved = fresh.capture();
    const other = world();
    other.restore(saved);
    expect(other.digest()).toBe(fresh.digest());
    expect(other.table('people').insert({}).id).toBe(fresh.table('people').insert({}).id);
  });

  test('an operation that throws has written nothing, in any order of writes', () => {
    const fresh = world();
    const before = fresh.digest();
    const people = fresh.table('people');
    expect(() =>
      fresh.whole(() => {
        people.insert({ name: 'a' });
        people.delete(1);
        people.update(2, { age: 5 });
        people.delete(2);
        throw new Refusal('no');
      }),
    ).toThrow('no');
    expect(fresh.digest()).toBe(before);
    expect(fresh.revision).toBe(0);
  });
});

test('times go to text and back, for each day of many years', () => {
  for (let day = -719_000; day < 2_900_000; day += 1_237) {
    expect(parseDatetime(formatDatetime(day * 86_400 + (day & 65_535)))).toBe(
      day * 86_400 + (day & 65_535),
    );
  }
  expect(formatDatetime(EPOCH_SECONDS)).toBe('2026-01-01T00:00:00Z');
  expect(parseDatetime('2024-02-29T23:59:59.5Z')).toBe(Date.UTC(2024, 1, 29, 23, 59, 59) / 1000);
  for (const wrong of ['2023-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-01', '', 'now']) {
    expect(parseDatetime(wrong)).toBeNull();
  }
});
