import { describe, expect, test } from 'vitest';
import { loadFaultFile, loadWorldFile, LocalFiles } from '../../scenarios/index.ts';
import type { SimError } from '../../sim/index.ts';
import { builtinWorld, loadText, SMALL_WORLD, worldOf } from './worlds.ts';

function errorsOf(text: string): readonly string[] {
  const result = loadText(text);
  if (result.ok) return [];
  return result.errors.map(shown);
}

function shown({ code, message, place, remedy }: SimError): string {
  expect(remedy ?? '').not.toBe('');
  return `${code} ${place ?? ''}: ${message}`;
}

describe('what a world file says', () => {
  test.each(['shop', 'bank', 'payments'])('FH-1, FH-54: %s is sound', (name) => {
    const { def, modules } = builtinWorld(name);
    expect(def.name).toBe(name);
    expect(modules.map((each) => each.name)).toEqual([name]);
    expect(def.faults).not.toBeNull();
  });

  test('FH-1, FH-2: name, seed, services, types, counts', () => {
    const def = worldOf(SMALL_WORLD.replace('open, closed', ' open ,"closed" '));
    expect(def).toMatchObject({ name: 'small', seed: 5, faults: null });
    expect(def.records[1]).toEqual({
      service: 'desk',
      name: 'tickets',
      count: 10,
      fields: [
        { name: 'person', type: { kind: 'ref', record: 'people' } },
        { name: 'state', type: { kind: 'enum', values: ['open', 'closed'] } },
        { name: 'opened_at', type: { kind: 'datetime' } },
      ],
    });
    expect(worldOf(SMALL_WORLD.replace('seed: 5', '')).seed).toBe(0);
    const all = worldOf(SMALL_WORLD.replace(/count: \{.*\}/, 'count: 4'));
    expect(all.records.map(({ count }) => count)).toEqual([4, 4]);
  });

  test('FH-26: probabilities, percentages and durations', () => {
    const { faults } = worldOf(`${SMALL_WORLD}
faults:
  default:
    latency_ms: [1, 2]
    errors: { timeout: 0.000001, http_500: "12.5%" }
    rate_limit: { calls: 5, per_seconds: 60 }
    not_found_if_newer_than: 2h
`);
    expect(faults).toEqual({
      default: {
        latencyMs: [1, 2],
        errors: { timeout: 1, http_500: 125_000 },
        rateLimit: { calls: 5, perSeconds: 60 },
        notFoundIfNewerThanNs: 7_200_000_000_000,
      },
    });
  });
});

