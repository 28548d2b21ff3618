import { describe, expect, it } from 'vitest';
import { loadScenarioText, scenario, type CompiledScenario } from '../../scenarios/index.ts';
import {
  decodeScenario,
  encodeScenario,
  scenarioIds,
  sha256,
  encodeUtf8,
} from '../../sim/index.ts';
import { failure } from '../support/failure.ts';
import { MemoryFiles } from './memory-files.ts';

const FILES = new MemoryFiles({ 'conf/a.txt': 'from a file', '../b.txt': 'from above' });

function load(toml: string): CompiledScenario {
  const result = loadScenarioText(toml, 'x.toml', FILES);
  if (!result.ok) throw result.errors[0] as Error;
  return result.scenario;
}

const TOML = `
schema_version = 1
name = "everything"
seed = 7
until = "property"

[guest.server]
builtin = "raft"

[guest.client]
wasm = "client.wasm"

[[node]]
names = ["n1", "n2", "n3"]
guest = "server"
args = ["{name}", "{index}", "--peers={peers}", "{{json}}"]
env = { ZONE = "z", HOME = "/" }

[[node.file]]
path = "/etc/b"
source = "../b.txt"

[[node.file]]
path = "/etc/a"
source = "conf/a.txt"

[[node]]
name = "client"
guest = "client"
args = ["{nodes:server}"]
memory_pages_max = 16
ns_per_thousand_instructions = 500
start = "5ms"
[[node.file]]
path = "/text"
text = "hello"

[network]
latency = "2ms"
jitter = "500us"
loss = "0.1%"
bandwidth = "10mbit"

[[link]]
between = ["n1", "client"]
latency = "1ms"
loss = 5

[[link]]
from = "n2"
to = "n3"
bandwidth = 1000

[[event]]
name = "late"
at = "3s"
do = "restart"

[[event]]
name = "crash"
at = "1s"
within = "1s"
chance = "50%"
do = "crash"
one_of = ["n3", "n1"]

[[event]]
name = "again"
at = "3s"
do = "restart"
node = "n2"

[[event]]
name = "pause"
at = "1s"
do = "pause"
node = "n1"
for = "10ms"

[[event]]
name = "split"
at = "500ms"
do = "partition"
groups = [["n3", "client"], ["n2", "n1"]]

[[event]]
name = "alone"
at = "600ms"
do = "isolate"
node = "n2"

[[event]]
name = "cut"
at = "700ms"
do = "cut"
from = ["n1"]
to = ["n3", "n2"]

[[event]]
name = "heal"
at = "800ms"
do = "heal"

[[event]]
name = "slow"
at = "900ms"
do = "degrade"
loss = "1%"
extra_latency = "3ms"

[[property]]
name = "done"
kind = "exit"
nodes = ["client"]

[[property]]
name = "calm"
kind = "never"
console = "panic"

[[property]]
name = "leader"
kind = "eventually"
console = "leader *"
within = "2s"

[[property]]
name = "one leader"
kind = "unique"
console = "leader of term *"

[[property]]
name = "agreement"
kind = "agree"
nodes = ["n3", "n1", "n2"]
console = "commit * *"

[limits]
virtual_time = "20s"
quanta = 500000
`;

function built(): CompiledScenario {
  return scenario('everything')
    .limits({ virtual_time: '20s', quanta: 500_000 })
    .property({
      name: 'agreement',
      kind: 'agree',
      nodes: ['n1', 'n2', 'n3'],
      console: 'commit * *',
    })
    .property({ name: 'one leader', kind: 'unique', console: 'leader of term *' })
    .property({ name: 'leader', kind: 'eventually', console: 'leader *', within: '2s' })
    .property({ name: 'calm', kind: 'never', console: 'panic' })
    .property({ name: 'done', kind: 'exit', nodes: ['client'], code: 0 })
    .event({ name: 'slow', at: '900ms', do: 'degrade', loss: 10_000, extra_latency: '3ms' })
    .event({ name: 'heal', at: '800ms', do: 'heal' })
    .event({ name: 'cut', at: '700ms', do: 'cut', from: ['n1'], to: ['n2', 'n3'] })
    .event({ name: 'alone', at: '600ms', do: 'isolate', node: 'n2' })
    .event({
      name: 'split',
      at: '500ms',
      do: 'partition',
      groups: [
        ['n1', 'n2'],
        ['client', 'n3'],
      ],
    })
    .event({ name: 'pause', at: '1s', do: 'pause', node: 'n1', for: '10ms' })
    .event({ name: 'again', at: '3s', do: 'restart', node: 'n2' })
    .event({ name: 'late', at: '3s', do: 'restart' })
    .event({
      name: 'crash',
      at: '1s',
      within: '1s',
      chance: 500_000,
      do: 'crash',
      one_of: ['n1', 'n3'],
    })
    .link({ from: 'n2', to: 'n3', bandwidth: '1kbit' })
    .link({ between: ['client', 'n1'], latency: '1ms', loss: '0.0005%' })
    .network({ latency: '2ms', jitter: '500us', loss: 1_000, bandwidth: 10_000_000 })
    .node({
      names: ['n1', 'n2', 'n3'],
      guest: 'server',
      args: ['{name}', '{index}', '--peers={peers}', '{{json}}'],
      env: { HOME: '/', ZONE: 'z' },
      file: [
        { path: '/etc/a', text: 'from a file' },
        { path: '/etc/b', text: 'from above' },
      ],
    })
    .node({
      name: 'client',
      guest: 'client',
      args: ['{nodes:server}'],
      memory_pages_max: 16,
      ns_per_thousand_instructions: 500,
      start: '5ms',
      file: [{ path: '/text', text: 'hello' }],
    })
    .guest('client', { wasm: 'client.wasm' })
    .guest('server', { builtin: 'raft' })
    .until('property')
    .seed(7)
    .build(FILES);
}

