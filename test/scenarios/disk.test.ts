import { describe, expect, it } from 'vitest';
import { loadScenarioText } from '../../scenarios/index.ts';
import { decodeScenario, encodeScenario, scenarioIds, type ScenarioDef } from '../../sim/index.ts';
import { MemoryFiles } from './memory-files.ts';

const HEAD = 'schema_version = 1\nname = "x"\n[guest.g]\nwasm = "g.wasm"\n';
const NODES = '[[node]]\nnames = ["a", "b", "c"]\nguest = "g"\n';

function load(toml: string): ScenarioDef | string {
  const result = loadScenarioText(HEAD + toml, 'x.toml', new MemoryFiles());
  if (result.ok) return result.scenario.def;
  return result.errors
    .map(({ place, code, message }) => `${place} | ${code} | ${message}`)
    .join('\n');
}

function event(name: string, at: string, keys: string): string {
  return `[[event]]\nname = "${name}"\nat = "${at}"\ndo = "disk"\n${keys}\n`;
}

describe('disks in a scenario', () => {
  const whole =
    '[disk]\nsector = 4096\ncrash = "reordered"\nread_latency = "10us"\n' +
    '[disk_atlas]\nnodes = ["c", "a", "b"]\nfaulty = 1\nchunk = "64kib"\n' +
    NODES +
    '[node.disk]\nsector = 512\ntear = "50%"\nbytes_per_second = "100mib"\n' +
    event('rot', '1s', 'nodes = ["b"]\npath = "/data/*"\nbytes = [0, "4kib"]\nbit_rot = 10') +
    '[[event]]\nname = "mend"\nat = "2s"\ndo = "disk-heal"\nrepair = true\n';

  it('are compiled, and come back from the exchange form (CR-53)', () => {
    const def = load(whole) as ScenarioDef;
    expect(def.world.atlas).toEqual({ nodes: [0, 1, 2], faultyMax: 1, chunkBytes: 65_536 });
    expect(def.world.nodes[0]?.disk).toMatchObject({
      sectorBytes: 512,
      crash: 'reordered',
      tear: 500_000,
      pageCache: true,
      rule: { readLatencyNs: 10_000, bytesPerSecond: 104_857_600, bitRot: 0 },
    });
    expect(def.plan.events.map(({ action }) => action)).toMatchObject([
      { kind: 'disk', nodes: [1], rule: { path: '/data/*', toByte: 4096, bitRot: 10 } },
      { kind: 'disk-heal', nodes: [], repair: true },
    ]);
    const again = decodeScenario(encodeScenario(def));
    expect(again).toEqual(def);
    expect(scenarioIds(again)).toEqual(scenarioIds(def));
  });

  it('that nothing is said of leave no trace in a scenario and its ids', () => {
    const def = load(NODES) as ScenarioDef;
    expect(Object.keys(def.world.nodes[0] ?? {})).not.toContain('disk');
    expect(Object.keys(def.world)).toEqual(['nodes', 'links']);
  });

  const refused: readonly (readonly [name: string, toml: string, expected: string])[] = [
    ['a sector of another size', `[disk]\nsector = 1024\n${NODES}`, 'expected 512 or 4096'],
    [
      'a tear of a page of one sector',
      `[disk]\nsector = 4096\ncrash = "ordered"\ntear = 1\n${NODES}`,
      'x.toml:5:2: disk | scenario/disk | a page of one sector cannot tear',
    ],
    ['a tear with a policy that never tears', `[disk]\ntear = 1\n${NODES}`, 'nothing can tear'],
    [
      'dispositions above the whole',
      NODES + event('e', '1s', 'lost_write = "60%"\ntorn_write = "60%"'),
      'x.toml:8:3: event[0] | scenario/disk | lost, torn and misdirected writes exclude one another',
    ],
    ['an event that does nothing', NODES + event('e', '1s', ''), 'it does nothing'],
    ['a stall without end', NODES + event('e', '1s', 'stall = 1'), 'belong together'],
    ['an empty range', NODES + event('e', '1s', 'bit_rot = 1\nbytes = [5, 5]'), 'is empty'],
    ['a capacity of a path', NODES + event('e', '1s', 'capacity = 1\npath = "/x"'), 'no path'],
    [
      'an unknown node',
      NODES + event('e', '1s', 'bit_rot = 1\nnodes = ["d"]'),
      'no node is called',
    ],
    ['an unknown key', `[disk]\nrot = 1\n${NODES}`, 'rot'],
    [
      'an atlas that spares nobody',
      `[disk_atlas]\nnodes = ["a", "b"]\nfaulty = 2\n${NODES}`,
      'disk_atlas | scenario/disk | at least one of 2 nodes must stay whole',
    ],
  ];
  for (const [name, toml, expected] of refused) {
    it(`refuses ${name}`, () => expect(load(toml)).toContain(expected));
  }
});

describe('CR-82: rules that contradict one another', () => {
  const lost = event('one', '1s', 'lost_write = 5\npath = "/data/*"');
  const heal = '[[event]]\nname = "mend"\nat = "2s"\ndo = "disk-heal"\n';

  it('are refused, whichever is declared first', () => {
    const torn = event('two', '3s', 'torn_write = 5\npath = "*.log"');
    const why = 'the event "one" says already what becomes of the same writes';
    expect(load(NODES + lost + torn)).toContain(`event[1] | scenario/conflict | ${why}`);
    expect(load(NODES + torn + lost)).toContain(`event[0] | scenario/conflict | ${why}`);
  });

  it('are refused against the disk of the node', () => {
    const toml = `[disk]\nsync_error = 1\n${NODES}`;
    const other = event('two', '3s', 'sync_error = 1\nfailed_sync = "clean"');
    expect(load(toml + other)).toContain('the disk of "a" leaves other pages after a failed sync');
  });

  it('stand where they cannot meet: other files, other nodes, lifted between', () => {
    for (const other of [
      event('two', '3s', 'torn_write = 5\npath = "/log/*"'),
      event('two', '3s', 'torn_write = 5\nbit_rot = 1') + heal,
    ]) {
      expect(load(NODES + lost + other)).toBeTypeOf('object');
    }
    const apart = event('one', '1s', 'lost_write = 5\nnodes = ["a"]');
    const torn = event('two', '1s', 'torn_write = 5\nnodes = ["b"]');
    expect(load(NODES + apart + torn)).toBeTypeOf('object');
  });
});
