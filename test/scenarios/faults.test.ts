import { describe, expect, it } from 'vitest';
import { loadScenarioText } from '../../scenarios/index.ts';
import { decodeScenario, encodeScenario, scenarioIds, type EventDef } from '../../sim/index.ts';
import { MemoryFiles } from './memory-files.ts';

const HEAD = `schema_version = 1
name = "x"
`;
const BASE = `[guest.g]
wasm = "g.wasm"
[guest.next]
wasm = "next.wasm"
[[node]]
names = ["a", "b"]
guest = "g"
`;

function compile(text: string) {
  const result = loadScenarioText(text, 'x.toml', new MemoryFiles());
  if (!result.ok) throw result.errors[0] as Error;
  return result.scenario;
}

function errors(text: string): string {
  const result = loadScenarioText(text, 'x.toml', new MemoryFiles());
  if (result.ok) return 'accepted';
  return result.errors.map(({ code, message }) => `${code} | ${message}`).join('\n');
}

function event(name: string, at: string, keys: string): string {
  return `[[event]]\nname = "${name}"\nat = "${at}"\n${keys}\n`;
}

const WHOLE = `${HEAD}
swarm = true
[liveness]
at = "30s"
${BASE}
clock = { offset = "-3s", drift = 50 }

[network]
bandwidth = "10mbit"
burst = { enter = "0.1%", leave = "20%" }
duplicate = "1%"
duplicate_within = "1ms"
corrupt = 10

[[link]]
from = "a"
to = "b"
reorder = "2%"
reorder_within = "5ms"
corrupt_undetected = 1
queue = 64000
red = { from = 1000, to = 60000, chance = "10%" }
mtu = 576
oversize = "fragment"
${event('1', '1s', 'do = "wipe"\none_of = ["a", "b"]\nfor = "2s"')}
${event('2', '2s', 'do = "kill"\nnode = "a"\nafter = { node = "b", quanta = 7 }')}
${event('3', '3s', 'do = "upgrade"\nnode = "a"\nguest = "next"')}
${event('4', '4s', 'do = "slow"\nnode = "a"\ncpu = "25%"\nfor = "1s"')}
${event('5', '5s', 'do = "clock"\nnode = "a"\njump = "-2s"')}
${event('6', '6s', 'do = "clock"\nnode = "a"\nleap = "smear"\nover = "20s"')}
${event('7', '7s', 'do = "clock"\nnode = "b"\nleap = "repeat"')}
${event('8', '8s', 'do = "stick"\nfrom = ["a"]\nto = ["b"]\nfor = "1s"')}
${event('9', '9s', 'do = "cut"\nfrom = ["a"]\nto = ["b"]\nin_flight = "deliver"')}
${event('a', '10s', 'do = "crash"\nnode = "a"\nwithin = "5s"\nevery = "1s"\nfor = "10ms"')}
${event('b', '11s', 'do = "degrade"\nbandwidth = "1mbit"\nburst = { enter = 1, leave = 2, loss = 3 }')}
${event('c', '12s', 'do = "pause"\nnode = "a"\nfor = "1s"\nafter = { stream = "link/a/b/loss", ordinal = 3 }')}
${event('d', '13s', 'do = "clock"\nnode = "a"\nfreeze = "both"\nafter = { node = "a", effect = "entropy", count = 2 }')}
`;

describe('a scenario with every fault', () => {
  it('CR-53: is compiled whole, and comes back equal from its exchange form', () => {
    const { def, images } = compile(WHOLE);
    expect(decodeScenario(encodeScenario(def))).toEqual(def);
    expect(images.size).toBe(2);
    expect(def.plan.swarm).toEqual(['clock', 'crash', 'link', 'partition', 'pause']);
    expect(def.plan.liveness).toEqual({ atNs: 30e9 });
    expect(def.world.nodes[1]?.clock).toEqual({ offsetNs: -3e9, driftPpm: 50 });
    const common = {
      burst: { enter: 1_000, leave: 200_000, loss: 1_000_000 },
      duplicate: { chance: 10_000, gapNs: 1e6 },
      corrupt: 10,
    };
    expect(def.world.links.map(({ faults }) => faults)).toEqual([
      {
        ...common,
        reorder: { chance: 20_000, windowNs: 5e6 },
        corruptUndetected: 1,
        queueBytes: 64_000,
        red: { fromBytes: 1_000, toBytes: 60_000, chance: 100_000 },
        mtu: { bytes: 576, oversize: 'fragment' },
      },
      common,
    ]);
    const short = def.plan.events.map(({ action, forNs, trigger }: EventDef) => {
      return [action, forNs, trigger];
    });
    const smear = { kind: 'slew', byNs: -1e9, overNs: 20e9 };
    const quanta = { kind: 'quantum', node: 1, count: 7 };
    expect(short.slice(1, 8)).toMatchObject([
      [{ kind: 'kill', oneOf: [0] }, undefined, quanta],
      [{ kind: 'upgrade', guest: { label: 'next' } }, undefined, undefined],
      [{ kind: 'slow', cpu: 250_000 }, 1e9, undefined],
      [{ kind: 'clock', change: { kind: 'jump', byNs: -2e9 } }, undefined, undefined],
      [{ kind: 'clock', change: smear }, undefined, undefined],
      [{ kind: 'clock', change: { kind: 'jump', byNs: -1e9 } }, undefined, undefined],
      [{ kind: 'stick', from: [0], to: [1] }, 1e9, undefined],
    ]);
  });

  it('CR-51: what is not asked for stands in no id, and a label in none either', () => {
    const plain = compile(HEAD + BASE).def;
    expect(Object.keys(plain.plan)).toEqual(['events', 'until', 'limits']);
    expect(Object.keys(plain.world.links[0] ?? {})).not.toContain('faults');
    const ids = scenarioIds(compile(WHOLE).def);
    const renamed = WHOLE.replace('[guest.next]', '[guest.other]').replace('"next"', '"other"');
    expect(scenarioIds(compile(renamed).def)).toEqual(ids);
  });
});

