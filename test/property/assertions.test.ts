import { describe, expect, it } from 'vitest';
import {
  Assertions,
  ASSERTIONS_MAX,
  encodeUtf8,
  parseForeignLine,
  parseMarker,
  PropertyChecker,
  type Effect,
} from '../../sim/index.ts';
import { SmallWorld } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

/** A line as the public SDKs write it: field order as in their C++ SDK. */
function foreign(fields: Readonly<Record<string, unknown>>): string {
  const location = { class: '', function: 'main', file: 'm.cc', begin_line: 3, begin_column: 1 };
  return JSON.stringify({ antithesis_assert: { ...fields, location } });
}

const ALWAYS = {
  hit: true,
  must_hit: true,
  assert_type: 'always',
  display_type: 'Always',
  message: 'balance',
  condition: true,
  id: 'balance',
  details: null,
};

/** `kind name: verdict: detail`, in the order of the results. */
function results(assertions: Assertions): string[] {
  return assertions.results().map(({ kind, name, verdict, detail, atNs }) => {
    return `${kind} ${name}: ${verdict}: ${detail}${atNs === null ? '' : ` @${atNs}`}`;
  });
}

function mark(assertions: Assertions, fields: Readonly<Record<string, unknown>>, atNs = 1): void {
  assertions.marker(0, JSON.stringify(fields), atNs);
}