/** A change of the small world, and what is said about it. */
const WRONG: readonly (readonly [string, string, string, string])[] = [
  [
    'FH-2: an unknown type',
    'age: int',
    'age: integer',
    'scenario/value w.yaml:9:9: services.desk.records.people.age: "integer" is no type',
  ],
  [
    'FH-2: a type that is a number',
    'age: int',
    'age: 7',
    'scenario/value w.yaml:9:9: services.desk.records.people.age: "7" is no type',
  ],
  [
    'FH-6: a nested map',
    'age: int',
    'age: { years: int }',
    'scenario/value w.yaml:9:9: services.desk.records.people.age: records are flat: a field is no list and no map',
  ],
  [
    'FH-6: a list',
    'age: int',
    'age: [int]',
    'scenario/value w.yaml:9:9: services.desk.records.people.age: records are flat: a field is no list and no map',
  ],
  [
    'FH-7: a name of every world',
    'people:',
    'snapshot:',
    'scenario/name w.yaml:7:7: services.desk.records.snapshot: "snapshot" is an attribute of every world',
  ],
  [
    'FH-8: an unknown ref',
    'ref[desk.people]',
    'ref[desk.persons]',
    'scenario/dangling w.yaml:13:9: services.desk.records.tickets.person: there is no record "desk.persons"',
  ],
  [
    'FH-8: a ref without a service',
    'ref[desk.people]',
    'ref[people]',
    'scenario/value w.yaml:13:9: services.desk.records.tickets.person: "ref[people]" names no record',
  ],
  [
    'FH-8: an unknown record of an operation',
    'kind: get, record: tickets',
    'kind: get, record: ticket',
    'scenario/dangling w.yaml:17:32: services.desk.operations.get_ticket.record: there is no record "ticket" (did you mean "tickets"?)',
  ],
  [
    'no record',
    'kind: get, record: tickets',
    'kind: get',
    'scenario/missing-key w.yaml:17:7: services.desk.operations.get_ticket: get needs a record',
  ],
  [
    'an unknown kind',
    'kind: get',
    'kind: fetch',
    'scenario/value w.yaml:17:21: services.desk.operations.get_ticket.kind: "fetch" is not one of "get", "list", "create", "update", "delete", "custom"',
  ],
  [
    'an unknown key',
    'kind: get',
    'kind: get, knd: x',
    'scenario/unknown-key w.yaml:17:32: services.desk.operations.get_ticket.knd: unknown key "knd" (did you mean "kind"?); allowed: kind, description',
  ],
  [
    'a filter that is no field',
    'filters: [state]',
    'filters: [stat]',
    'scenario/dangling w.yaml:18:62: services.desk.operations.list_tickets.filters[0]: tickets has no field "stat" (did you mean "state"?)',
  ],
  [
    'filters of a get',
    'kind: get,',
    'kind: get, filters: [state],',
    'scenario/value w.yaml:17:32: services.desk.operations.get_ticket.filters: an operation of kind get has no filters',
  ],
  [
    'FH-14: custom without a handler',
    '{ kind: get, record: tickets }',
    '{ kind: custom }',
    'scenario/missing-key w.yaml:17:7: services.desk.operations.get_ticket: a custom operation needs a handler',
  ],
  [
    'a handler that is no name',
    '{ kind: get, record: tickets }',
    '{ kind: custom, handler: ../x }',
    'scenario/value w.yaml:17:35: services.desk.operations.get_ticket.handler: "../x" is no handler',
  ],
  [
    'a handler without a module',
    '{ kind: get, record: tickets }',
    '{ kind: custom, handler: x.y }',
    'scenario/handler w.yaml:17:35: services.desk.operations.get_ticket.handler: there is no module "x" for the handler "x.y"',
  ],
  [
    'an id of its own',
    'age: int',
    'id: int',
    'scenario/name w.yaml:9:9: services.desk.records.people.id: every record has an id already',
  ],
  [
    'a count of an unknown record',
    'people: 3',
    'peple: 3',
    'scenario/dangling w.yaml:23:16: services.desk.seed.count.peple: the service has no record "peple" (did you mean "people"?)',
  ],
  [
    'a negative count',
    'people: 3',
    'people: -3',
    'scenario/value w.yaml:23:16: services.desk.seed.count.people: -3 is below 0',
  ],
  [
    'an empty name',
    'name: small',
    'name: ""',
    'scenario/value w.yaml:2:1: name: it is no name: a letter, then letters, digits and _, at most 64',
  ],
  ['FH-1: no name', 'name: small', '', 'scenario/missing-key w.yaml:1:1: name: the key is missing'],
  [
    'an enum without words',
    'enum[open, closed]',
    'enum[]',
    'scenario/value w.yaml:14:9: services.desk.records.tickets.state: "" is no word of an enum',
  ],
  [
    'an enum with a word twice',
    'enum[open, closed]',
    'enum[open, open]',
    'scenario/value w.yaml:14:9: services.desk.records.tickets.state: the words of an enum stand once each, at most 256',
  ],
  [
    'a key twice',
    'age: int',
    'name: int',
    'scenario/yaml w.yaml:9:9: not YAML: map keys must be unique',
  ],
  ['no YAML', 'seed: 5', 'seed: [5', 'scenario/yaml w.yaml:4:1: not YAML: '],
  [
    'an alias',
    'seed: 5',
    'seed: &a 5\nx: *a',
    'scenario/value w.yaml:4:4: x: an alias has no place in a world file',
  ],
];

