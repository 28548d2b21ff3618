import { describe, expect, it } from 'vitest';
import { loadScenarioText, LocalFiles, type CompileResult } from '../../scenarios/index.ts';
import {
  admitScenario,
  bakeScenario,
  decodeScenario,
  encodeScenario,
  NS_PER_MS,
  NS_PER_S,
  scenarioIds,
  type MachineDef,
  type ScenarioDef,
} from '../../sim/index.ts';
import { failure } from '../support/failure.ts';

class Kernels extends LocalFiles {
  override read(path: string): Uint8Array {
    return path === 'kernel' ? Uint8Array.of(1) : super.read(path);
  }
}

function load(machine: string, rest = ''): CompileResult {
  const text = `schema_version = 1
name = "m"
[guest.linux.machine]
kernel = "kernel"
${machine}
[guest.client]
builtin = "echo-client"
[[node]]
names = ["n1", "n2"]
guest = "linux"
[[node]]
name = "c1"
guest = "client"
${rest}`;
  return loadScenarioText(text, 'x.toml', new Kernels('.'));
}

function defOf(result: CompileResult): ScenarioDef {
  if (!result.ok) throw new Error(result.errors.map(({ message }) => message).join('\n'));
  return result.scenario.def;
}

function machineOf(def: ScenarioDef, node = 0): MachineDef {
  const guest = def.world.nodes[node]?.guest;
  if (guest?.kind !== 'vm') throw new Error('it is no machine');
  return guest.machine;
}

function errors(result: CompileResult): readonly string[] {
  if (result.ok) return [];
  return result.errors.map(({ code, place, message }) => `${place ?? ''} | ${code} | ${message}`);
}

describe('CR-55: ready points in a scenario', () => {
  it.each([
    ['ready = "bell"', { kind: 'bell' }],
    ['ready = { console = "became leader" }', { kind: 'console', text: 'became leader' }],
    ['ready = { instructions = 7 }', { kind: 'instructions', count: 7 }],
    ['ready = { network_idle_ms = 500 }', { kind: 'network-idle', forNs: 500 * NS_PER_MS }],
  ])('%s', (text, when) => {
    const def = defOf(load(text));
    expect(machineOf(def).ready).toEqual({ when, withinNs: 120 * NS_PER_S });
    expect(decodeScenario(encodeScenario(def))).toEqual(def);
  });

  it('take the time that they are given, and no more', () => {
    const def = defOf(load('ready = "bell"\nready_within = "5s"'));
    expect(machineOf(def).ready?.withinNs).toBe(5 * NS_PER_S);
    expect(errors(load('ready_within = "5s"'))[0]).toMatch(/x.toml.*ready_within.*says how long/);
  });

  it('are refused where they are none', () => {
    for (const text of ['"later"', '{}', '{ console = "" }', '{ instructions = 0 }', '7']) {
      expect(errors(load(`ready = ${text}`))[0], text).toMatch(/ready/);
    }
    expect(errors(load('ready = { console = "a\\nb" }'))[0]).toContain('a part of one line');
    const idle = 'ready = { network_idle_ms = 9000 }\nready_within = "5s"';
    expect(errors(load(idle))[0]).toContain('idle for longer than all may take');
    const def = defOf(load('ready = "bell"'));
    const ready = { when: { kind: 'instructions', count: 0 }, withinNs: 1 } as const;
    const nodes = def.world.nodes.map((node) => {
      if (node.guest.kind !== 'vm') return node;
      const machine = { ...node.guest.machine, ready };
      return { ...node, guest: { ...node.guest, machine } };
    });
    const refused = failure(() => admitScenario({ ...def, world: { ...def.world, nodes } }));
    expect(refused.code).toBe('scenario/machine');
  });

  it('belong to the world’s identity, and one that has none keeps its own', () => {
    const ids = [load(''), load('ready = "bell"'), load('ready = { instructions = 7 }')].map(
      (result) => scenarioIds(defOf(result)).world,
    );
    expect(new Set(ids).size).toBe(3);
    expect(Object.keys(machineOf(defOf(load(''))))).not.toContain('ready');
  });
});

describe('CR-55: the world in which a machine gets ready', () => {
  const worldId = (result: CompileResult, node = 0): string => {
    return scenarioIds(bakeScenario(defOf(result), node, NS_PER_S)).world;
  };

  it('has the machine alone: no links, no plan, nobody else who starts', () => {
    const rest =
      '[network]\nlatency = "1ms"\n[[event]]\nname = "e"\nat = "1s"\ndo = "crash"\nnode = "n1"';
    const { world, plan } = bakeScenario(defOf(load('ready = "bell"', rest)), 1, NS_PER_S);
    expect(world.links).toEqual([]);
    expect(plan.events).toEqual([]);
    expect(world.nodes.map(({ guest, startNs }) => [guest.kind, startNs < NS_PER_S])).toEqual([
      ['wasm', false],
      ['vm', true],
      ['wasm', false],
    ]);
    expect(world.nodes.map(({ name }) => name)).toEqual(['n1', 'n2', 'c1']);
  });

  it('is one for all that differ in what the machine cannot know', () => {
    const plain = load('ready = "bell"');
    const event = '[[event]]\nname = "e"\nat = "1s"\ndo = "crash"\nnode = "n1"';
    expect(worldId(load('ready = { instructions = 7 }', event))).toBe(worldId(plain));
    expect(worldId(plain, 1)).not.toBe(worldId(plain, 0));
    expect(worldId(load('ready = "bell"\nmemory_mib = 64'))).not.toBe(worldId(plain));
  });

  it('keeps how quick the disk is, and leaves out what is drawn', () => {
    const rest =
      '[disk]\ncrash = "reordered"\nsync_latency = "2ms"\nread_error = "1%"\njitter = "1ms"';
    const { world } = bakeScenario(defOf(load('ready = "bell"', rest)), 0, NS_PER_S);
    expect(world.nodes[0]?.disk).toMatchObject({
      crash: 'reordered',
      rule: { syncLatencyNs: 2 * NS_PER_MS, readError: 0, jitterNs: 0 },
    });
    const later =
      '[[event]]\nname = "e"\nat = "1s"\ndo = "disk"\nnodes = ["n1"]\nread_error = "1%"';
    const struck = defOf(load('ready = "bell"', later));
    expect(bakeScenario(struck, 0, NS_PER_S).world.nodes[0]?.disk).toBeDefined();
    expect(bakeScenario(struck, 1, NS_PER_S).world.nodes[1]?.disk).toBeUndefined();
  });
});