const crash = (name: string, at: string, more = ''): string => {
  return event(name, at, `do = "crash"\nnode = "a"${more}`);
};

describe('faults that are refused', () => {
  const rows: readonly (readonly [name: string, text: string, expected: RegExp])[] = [
    [
      'CR-82: crash and restart at one moment',
      crash('x', '1s') + event('y', '1s', 'do = "restart"\nnode = "a"'),
      /^scenario\/conflict \| "x" and "y" contradict each other on a$/,
    ],
    [
      'CR-82: a restart within a crash that ends itself',
      crash('x', '1s', '\nfor = "2s"') + event('y', '2s', 'do = "restart"\nnode = "a"'),
      /^scenario\/conflict/,
    ],
    [
      'CR-82: two speeds at once',
      event('x', '1s', 'do = "slow"\nnode = "a"\ncpu = "10%"\nfor = "5s"') +
        event('y', '3s', 'do = "slow"\nnode = "a"\ncpu = "20%"\nfor = "1s"'),
      /^scenario\/conflict/,
    ],
    [
      'CR-82: cut and heal at one moment',
      event('x', '1s', 'do = "isolate"\nnode = "a"') + event('y', '1s', 'do = "heal"'),
      /^scenario\/conflict/,
    ],
    [
      'CR-82: two degradations that overlap',
      event('x', '1s', 'do = "degrade"\nloss = "1%"\nfor = "5s"') +
        event('y', '2s', 'do = "degrade"\nnodes = ["a", "b"]\nloss = "2%"\nfor = "1s"'),
      /^scenario\/conflict/,
    ],
    [
      'a heal that ends itself',
      event('x', '1s', 'do = "heal"\nfor = "1s"'),
      /"heal" is nothing that ends/,
    ],
    [
      'a clock event with two changes',
      event('x', '1s', 'do = "clock"\nnode = "a"\njump = "1s"\ndrift = 3'),
      /^scenario\/clock \| a clock event has exactly one of/,
    ],
    [
      'a slew that runs backwards',
      event('x', '1s', 'do = "clock"\nnode = "a"\nslew = "-2s"\nover = "1s"'),
      /does not run backwards/,
    ],
    ['no speed', event('x', '1s', 'do = "slow"\nnode = "a"\ncpu = 0'), /^scenario\/fault/],
    [
      'a build that is not there',
      event('x', '1s', 'do = "upgrade"\nnode = "a"\nguest = "no"'),
      /^scenario\/dangling \| no guest is called "no"; the guests are g, next$/,
    ],
    ['an empty trigger', crash('x', '1s', '\nafter = {}'), /^scenario\/trigger/],
    ['a hazard of no time', crash('x', '1s', '\nevery = "1s"'), /a hazard lasts for some time/],
    ['a swarm of nothing', `swarm = true\n`, /^scenario\/swarm/],
    ['a queue without a bandwidth', '[network]\nqueue = 5\n', /^scenario\/fault \| nothing waits/],
    ['a share that never comes', '[network]\ncorrupt = 0\n', /what never happens is left out/],
    ['a tiny MTU', '[network]\nmtu = 20\n', /it is within 68 to 65535 bytes/],
    [
      'a liveness phase after the end',
      '[liveness]\nat = "99s"\n',
      /the run is over before the faults are lifted/,
    ],
  ];
  it.each(rows)('%s', (_, text, expected) => {
    const top = text.startsWith('swarm');
    expect(errors(top ? HEAD + text + BASE : HEAD + BASE + text)).toMatch(expected);
  });

  it.each([
    ['a crash and a later restart', crash('x', '1s') + event('y', '2s', 'do = "restart"')],
    [
      'a jump and a drift at once',
      event('x', '1s', 'do = "clock"\nnode = "a"\njump = "1s"') +
        event('y', '1s', 'do = "clock"\nnode = "a"\ndrift = 9'),
    ],
    [
      'cuts that overlap',
      event('x', '1s', 'do = "isolate"\nnode = "a"\nfor = "5s"') +
        event('y', '2s', 'do = "cut"\nfrom = ["a"]\nto = ["b"]\nfor = "1s"'),
    ],
    ['one after the other', crash('x', '1s', '\nfor = "1s"') + crash('y', '2s', '\nfor = "1s"')],
  ])('CR-82: but not %s', (_, text) => {
    expect(errors(HEAD + BASE + text)).toBe('accepted');
  });
});