describe('assertions of guests', () => {
  it('CR-97: reads the lines of the public SDKs, and nothing else of theirs', () => {
    expect(parseForeignLine(foreign(ALWAYS))).toEqual({
      kind: 'always',
      name: 'balance',
      hit: true,
      condition: true,
      details: '',
    });
    const kindOf = (type: string, mustHit: boolean): string | undefined => {
      const line = foreign({ ...ALWAYS, assert_type: type, must_hit: mustHit });
      return parseForeignLine(line)?.kind;
    };
    expect(kindOf('always', false)).toBe('always-or-unreached');
    expect(kindOf('sometimes', true)).toBe('sometimes');
    expect(kindOf('reachability', true)).toBe('reachable');
    expect(kindOf('reachability', false)).toBe('unreachable');
    expect(kindOf('else', true)).toBeUndefined();
    for (const line of [
      '{"antithesis_setup":{"status":"complete","details":{}}}',
      '{"antithesis_guidance":{"hit":true,"id":"x"}}',
      '{"antithesis_sdk":{"protocol_version":"1.1.0"}}',
      '{"antithesis_assert": cut',
      'say {"antithesis_assert":{}}',
      '',
    ]) {
      expect(parseForeignLine(line)).toBeNull();
    }
    expect(
      parseForeignLine(
        '{ "antithesis_assert": {"hit": false, "id": "a", "assert_type": "sometimes"} }',
      ),
    ).toEqual({ kind: 'sometimes', name: 'a', hit: false, condition: false, details: '' });
  });

  it('reads markers of ours, and says what is wrong with others', () => {
    expect(parseMarker('{"kind":"always","name":"n","condition":false,"details":{"a":1}}')).toEqual(
      {
        kind: 'always',
        name: 'n',
        hit: true,
        condition: false,
        details: '{"a":1}',
      },
    );
    expect(parseMarker('{"kind":"log","name":"n"}')).toBeNull();
    expect(parseMarker('op invoke a 1 read x')).toBeNull();
    expect(parseMarker('{"kind"')).toBe('a marker is no JSON object');
    expect(parseMarker('{"kind":"alway","name":"n"}')).toBe('a marker has the kind "alway"');
    expect(parseMarker('{"kind":"always"}')).toBe('a marker has no name');
  });

  it('CR-95: always fails at its first violation, and names it', () => {
    const assertions = new Assertions(['a', 'b']);
    mark(assertions, { kind: 'always', name: 'x', condition: true });
    expect(assertions.failed).toBe(false);
    assertions.marker(1, '{"kind":"always","name":"x","condition":false,"details":{"n":3}}', 7);
    mark(assertions, { kind: 'always', name: 'x', condition: false }, 9);
    expect(assertions.failed).toBe(true);
    expect(results(assertions)).toEqual(['always x: fail: does not hold for b with {"n":3} @7']);
  });

  it('CR-95, FB-71: sometimes and reachable pass; unfired they are vacuous, declared ones too', () => {
    const assertions = new Assertions(['a']);
    mark(assertions, { kind: 'sometimes', name: 'true once', condition: true }, 4);
    mark(assertions, { kind: 'sometimes', name: 'never true', condition: false });
    mark(assertions, { kind: 'reachable', name: 'there' }, 5);
    mark(assertions, { kind: 'reachable', name: 'declared', hit: false });
    mark(assertions, { kind: 'always', name: 'declared', hit: false });
    mark(assertions, { kind: 'always-or-unreached', name: 'declared', hit: false });
    mark(assertions, { kind: 'unreachable', name: 'declared', hit: false });
    expect(results(assertions)).toEqual([
      'always declared: pass: vacuous: never reached in this run',
      'always-or-unreached declared: pass: never reached',
      'reachable declared: pass: vacuous: never reached in this run',
      'unreachable declared: pass: never reached',
      'sometimes never true: pass: vacuous: reached 1 times, never true in this run',
      'reachable there: pass: first by a @5',
      'sometimes true once: pass: first by a @4',
    ]);
  });

  it('CR-95: unreachable fails when it is reached', () => {
    const assertions = new Assertions(['a']);
    mark(assertions, { kind: 'unreachable', name: 'x', condition: false }, 6);
    expect(results(assertions)).toEqual(['unreachable x: fail: reached by a @6']);
  });

  it('FB-70: a marker that makes no sense leaves the run inconclusive', () => {
    const assertions = new Assertions(['a']);
    assertions.marker(0, '{', 2);
    expect(results(assertions)).toEqual([
      'markers markers: inconclusive: a at 0.000000002s: a marker is no JSON object',
    ]);
  });

  it('has room for so many, and says when there are more', () => {
    const assertions = new Assertions(['a']);
    for (let index = 0; index <= ASSERTIONS_MAX; index++) {
      mark(assertions, { kind: 'reachable', name: `${index}` });
    }
    const all = results(assertions);
    expect(all).toHaveLength(ASSERTIONS_MAX + 1);
    expect(all[ASSERTIONS_MAX]).toBe(
      `markers markers: inconclusive: more than ${ASSERTIONS_MAX} different assertions`,
    );
  });

  it('goes on equally from a capture', () => {
    const checker = new PropertyChecker([], ['a']);
    checker.line(0, foreign({ ...ALWAYS, hit: false }), 1);
    const other = new PropertyChecker([], ['a']);
    other.restore(structuredClone(checker.capture()));
    for (const each of [checker, other]) each.line(0, foreign({ ...ALWAYS, condition: false }), 2);
    expect(other.results(3, true)).toEqual(checker.results(3, true));
    expect(other.failed).toBe(true);
  });

  it('CR-97: reads the local output file of the SDKs, before a crash takes it', () => {
    const sometimes = { ...ALWAYS, assert_type: 'sometimes', id: 'progress', details: { n: 1 } };
    const world = new SmallWorld({
      names: ['a', 'b'],
      env: [['ANTITHESIS_SDK_LOCAL_OUTPUT', '/sdk.jsonl']],
      events: [
        {
          name: 'crash',
          atNs: 1_000,
          withinNs: 0,
          chance: 1_000_000,
          action: { kind: 'crash', oneOf: [0] },
        },
      ],
      make: (port, node) =>
        new StateGuest({}, port, (): Effect => {
          const text = `${foreign(node === 0 ? sometimes : { ...ALWAYS, condition: false })}\ncut`;
          const inode = port.files.createFile(1, 'sdk.jsonl', 0n);
          port.files.write(inode, 0, encodeUtf8(text), 0n);
          const wait = { deadlineNs: 5_000, interests: [] };
          return { kind: 'wait', atNs: port.nowNs, wait };
        }),
      virtualNsMax: 4_000,
    }).run();
    const found = world.world.results().map(({ kind, name, verdict, detail }) => {
      return `${kind} ${name}: ${verdict}: ${detail}`;
    });
    expect(found).toEqual([
      'always balance: fail: does not hold for b',
      'sometimes progress: pass: first by a with {"n":1}',
    ]);
    expect(world.world.results()).toEqual(world.world.results());
  });
});
