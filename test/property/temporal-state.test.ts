import { describe, expect, it } from 'vitest';
import {
  decodeCanonical,
  decodeScenario,
  encodeCanonical,
  encodeScenario,
  isVacuous,
  MILLION,
  NS_PER_MS,
  onlyProperty,
  withoutNodes,
  type EventDef,
  type PredicateDef,
  type ScenarioDef,
} from '../../sim/index.ts';
import { loadScenarioText } from '../../scenarios/index.ts';
import { failureSignature } from '../../sim/explore/signature.ts';
import { MemoryFiles } from '../scenarios/memory-files.ts';
import { smallScenario } from '../support/small-world.ts';
import { properties, scriptedWorld, type Act } from './scripted.ts';

const MS = NS_PER_MS;

const CRASH: EventDef = {
  name: 'x',
  atNs: 20 * MS,
  withinNs: 0,
  chance: MILLION,
  action: { kind: 'crash', oneOf: [0, 1] },
  forNs: 10 * MS,
};

/** Every predicate, and every operator. */
const ALL = `
[[property]]
name = "back in time"
kind = "eventually"
when = { node_state = { is = "crashed" } }
that = { named = "no_crashed_nodes" }
within = "15ms"

[[property]]
name = "answers"
kind = "eventually"
when = { timer = { arm = { console_match = { text = "ask" } }, after = "3ms", cancel = { guest_marker = { name = "never mind" } } } }
that = { network_match = { from = ["b"], to = ["a"], protocol = "udp", match = "contains", text = "ok" } }

[[property]]
name = "files first"
kind = "always"
when = { after = "30ms" }
that = { once = { io_pattern = { nodes = ["a"], io = "fsync" } } }

[[property]]
name = "some time"
kind = "sometimes"
unreached = "fail"
that = { all_of = [{ at = "25ms" }, { not = { assertion_state = { name = "p", is = "failed" } } }] }

[[property]]
name = "hung"
kind = "reachable"
that = { any_of = [{ node_state = { is = "hung" } }, { named = "node_crashed:b" }] }

[[property]]
name = "no end"
kind = "unreachable"
that = { all_of = [{ quiescent = true }, { named = "node_crashed:a" }] }

[[property]]
name = "rest"
kind = "after_quiescence"
that = { once = { console_match = { nodes = ["b"], text = "bye" } } }
`;

const SCRIPTS: Readonly<Record<'a' | 'b', readonly Act[]>> = {
  a: [
    [1, 'say', 'ask'],
    [2, 'sync'],
    [6, 'say', 'ask'],
    [40, 'say', 'ask'],
    [41, 'mark', 'never mind'],
  ],
  b: [
    [5, 'send', 'a ok'],
    [12, 'send', 'a ok'],
    [45, 'say', 'bye'],
  ],
};