describe('FH-2 FH-6 FH-7 FH-8 FH-13: what is wrong is told with its place and a remedy', () => {
  test.each(WRONG)('%s', (_title, from, to, expected) => {
    expect(SMALL_WORLD).toContain(from);
    const errors = errorsOf(SMALL_WORLD.replace(from, to));
    expect(errors[0]?.slice(0, expected.length)).toBe(expected);
  });

  test('FH-13: a type with brackets within braces names the fix', () => {
    const result = loadText(
      SMALL_WORLD.replace(
        /tickets:\n[^]*opened_at: datetime/,
        'tickets: { state: enum[open, closed] }',
      ),
    );
    expect(result.ok ? [] : result.errors).toMatchObject([
      {
        code: 'scenario/yaml',
        message: 'not YAML: a type with brackets cannot stand bare within braces',
        remedy: 'put it into quotes, { status: "enum[a, b]" }, or on a line of its own',
      },
    ]);
    const quoted = SMALL_WORLD.replace(
      /tickets:\n[^]*opened_at: datetime/,
      "tickets: { state: 'enum[open, closed]' }",
    );
    expect(errorsOf(quoted)).toEqual([]);
  });

  test('FH-7: a record name stands once in the whole world', () => {
    const twice = `${SMALL_WORLD}\n  other:\n    records: { people: { a: int } }\n`;
    expect(errorsOf(twice)[0]).toContain('the record "people" stands in "desk" already');
  });

  test('all errors come together', () => {
    const text = SMALL_WORLD.replace('age: int', 'age: x').replace('name: str', 'name: y');
    expect(errorsOf(text)).toHaveLength(2);
  });

  test.each([
    ['latency_ms: [5, 1]', 'the least latency 5 is above the most, 1'],
    ['latency_ms: [1]', 'it has fewer than 2 items'],
    [
      'errors: { timeout: 0.6, http_500: 0.5 }',
      'the probabilities add up to 1.1, with those of "default"',
    ],
    ['errors: { timeout: 1.5 }', '1.5 is no probability'],
    ['errors: { timeout: 0.0000001 }', '1e-7 is no probability'],
    [
      'errors: { timout: 0.5 }',
      'unknown key "timout" (did you mean "timeout"?); allowed: timeout, http_500',
    ],
    ['not_found_if_newer_than: soon', '"soon" is no duration'],
    ['rate_limit: { calls: 0, per_seconds: 1 }', '0 is below 1'],
  ])('FH-26: %s is refused', (rule, message) => {
    const [error] = errorsOf(`${SMALL_WORLD}\nfaults: { default: { ${rule} } }\n`);
    expect(error).toContain(message);
    expect(error).toMatch(/w\.yaml:\d+:\d+: faults\.default/);
  });

  test('FH-26: the sum of default and own rule counts', () => {
    const [error] = errorsOf(`${SMALL_WORLD}
faults:
  default: { errors: { timeout: 0.6 } }
  desk.get_ticket: { errors: { http_500: 0.5 } }
`);
    expect(error).toContain('faults.desk.get_ticket.errors: the probabilities add up to 1.1');
  });

  test('a profile of its own is checked against the world', () => {
    const def = worldOf(SMALL_WORLD);
    const read = (text: string) => loadFaultFile(Buffer.from(text), 'f.yaml', def);
    expect(read('default: { errors: { timeout: 0.5 } }')).toEqual({
      ok: true,
      faults: { default: { errors: { timeout: 500_000 } } },
    });
    const wrong = read('desk.get_tickets: {}');
    expect(wrong.ok ? '' : wrong.errors[0]?.message).toContain('did you mean "desk.get_ticket"?');
  });

  test.each([
    ['bytes that are no text', Buffer.from([0xff, 0xfe])],
    ['an empty file', Buffer.alloc(0)],
    ['a list', Buffer.from('- 1\n- 2\n')],
    ['a text', Buffer.from('hello')],
    ['a null key', Buffer.from('? \n: 1\n')],
    ['a map as key', Buffer.from('? {a: 1}\n: 1\n')],
    ['deep nesting', Buffer.from('['.repeat(100_000))],
    [
      'deep maps',
      Buffer.from(Array.from({ length: 50 }, (_, n) => `${' '.repeat(n)}k:`).join('\n')),
    ],
    ['too long', Buffer.alloc(2 ** 20 + 1, 'a')],
    ['__proto__', Buffer.from('name: x\nservices: {}\n__proto__: { a: 1 }\n')],
    ['a bomb of aliases', Buffer.from('a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n')],
  ])('%s is refused, never a crash', (_title, bytes) => {
    const result = loadWorldFile(bytes, 'w.yaml', new LocalFiles('/nonexistent'));
    expect(result.ok).toBe(false);
    if (!result.ok) expect(result.errors.length).toBeGreaterThan(0);
  });
});
