import { describe, expect, it } from 'vitest';
import {
  admitScenario,
  decodeCanonical,
  decodeScenario,
  encodeCanonical,
  encodeScenario,
  LINK_FLOOR_NS,
  scenarioIds,
  type ScenarioDef,
  type ScenarioIds,
} from '../../sim/index.ts';
import { failure } from '../support/failure.ts';
import { sampleScenario } from './sample.ts';

/** Which ids differ. */
function changed(change: (def: ScenarioDef) => ScenarioDef): string[] {
  const before = scenarioIds(sampleScenario());
  const after = scenarioIds(change(sampleScenario()));
  return (Object.keys(before) as (keyof ScenarioIds)[]).filter((id) => before[id] !== after[id]);
}

/** Edits the decoded exchange form and encodes it again. */
function edited(edit: (document: Record<string, never>) => void): Uint8Array {
  const document = decodeCanonical(encodeScenario(sampleScenario()));
  edit(document as Record<string, never>);
  return encodeCanonical(document);
}

describe('the identity of a scenario', () => {
  it('CR-51: changing one part changes only its id and the scenario id', () => {
    expect(
      changed((def) => ({
        ...def,
        world: { ...def.world, links: def.world.links.map((link) => ({ ...link, loss: 7 })) },
      })),
    ).toEqual(['world', 'scenario']);
    expect(
      changed((def) => ({ ...def, plan: { ...def.plan, events: def.plan.events.slice(1) } })),
    ).toEqual(['plan', 'scenario']);
    expect(changed((def) => ({ ...def, properties: def.properties.slice(1) }))).toEqual([
      'properties',
      'scenario',
    ]);
    expect(changed((def) => ({ ...def, seed: 43 }))).toEqual(['seed', 'scenario']);
  });

  it('names and labels are no part of any id', () => {
    expect(changed((def) => ({ ...def, name: 'other' }))).toEqual([]);
    const relabel = (def: ScenarioDef): ScenarioDef => ({
      ...def,
      world: {
        ...def.world,
        nodes: def.world.nodes.map((node) => ({ ...node, guest: { ...node.guest, label: 'x' } })),
      },
    });
    expect(changed(relabel)).toEqual([]);
  });

  it('golden: the ids of the sample never change silently', () => {
    expect(scenarioIds(sampleScenario())).toMatchInlineSnapshot(`
      {
        "plan": "826becfd5e198532b71c6c452f3caef4311f2399bf8b27c3b05864636390d85e",
        "properties": "099742b41669e4109649e0c53c3aa8e418adda7fb026f35dcf3a7e8cae387609",
        "scenario": "7e962ccc3ee0ecd496ab8b971aa5d3080a3b0111d238d161f6fbf172e3f3c49f",
        "seed": "ec9e3a2548ef355521148ba4fc4e6e59765de51a0a96904a55d2ff9dc1eeb49c",
        "world": "9c7ee81e7fc3e01c5aed2a808c2ca1075b63f58fcddc58974a5d3556d17d08bc",
      }
    `);
  });

  it('CR-53: the exchange form round-trips and is canonical', () => {
    const bytes = encodeScenario(sampleScenario());
    expect(decodeScenario(bytes)).toStrictEqual(sampleScenario());
    expect(encodeScenario(decodeScenario(bytes))).toStrictEqual(bytes);
  });

  it('CR-53: a stale id is reported with field, expected and found', () => {
    const ids = scenarioIds(sampleScenario());
    const stale = edited((document) => {
      (document['plan'] as { until: string }).until = 'property';
    });
    const error = failure(() => decodeScenario(stale));
    const found = scenarioIds({
      ...sampleScenario(),
      plan: { ...sampleScenario().plan, until: 'property' },
    });
    expect([error.code, error.place, error.message]).toEqual([
      'scenario/stale-id',
      'ids.plan',
      `the id in field "plan" is stale: expected ${ids.plan}, found ${found.plan}`,
    ]);
  });

  it.each<[string, string, string, (document: Record<string, never>) => void]>([
    ['an unknown field', 'bundle/shape', 'colour', (d) => Object.assign(d, { colour: 1 })],
    [
      'an unknown nested field',
      'bundle/shape',
      'world.nodes[0].colour',
      (d) => Object.assign((d['world'] as { nodes: object[] }).nodes[0] as object, { colour: 1 }),
    ],
    [
      'an unknown variant',
      'bundle/shape',
      'plan.events[0].action.kind',
      (d) =>
        Object.assign((d['plan'] as { events: { action: object }[] }).events[0]?.action ?? {}, {
          kind: 'explode',
        }),
    ],
    [
      'a missing field',
      'bundle/shape',
      'seed',
      (d) => {
        delete d['seed'];
      },
    ],
    [
      'an unknown version',
      'bundle/version',
      'scenario.schema_version',
      (d) => Object.assign(d, { schema_version: 2 }),
    ],
    [
      'no version',
      'bundle/version',
      'scenario.schema_version',
      (d) => {
        delete d['schema_version'];
      },
    ],
  ])('CR-53: %s is refused', (_name, code, place, edit) => {
    const error = failure(() => decodeScenario(edited(edit)));
    expect([error.code, error.place]).toEqual([code, place]);
    expect(error.exitCode).toBe(5);
  });
});

type Edit = (def: {
  -readonly [K in keyof ScenarioDef]: ScenarioDef[K];
}) => void;