describe('scenarios from text and from TypeScript', () => {
  it('CR-53: both give the same bytes, whatever the order of declaration', () => {
    const text = encodeScenario(load(TOML).def);
    expect(encodeScenario(built().def)).toStrictEqual(text);
    expect(decodeScenario(text)).toStrictEqual(load(TOML).def);
  });

  it('CR-64: links, events, properties, files and node lists come in canonical order', () => {
    const { def } = load(TOML);
    expect(def.plan.events.map((event) => event.name)).toEqual([
      'split',
      'alone',
      'cut',
      'heal',
      'slow',
      'crash',
      'pause',
      'again',
      'late',
    ]);
    expect(def.properties.map((property) => property.name)).toEqual([
      'agreement',
      'calm',
      'done',
      'leader',
      'no-trap',
      'one leader',
    ]);
    expect(def.world.links.map(({ from, to }) => `${from}${to}`).join(' ')).toBe(
      '01 02 03 10 12 13 20 21 23 30 31 32',
    );
    expect(def.plan.events[0]?.action).toEqual({
      kind: 'partition',
      groups: [
        [0, 1],
        [2, 3],
      ],
    });
    expect(def.world.nodes[0]?.files.map((file) => file.path)).toEqual(['/etc/a', '/etc/b']);
  });

  it('resolves nodes with their arguments, environment and defaults', () => {
    const [n1, , , client] = load(TOML).def.world.nodes;
    expect(n1?.args).toEqual(['n1', '0', '--peers=n2,n3', '{json}']);
    expect(n1?.env).toEqual([
      ['HOME', '/'],
      ['ZONE', 'z'],
    ]);
    expect([n1?.memoryPagesMax, n1?.nsPerThousandInstructions, n1?.startNs]).toEqual([
      4_096, 1_000, 0,
    ]);
    expect(client?.args).toEqual(['n1,n2,n3']);
    expect([client?.memoryPagesMax, client?.nsPerThousandInstructions, client?.startNs]).toEqual([
      16, 500, 5_000_000,
    ]);
    expect(client?.guest).toEqual({
      kind: 'wasm',
      image: sha256(encodeUtf8('image client.wasm')),
      label: 'client',
    });
  });

  it('merges link settings over the network', () => {
    const { links } = load(TOML).def.world;
    const common = { latencyNs: 2_000_000, jitterNs: 500_000, loss: 1_000, bandwidth: 10_000_000 };
    expect(links[0]).toEqual({ from: 0, to: 1, ...common });
    expect(links[2]).toEqual({ from: 0, to: 3, ...common, latencyNs: 1_000_000, loss: 5 });
    expect(links[9]).toEqual({ from: 3, to: 0, ...common, latencyNs: 1_000_000, loss: 5 });
    expect(links[8]).toEqual({ from: 2, to: 3, ...common });
    expect(links[5]).toEqual({ from: 1, to: 3, ...common });
    expect(links[4]).toEqual({ from: 1, to: 2, ...common, bandwidth: 1_000 });
  });

  it('a topology of none leaves only the links that are named', () => {
    const { links } = load(`
schema_version = 1
name = "x"
[guest.g]
wasm = "g.wasm"
[[node]]
names = ["a", "b", "c"]
guest = "g"
[network]
topology = "none"
[[link]]
from = "c"
to = "a"
`).def.world;
    expect(links).toEqual([
      { from: 2, to: 0, latencyNs: 1_000_000, jitterNs: 0, loss: 0, bandwidth: null },
    ]);
  });

  it('FB-60: keeps the local files under names that stay inside a folder', () => {
    const names = load(TOML).sources.map((source) => source.name);
    expect(names).toEqual(['up/b.txt', 'conf/a.txt']);
  });

  it('keeps each image once, by its SHA-256', () => {
    const { images, def } = load(TOML);
    expect([...images.keys()].sort()).toEqual(
      [sha256(encodeUtf8('built-in raft')), sha256(encodeUtf8('image client.wasm'))].sort(),
    );
    for (const node of def.world.nodes) expect(images.has(node.guest.image)).toBe(true);
  });

  it('CR-51: a name in the text is no part of the identity', () => {
    const renamed = TOML.replace('name = "everything"', 'name = "other"');
    expect(scenarioIds(load(renamed).def)).toEqual(scenarioIds(load(TOML).def));
  });

  it('a builder refuses what the text refuses, by key path', () => {
    const error = failure(() => {
      scenario('x')
        .guest('g', { wasm: 'g.wasm' })
        .node({ name: 'a', guest: 'g' })
        .event({ name: 'e', at: '1s', do: 'crash', node: 'b' })
        .build(FILES);
    });
    expect([error.code, error.place]).toEqual(['scenario/dangling', 'x: event[0].node']);
  });
});