describe('properties over moments', () => {
  it('CR-21: go on equally from a checkpoint at every step, through its bytes', () => {
    const make = () => scriptedWorld(SCRIPTS, { toml: ALL, events: [CRASH], seed: 2 });
    const whole = make().run().world.results();
    expect(whole.map(({ verdict }) => verdict).sort()).toEqual([
      'pass',
      'pass',
      'pass',
      'pass',
      'pass',
      'pass',
      'pass',
      'pass',
    ]);
    const run = make();
    let boundaries = 0;
    do {
      const other = make();
      const { world, guests } = run.capture();
      const { checker } = world;
      const read = decodeCanonical(encodeCanonical(checker)) as unknown as typeof checker;
      other.restore({ world: { ...world, checker: read }, guests });
      expect(other.run().world.results()).toEqual(whole);
      boundaries++;
    } while (run.step());
    expect(boundaries).toBeGreaterThan(15);
  });

  it('judge moments in the order of time, though guests run ahead of one another', () => {
    // Without links each node runs its whole script before the other runs at all.
    const toml = `
[[property]]
name = "b first"
kind = "always"
when = { console_match = { nodes = ["a"], text = "x" } }
that = { once = { console_match = { nodes = ["b"], text = "y" } } }
`;
    const verdict = (atMs: number): string | undefined => {
      const scripts = { a: [[4, 'say', 'x']], b: [[atMs, 'say', 'y']] } as const;
      const world = scriptedWorld(scripts, { toml, link: { latencyNs: 1000 * MS } }).run().world;
      return world.results()[0]?.verdict;
    };
    expect([verdict(3), verdict(5)]).toEqual(['pass', 'fail']);
  });

  it('cost nothing where there are none: the chains of a run and its checkpoint are as ever', () => {
    const plain = scriptedWorld(SCRIPTS, { toml: '' }).run();
    const watched = scriptedWorld(SCRIPTS, { toml: ALL }).run();
    expect(watched.chains()).toBe(plain.chains());
    expect(plain.capture().world.checker).not.toHaveProperty('temporal');
  });

  it('keep no history: what they remember does not grow with the run', () => {
    const lines = (count: number): readonly Act[] => {
      return Array.from({ length: count }, (_, at) => [at + 1, 'say', 'ask'] as const);
    };
    const size = (count: number): number => {
      const world = scriptedWorld({ a: lines(count) }, { toml: ALL }).run().world;
      return encodeCanonical(world.capture().checker.temporal).length;
    };
    expect(size(2_000) - size(200)).toBeLessThan(64);
  });

  it('CR-53: keep their meaning and id in the exchange form', () => {
    const def: ScenarioDef = {
      ...smallScenario({
        names: ['a', 'b'],
        make: () => {
          throw new Error('no guest');
        },
      }),
      properties: properties(ALL),
    };
    expect(decodeScenario(encodeScenario(def))).toEqual(def);
  });

  it('CR-7: end a run until "property" when all that can pass early are decided', () => {
    const toml = `
[[property]]
name = "up"
kind = "reachable"
unreached = "fail"
that = { console_match = { text = "up" } }
[[property]]
name = "down"
kind = "eventually"
that = { console_match = { text = "down" } }
[[property]]
name = "optional"
kind = "sometimes"
that = { console_match = { text = "other" } }
`;
    const a: readonly Act[] = [
      [1, 'say', 'up'],
      [9, 'say', 'down'],
      [90, 'say', 'other'],
    ];
    const { world } = scriptedWorld({ a }, { toml, until: 'property' }).run();
    expect(world.endReason).toBe('property');
    expect(world.nowNs).toBeLessThan(90 * MS);
    expect(
      world
        .results()
        .filter(isVacuous)
        .map(({ name }) => name),
    ).toEqual(['optional']);
  });

  it('CR-7: end it as soon as one has failed', () => {
    const toml = `
[[property]]
name = "answer"
kind = "eventually"
when = { console_match = { text = "ask" } }
that = { console_match = { text = "answer" } }
within = "5ms"
`;
    const a: readonly Act[] = [
      [1, 'say', 'ask'],
      [50, 'say', 'x'],
      [90, 'say', 'y'],
    ];
    const { world } = scriptedWorld({ a }, { toml, until: 'property' }).run();
    expect(world.results()[0]).toMatchObject({ verdict: 'fail', atNs: 6 * MS });
    expect(world.nowNs).toBeLessThan(90 * MS);
  });

  it('CR-37: fail with one signature, on whatever node, and when nodes are left out', () => {
    const toml = `
[[property]]
name = "alive"
kind = "always"
that = { named = "no_crashed_nodes" }
`;
    const base = smallScenario({
      names: ['a', 'b'],
      make: () => {
        throw new Error('no guest');
      },
    });
    const scenario = { ...base, properties: properties(toml) };
    const signatures = [scenario, withoutNodes(scenario, new Set([0]))].map((each, node) => {
      const world = scriptedWorld(
        {},
        {
          toml,
          events: [{ ...CRASH, action: { kind: 'crash', oneOf: [node] } }],
        },
      ).run().world;
      const outcome = {
        verdict: 'fail',
        reason: 'quiescence',
        properties: world.results(),
      } as const;
      return failureSignature(each, outcome)?.primary;
    });
    expect(signatures[0]).toBe('alive: always: always not <test> is crashed');
    expect(signatures[1]).toBe(signatures[0]);
  });

  it('shrink: what holds at rest keeps the end of its run, and lists of nodes follow', () => {
    const base = smallScenario({
      names: ['a', 'b'],
      make: () => {
        throw new Error('no guest');
      },
    });
    const scenario = { ...base, properties: properties(ALL) };
    expect(onlyProperty(scenario, 'rest').plan.until).toBe('quiescence');
    expect(onlyProperty(scenario, 'hung').plan.until).toBe('property');
    const smaller = withoutNodes(scenario, new Set([0]));
    expect(smaller.properties.map(({ name }) => name)).toEqual([
      'back in time',
      'hung',
      'no-trap',
      'rest',
      'some time',
    ]);
    expect(decodeScenario(encodeScenario(smaller))).toEqual(smaller);
  });

  describe('set events of the plan off', () => {
    const crashes = (that: PredicateDef, more: Partial<EventDef> = {}, scripts = SCRIPTS) => {
      const action = { kind: 'crash', oneOf: [1] } as const;
      const trigger = { kind: 'predicate', that } as const;
      const { name, withinNs, chance } = CRASH;
      const event = { name, withinNs, chance, atNs: 0, action, trigger, ...more };
      return scriptedWorld(scripts, { toml: '', events: [event] });
    };
    const times = (run: ReturnType<typeof crashes>): number[] => {
      return run.world.notes.flatMap(({ kind, atNs }) => (kind === 'crash' ? [atNs] : []));
    };
    const ASK: PredicateDef = { kind: 'console_match', nodes: [0], text: 'ask' };

    it('CR-96: by the same predicates, 1 ns after the moment, once', () => {
      expect(times(crashes(ASK).run())).toEqual([MS + 1]);
      expect(times(crashes(ASK, { atNs: 3 * MS }).run())).toEqual([6 * MS + 1]);
      expect(times(crashes({ kind: 'once', of: ASK }, { atNs: 3 * MS }).run())).toEqual([
        3 * MS + 1,
      ]);
      const late: PredicateDef = { kind: 'console_match', nodes: [1], text: 'bye' };
      expect(times(crashes(late).run())).toEqual([45 * MS + 1]);
    });

    it('FB-73: one that never comes is listed with the reason', () => {
      const run = crashes({ ...ASK, text: 'tell' } as PredicateDef).run();
      expect(times(run)).toEqual([]);
      expect(run.world.idleEvents()).toMatchObject([{ name: 'x', why: 'its trigger never came' }]);
    });

    it('CR-21: and go on equally from a checkpoint at every step', () => {
      const make = () => crashes(ASK, { atNs: 3 * MS });
      const whole = make().run();
      const run = make();
      do {
        const other = make();
        other.restore(run.capture());
        expect(other.run().chains()).toBe(whole.chains());
      } while (run.step());
    });

    it('CR-53: from the text of a scenario, in the exchange form', () => {
      const toml = `
schema_version = 1
name = "x"
[guest.g]
wasm = "g.wasm"
[[node]]
names = ["a", "b"]
guest = "g"
[[event]]
name = "x"
at = "1s"
do = "crash"
node = "b"
after = { that = { console_match = { nodes = ["a"], text = "ask" } } }
`;
      const result = loadScenarioText(toml, 'x.toml', new MemoryFiles());
      if (!result.ok) throw result.errors[0] as Error;
      const { def } = result.scenario;
      expect(def.plan.events[0]?.trigger).toEqual({ kind: 'predicate', that: ASK });
      expect(decodeScenario(encodeScenario(def))).toEqual(def);
      expect(withoutNodes(def, new Set([0])).plan.events).toEqual([]);
    });
  });
});