/** Sets a value deep inside, by path. */
function at(path: string, value: unknown): Edit {
  return (def) => {
    const keys = path.split('.');
    const last = keys.pop() as string;
    let holder: Record<string, unknown> = def as unknown as Record<string, unknown>;
    for (const key of keys) holder = holder[key] as Record<string, unknown>;
    holder[last] = value;
  };
}

describe('admission', () => {
  it('takes the sample', () => {
    expect(() => admitScenario(sampleScenario())).not.toThrow();
  });

  it.each<[string, string, string, Edit]>([
    ['no node', 'scenario/empty', 'world.nodes', at('world.nodes', [])],
    ['a bad node name', 'scenario/name', 'world.nodes[0].name', at('world.nodes.0.name', 'A b')],
    ['a name twice', 'scenario/duplicate', 'world.nodes[2].name', at('world.nodes.2.name', 'a')],
    [
      'a short hash',
      'scenario/image',
      'world.nodes[1].guest.image',
      at('world.nodes.1.guest.image', 'ab'),
    ],
    ['a dangling link', 'scenario/range', 'world.links[0].to', at('world.links.0.to', 3)],
    ['a link to itself', 'scenario/link', 'world.links[0]', at('world.links.0.to', 0)],
    ['a link twice', 'scenario/order', 'world.links[1]', at('world.links.1.to', 1)],
    [
      'a negative latency',
      'scenario/range',
      'world.links[0].latencyNs',
      at('world.links.0.latencyNs', -1),
    ],
    ['a fraction of time', 'scenario/range', 'plan.events[0].atNs', at('plan.events.0.atNs', 0.5)],
    [
      'a huge memory',
      'scenario/range',
      'world.nodes[0].memoryPagesMax',
      at('world.nodes.0.memoryPagesMax', 65537),
    ],
    ['an event out of order', 'scenario/order', 'plan.events[1]', at('plan.events.0.atNs', 21)],
    [
      'an event without nodes',
      'scenario/empty',
      'plan.events[0].action.oneOf',
      at('plan.events.0.action.oneOf', []),
    ],
    [
      'nodes out of order',
      'scenario/order',
      'plan.events[0].action.oneOf[1]',
      at('plan.events.0.action.oneOf', [1, 0]),
    ],
    [
      'a dangling node',
      'scenario/range',
      'plan.events[0].action.oneOf[0]',
      at('plan.events.0.action.oneOf', [9]),
    ],
    [
      'one group',
      'scenario/groups',
      'plan.events[3].action.groups',
      at('plan.events.3.action.groups', [[0]]),
    ],
    [
      'a node in two groups',
      'scenario/groups',
      'plan.events[3].action.groups',
      at('plan.events.3.action.groups', [
        [0, 1],
        [1, 2],
      ]),
    ],
    [
      'an endless pause',
      'scenario/range',
      'plan.events[2].action.forNs',
      at('plan.events.2.action.forNs', Number.MAX_SAFE_INTEGER),
    ],
    [
      'a loss above one',
      'scenario/range',
      'plan.events[7].action.loss',
      at('plan.events.7.action.loss', 1_000_001),
    ],
    ['no chance', 'scenario/range', 'plan.events[0].chance', at('plan.events.0.chance', 0)],
    ['a slash in a name', 'scenario/name', 'plan.events[0].name', at('plan.events.0.name', 'a/b')],
    [
      'agree with one star',
      'scenario/pattern',
      'properties[0].console',
      at('properties.0.console', 'x *'),
    ],
    [
      'unique without a star',
      'scenario/pattern',
      'properties[5].console',
      at('properties.5.console', 'x'),
    ],
    [
      'an empty pattern',
      'scenario/pattern',
      'properties[3].console',
      at('properties.3.console', ''),
    ],
    [
      'a relative file',
      'scenario/file-path',
      'world.nodes[0].files',
      at('world.nodes.0.files.0.path', 'etc/x'),
    ],
    [
      'a climbing file',
      'scenario/file-path',
      'world.nodes[0].files',
      at('world.nodes.0.files.0.path', '/etc/../x'),
    ],
    [
      'a zero in an argument',
      'scenario/text',
      'world.nodes[0].args[0]',
      at('world.nodes.0.args.0', 'a\0b'),
    ],
    [
      'a bad variable',
      'scenario/env',
      'world.nodes[0].env',
      at('world.nodes.0.env.0', ['A=B', 'c']),
    ],
    ['a negative seed', 'scenario/range', 'seed', at('seed', -1)],
    ['no time', 'scenario/range', 'plan.limits.virtualNsMax', at('plan.limits.virtualNsMax', 0)],
  ])('CR-5: refuses %s', (_name, code, place, edit) => {
    const def = sampleScenario();
    edit(def);
    const error = failure(() => admitScenario(def));
    expect([error.code, error.place]).toEqual([code, place]);
    expect(error.exitCode).toBe(5);
  });

  it('CR-54: latency less jitter stays above the floor', () => {
    const def = sampleScenario();
    at('world.links.0.latencyNs', 5_000)(def);
    at('world.links.0.jitterNs', 5_000 - LINK_FLOOR_NS)(def);
    expect(() => admitScenario(def)).not.toThrow();
    at('world.links.0.jitterNs', 5_001 - LINK_FLOOR_NS)(def);
    const error = failure(() => admitScenario(def));
    expect([error.code, error.message, error.place]).toEqual([
      'scenario/jitter',
      'the scenario is refused: latency less jitter is 999 ns, the floor is 1000 ns',
      'world.links[0].jitterNs',
    ]);
  });
});
