import { describe, expect, it } from 'vitest';
import { builtinScenarioText, loadScenarioBytes, LocalFiles } from '../../scenarios/index.ts';
import {
  canonicalText,
  failureSignature,
  sameFailure,
  type RunOutcome,
  type ScenarioDef,
} from '../../sim/index.ts';

function builtin(name: string): ScenarioDef {
  const bytes = Buffer.from(builtinScenarioText(name) ?? '');
  const loaded = loadScenarioBytes(bytes, name, new LocalFiles('.'));
  if (!loaded.ok) throw new Error('a built-in scenario compiles');
  return loaded.scenario.def;
}

const RAFT = builtin('raft');
const STORE = builtin('crash-restart');

type Failed = Pick<RunOutcome['properties'][number], 'name' | 'kind' | 'detail'> & {
  readonly atNs?: number | null;
};

function outcome(...failed: readonly Failed[]): RunOutcome {
  const properties = failed.map(({ atNs = null, ...rest }) => {
    return { ...rest, verdict: 'fail' as const, atNs };
  });
  return { verdict: 'fail', reason: 'property', properties } as unknown as RunOutcome;
}

function primary(scenario: ScenarioDef, ...failed: readonly Failed[]): string | undefined {
  return failureSignature(scenario, outcome(...failed))?.primary;
}

describe('the failure signature (CR-37)', () => {
  it('is the same for another node, time, term and entry', () => {
    const texts = [
      ['n4', 'applied index=12 term=3 op=set k3=c1.7', '3 set k3=c1.8'],
      ['n2', 'applied index=7 term=1 op=noop -', '1 set k0=c1.0'],
    ];
    const keys = texts.map(([node, line, other]) => {
      const detail = `${node} wrote "${line}", earlier "${other}" elsewhere`;
      return primary(RAFT, { name: 'replicas agree', kind: 'agree', detail, atNs: 5 });
    });
    expect(keys).toEqual(
      Array(2).fill('replicas agree: agree: "applied index=* term=* op=* *"') as string[],
    );
  });

  it('keeps what kind of failure it is', () => {
    const exit = (detail: string): string | undefined => {
      return primary(RAFT, { name: 'the client is done', kind: 'exit', detail });
    };
    expect([
      exit('client exited with 1, expected 0'),
      exit('client exited with 2, expected 0'),
      exit('still running when nothing could happen'),
    ]).toEqual([
      'the client is done: exit: <client> exited with 1, expected #',
      'the client is done: exit: <client> exited with 2, expected #',
      'the client is done: exit: still running when nothing could happen',
    ]);
  });

  it('takes the forbidden line with stars for stars, and what else it says', () => {
    const detail = 'store wrote "wrong: k17 of 4000"';
    expect(primary(STORE, { name: 'the content is right', kind: 'never', detail })).toBe(
      'the content is right: never: "wrong: * of #"',
    );
  });

  it.each([
    [
      'n1 trapped: guest/unreachable: at 0x1f3 after 12.5 s',
      '<raft> trapped: guest/unreachable: at # after #',
    ],
    ['n1, n2 and n3. client2 is nobody', '<raft>, <raft> and <raft>. client# is nobody'],
    ['digest 0a1b2c3d4e at 5.000000345s', 'digest # at #'],
    ['defaced deadbeef-free words stay', 'defaced deadbeef-free words stay'],
  ])('makes "%s" canonical', (text, expected) => {
    expect(canonicalText(RAFT, text)).toBe(expected);
  });

  it('holds on to the failure that came first, whatever else failed', () => {
    const late = {
      name: 'the client is done',
      kind: 'exit',
      detail: 'client exited with 1, expected 0',
      atNs: 9,
    };
    const early = {
      name: 'one leader a term',
      kind: 'unique',
      detail: 'n1 and n2 both wrote "x"',
      atNs: 4,
    };
    const atEnd = { name: 'replicas agree', kind: 'agree', detail: 'x' };
    const wanted = failureSignature(RAFT, outcome(early));
    const found = failureSignature(RAFT, outcome(atEnd, late, early));
    expect(found).toMatchObject({
      property: 'one leader a term',
      primary: 'one leader a term: unique: "became leader term=*"',
    });
    expect(found?.all).toHaveLength(3);
    if (wanted === null) throw new Error('a failure has a signature');
    expect(sameFailure(wanted, found)).toBe(true);
    expect(sameFailure(wanted, failureSignature(RAFT, outcome(late)))).toBe(false);
    expect(sameFailure(wanted, null)).toBe(false);
  });

  it('is none for a pass and for a budget that ran out, and the code for an error of ours', () => {
    const of = (verdict: RunOutcome['verdict'], reason: string): unknown => {
      return failureSignature(RAFT, { verdict, reason, properties: [] });
    };
    expect([of('pass', 'quiescence'), of('inconclusive', 'virtual-time')]).toEqual([null, null]);
    expect(of('error', 'crash/contract')).toMatchObject({ primary: 'error: crash/contract' });
  });
});
