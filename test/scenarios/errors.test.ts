import { describe, expect, it } from 'vitest';
import { loadScenarioBytes, loadScenarioText } from '../../scenarios/index.ts';
import { MemoryFiles } from './memory-files.ts';

/** All errors of a text, as `place | code | message`. */
function errors(toml: string): string {
  const result = loadScenarioText(toml, 'x.toml', new MemoryFiles());
  if (result.ok) return 'accepted';
  for (const error of result.errors) expect(error.exitCode).toBe(5);
  return result.errors
    .map((error) => `${error.place ?? ''} | ${error.code} | ${error.message}`)
    .join('\n');
}

const HEAD = 'schema_version = 1\nname = "x"\n';
const GUEST = '[guest.g]\nwasm = "g.wasm"\n';
const TWO = '[[node]]\nnames = ["a", "b"]\nguest = "g"\n';
/** Seven lines: whatever follows starts at line 8. */
const BASE = HEAD + GUEST + TWO;

const ROWS: readonly (readonly [name: string, toml: string, expected: string])[] = [
  ['a whole scenario', BASE, 'accepted'],

  // TOML itself.
  ['no TOML', 'a =', 'x.toml:1:4 | scenario/toml | not TOML: unspecified values are invalid'],
  [
    'a key twice',
    HEAD + 'name = "y"\n',
    'x.toml:3:1 | scenario/toml | not TOML: defining a key multiple times is invalid',
  ],
  [
    'a fraction',
    HEAD + 'seed = 1.5\n',
    'x.toml:3:8: seed | scenario/value | 1.5 is a fraction; spans are texts like "5ms", shares like "0.1%"',
  ],
  [
    'a date',
    HEAD + 'seed = 2026-01-01\n',
    'x.toml:3:8: seed | scenario/value | a date or a time of day has no place in a scenario',
  ],
  [
    'a number above 2^53',
    HEAD + 'seed = 9007199254740992\n',
    'x.toml:3:8: seed | scenario/value | 9007199254740992 is not within -(2^53 - 1) to 2^53 - 1',
  ],
  [
    'a hostile key',
    HEAD + '__proto__.x = 1\n',
    'x.toml:3:1 | scenario/value | "__proto__" is no key',
  ],
  [
    'deep keys',
    HEAD + `${'a.'.repeat(20)}b = 1\n`,
    'x.toml:3:1 | scenario/value | keys nest deeper than 16',
  ],

  // Unknown and missing keys.
  [
    'an unknown key at the top',
    HEAD + 'sead = 1\n' + GUEST + TWO,
    'x.toml:3:1: sead | scenario/unknown-key | unknown key "sead" (did you mean "seed"?); allowed: ' +
      'schema_version, name, seed, until, guest, node, disk, disk_atlas, network, scheduling, ' +
      'swarm, liveness, link, event, property, limits',
  ],
  [
    'an unknown key in a table',
    BASE + '[network]\nlatancy = "1ms"\n',
    'x.toml:9:1: network.latancy | scenario/unknown-key | unknown key "latancy" (did you mean ' +
      '"latency"?); allowed: topology, latency, jitter, loss, bandwidth, burst, duplicate, ' +
      'duplicate_within, reorder, reorder_within, corrupt, corrupt_undetected, queue, red, mtu, oversize',
  ],
  [
    'an unknown key without a likeness',
    BASE + 'colour = "red"\n',
    'x.toml:8:1: node[0].colour | scenario/unknown-key | unknown key "colour"; allowed: name, ' +
      'names, guest, args, env, file, memory_pages_max, ns_per_thousand_instructions, start, clock, disk',
  ],
  [
    'two unknown keys, in the order of the text',
    HEAD + 'zeta = 1\nalpha = 2\n' + GUEST + TWO,
    'x.toml:3:1: zeta | scenario/unknown-key | unknown key "zeta"; allowed: schema_version, name, ' +
      'seed, until, guest, node, disk, disk_atlas, network, scheduling, ' +
      'swarm, liveness, link, event, property, limits\n' +
      'x.toml:4:1: alpha | scenario/unknown-key | unknown key "alpha"; allowed: schema_version, ' +
      'name, seed, until, guest, node, disk, disk_atlas, network, scheduling, ' +
      'swarm, liveness, link, event, property, limits',
  ],
  [
    'a key of another action',
    BASE + '[[event]]\nname = "e"\nat = "1s"\ndo = "crash"\nnode = "a"\nloss = "1%"\n',
    'x.toml:13:1: event[0].loss | scenario/unknown-key | unknown key "loss"; allowed: name, at, ' +
      'within, chance, for, every, after, do, node, one_of',
  ],
  [
    'no version',
    'name = "x"\n' + GUEST + TWO,
    'x.toml:1:1: schema_version | scenario/missing-key | the key is missing',
  ],
  [
    'another version',
    HEAD.replace('1', '2') + GUEST + TWO,
    'x.toml:1:1: schema_version | scenario/value | 2: expected 1, the version that this sim knows',
  ],
  [
    'no guest of a node',
    HEAD + GUEST + '[[node]]\nname = "a"\n',
    'x.toml:5:3: node[0].guest | scenario/missing-key | the key is missing',
  ],
  [
    'no action of an event',
    BASE + '[[event]]\nname = "e"\nat = "1s"\n',
    'x.toml:8:3: event[0].do | scenario/missing-key | the key is missing; one of "crash", ' +
      '"restart", "pause", "isolate", "partition", "cut", "heal", "disk", "disk-heal", "degrade", "flip", "machine-check", ' +
      '"storm", "kill", "wipe", "interrupt", ' +
      '"upgrade", "slow", "stall", "stick", "clock"',
  ],
  [
    'an unknown action',
    BASE + '[[event]]\nname = "e"\nat = "1s"\ndo = "crush"\nnode = "a"\n',
    'x.toml:11:1: event[0].do | scenario/value | "crush" is not one of "crash", "restart", ' +
      '"pause", "isolate", "partition", "cut", "heal", "disk", "disk-heal", "degrade", "flip", "machine-check", ' +
      '"storm", "kill", "wipe", "interrupt", ' +
      '"upgrade", "slow", "stall", "stick", "clock" (did you mean "crash"?)',
  ],
  [
    'an unknown kind of property',
    BASE + '[[property]]\nname = "p"\nkind = "allways"\n',
    'x.toml:10:1: property[0].kind | scenario/value | "allways" is not one of "exit", "never", ' +
      '"eventually", "unique", "agree", "always", "sometimes", "reachable", "unreachable", "after_quiescence", "serializable", "linearizable" (did you mean "always"?)',
  ],
  [
    'a history of a model that does not exist',
    BASE + '[[property]]\nname = "p"\nkind = "linearizable"\nmodel = "que"\n',
    'x.toml:11:1: property[0].model | scenario/value | "que" is not one of "register", "map", "set", "queue"',
  ],
  [
    'a queue that does not begin empty',
    BASE + '[[property]]\nname = "p"\nkind = "linearizable"\nmodel = "queue"\ninitial = "1"\n',
    'x.toml:12:1: property[0].initial | scenario/history | a queue begins empty',
  ],
  [
    'a check of a history without steps',
    BASE + '[[property]]\nname = "p"\nkind = "linearizable"\nmodel = "map"\nsteps = 0\n',
    'x.toml:12:1: property[0].steps | scenario/value | 0 is below 1',
  ],
  [
    'an unknown end',
    HEAD + 'until = "quiet"\n' + GUEST + TWO,
    'x.toml:3:1: until | scenario/value | "quiet" is not one of "quiescence", "property", ' +
      '"stopped", "virtual-time"',
  ],

  // Types.
  [
    'a number for a text',
    HEAD.replace('"x"', '7') + GUEST + TWO,
    'x.toml:2:1: name | scenario/value | 7 is not a text',
  ],
  [
    'a text for a number',
    HEAD + 'seed = "7"\n' + GUEST + TWO,
    'x.toml:3:1: seed | scenario/value | "7" is not a whole number',
  ],
  [
    'a text for a list',
    HEAD + GUEST + '[[node]]\nname = "a"\nguest = "g"\nargs = "x"\n',
    'x.toml:8:1: node[0].args | scenario/value | "x" is not a list',
  ],
  [
    'a table for a list of tables',
    HEAD + GUEST + '[node]\nname = "a"\nguest = "g"\n',
    'x.toml:5:2: node | scenario/value | a table is not a list',
  ],
  [
    'a zero character',
    HEAD + GUEST + '[[node]]\nname = "a"\nguest = "g"\nargs = ["x\\u0000"]\n',
    'x.toml:8:9: node[0].args[0] | scenario/value | zero and lone surrogates are not text',
  ],

  // Numbers and spans.
  [
    'CR-8: a negative seed',
    HEAD + 'seed = -1\n' + GUEST + TWO,
    'x.toml:3:1: seed | scenario/value | -1 is below 0',
  ],
  [
    'CR-8: a negative time',
    BASE + '[[event]]\nname = "e"\nat = "-1s"\ndo = "heal"\n',
    'x.toml:10:1: event[0].at | scenario/value | "-1s" is not a whole number with ticks, ns, us, ' +
      'ms or s',
  ],
  [
    'CR-8: a fraction of time',
    BASE + '[network]\nlatency = "1.5ms"\n',
    'x.toml:9:1: network.latency | scenario/value | "1.5ms" is not a whole number with ticks, ns, ' +
      'us, ms or s',
  ],
  [
    'CR-8: an unknown unit',
    BASE + '[limits]\nvirtual_time = "1h"\n',
    'x.toml:9:1: limits.virtual_time | scenario/value | "1h" is not a whole number with ticks, ' +
      'ns, us, ms or s',
  ],
  [
    'CR-8: a number for a span',
    BASE + '[network]\nlatency = 5\n',
    'x.toml:9:1: network.latency | scenario/value | 5 is not a text',
  ],
  [
    'CR-8: a span above 2^53 ns',
    BASE + '[limits]\nvirtual_time = "9007200s"\n',
    'x.toml:9:1: limits.virtual_time | scenario/value | "9007200s" is above 2^53 - 1 ns',
  ],
  [
    'a share above one',
    BASE + '[network]\nloss = "100.1%"\n',
    'x.toml:9:1: network.loss | scenario/value | "100.1%" is not a share: write millionths (0 to ' +
      '1000000) or a percentage like "0.1%"',
  ],
  [
    'a share that is not exact',
    BASE + '[network]\nloss = "0.00001%"\n',
    'x.toml:9:1: network.loss | scenario/value | "0.00001%" is not a share: write millionths (0 ' +
      'to 1000000) or a percentage like "0.1%"',
  ],
  [
    'an event that never happens',
    BASE + '[[event]]\nname = "e"\nat = "1s"\nchance = 0\ndo = "heal"\n',
    'x.toml:11:1: event[0].chance | scenario/range | an event with no chance never happens',
  ],
  [
    'no bandwidth',
    BASE + '[network]\nbandwidth = "0mbit"\n',
    'x.toml:9:1: network.bandwidth | scenario/value | "0mbit" is not a bandwidth: write bits a ' +
      'second or a text like "10mbit"',
  ],
  [
    'too much memory',
    BASE + 'memory_pages_max = 65537\n',
    'x.toml:8:1: node[0].memory_pages_max | scenario/value | 65537 is above 65536',
  ],
  [
    'CR-54: jitter too large for the floor',
    BASE + '[network]\nlatency = "1ms"\njitter = "1ms"\n',
    'x.toml:10:1: network.jitter | scenario/jitter | latency less jitter must be at least 1000ns, ' +
      'it is 0ns',
  ],
  [
    'CR-54: a link below the floor',
    BASE + '[[link]]\nbetween = ["a", "b"]\nlatency = "999ns"\n',
    'x.toml:10:1: link[0].latency | scenario/jitter | latency less jitter must be at least ' +
      '1000ns, it is 999ns',
  ],

  // Names.
  [
    'a dangling guest',
    HEAD + GUEST + '[[node]]\nname = "a"\nguest = "gg"\n',
    'x.toml:7:1: node[0].guest | scenario/dangling | no guest is called "gg" (did you mean "g"?); ' +
      'the guests are g',
  ],
  [
    'a dangling node of a link',
    BASE + '[[link]]\nbetween = ["a", "c"]\n',
    'x.toml:9:17: link[0].between[1] | scenario/dangling | no node is called "c" (did you mean ' +
      '"a"?); the nodes are a, b',
  ],
  [
    'a dangling node of an event',
    BASE + '[[event]]\nname = "e"\nat = "1s"\ndo = "crash"\none_of = ["a", "node-b"]\n',
    'x.toml:12:16: event[0].one_of[1] | scenario/dangling | no node is called "node-b"; the nodes ' +
      'are a, b',
  ],
  [
    'a dangling node of a property',
    BASE + '[[property]]\nname = "p"\nkind = "exit"\nnodes = ["z9"]\n',
    'x.toml:11:10: property[0].nodes[0] | scenario/dangling | no node is called "z9"; the nodes ' +
      'are a, b',
  ],
  [
    'a node twice',
    BASE + '[[node]]\nname = "b"\nguest = "g"\n',
    'x.toml:9:1: node[1].name | scenario/duplicate | the name "b" stands twice',
  ],
  [
    'an event twice',
    BASE + '[[event]]\nname = "e"\nat = "1s"\ndo = "heal"\n'.repeat(2),
    'x.toml:13:1: event[1].name | scenario/duplicate | the name "e" stands twice',
  ],
  [
    'a property twice',
    BASE + '[[property]]\nname = "p"\nkind = "never"\nconsole = "x"\n'.repeat(2),
    'x.toml:13:1: property[1].name | scenario/duplicate | the name "p" stands twice',
  ],
  [
    'a property named as the one that every scenario has',
    BASE + '[[property]]\nname = "no-trap"\nkind = "never"\nconsole = "x"\n',
    'x.toml:9:1: property[0].name | scenario/duplicate | the name "no-trap" stands twice',
  ],
  [
    'a link twice',
    BASE + '[[link]]\nbetween = ["a", "b"]\n[[link]]\nfrom = "b"\nto = "a"\n',
    'x.toml:10:3: link[1] | scenario/duplicate | the link b to a stands twice',
  ],
  [
    'a node in two groups',
    BASE + '[[event]]\nname = "e"\nat = "1s"\ndo = "partition"\ngroups = [["a"], ["b", "a"]]\n',
    'x.toml:12:18: event[0].groups[1] | scenario/duplicate | "a" stands in two groups',
  ],
  [
    'a node twice in a list',
    BASE + '[[event]]\nname = "e"\nat = "1s"\ndo = "crash"\none_of = ["a", "a"]\n',
    'x.toml:12:16: event[0].one_of[1] | scenario/duplicate | "a" stands twice',
  ],
  [
    'a name that is no host name',
    HEAD + GUEST + '[[node]]\nname = "Node_1"\nguest = "g"\n',
    'x.toml:6:1: node[0].name | scenario/name | "Node_1" is no host name: small letters, digits ' +
      'and inner hyphens, at most 63',
  ],
  [
    'a slash in the name of an event',
    BASE + '[[event]]\nname = "a/b"\nat = "1s"\ndo = "heal"\n',
    'x.toml:9:1: event[0].name | scenario/name | "a/b" is no name: letters, digits, spaces and ' +
      '._:- are allowed',
  ],
  [
    'a link to itself',
    BASE + '[[link]]\nbetween = ["a", "a"]\n',
    'x.toml:9:17: link[0].between[1] | scenario/link | a link joins "a" to itself',
  ],

  // Either this or that.
  [
    'a node with name and names',
    HEAD + GUEST + '[[node]]\nname = "a"\nnames = ["b"]\nguest = "g"\n',
    'x.toml:5:3: node[0] | scenario/node | a node table has either "name" or "names"',
  ],
  [
    'a guest of two kinds',
    HEAD + '[guest.g]\nwasm = "g.wasm"\nbuiltin = "g"\n' + TWO,
    'x.toml:3:2: guest.g | scenario/guest | a guest has one of "wasm" (a file), "builtin" (a name), "record" or "model" (files), "machine" (a table)',
  ],
  [
    'a link with half its ends',
    BASE + '[[link]]\nfrom = "a"\n',
    'x.toml:8:3: link[0] | scenario/link | a link has either "between" or both "from" and "to"',
  ],
  [
    'a crash of nobody',
    BASE + '[[event]]\nname = "e"\nat = "1s"\ndo = "crash"\n',
    'x.toml:8:3: event[0] | scenario/target | an action has either "node" or "one_of"',
  ],
  [
    'a file of two kinds',
    BASE + '[[node.file]]\npath = "/a"\ntext = "x"\nsource = "y"\n',
    'x.toml:8:3: node[0].file[0] | scenario/file | a file has either "text" or "source"',
  ],
  [
    'no node',
    HEAD + 'node = []\n' + GUEST,
    'x.toml:3:1: node | scenario/value | it has fewer than 1 items',
  ],

  // Files, placeholders, patterns.
  [
    'a missing image',
    HEAD + '[guest.g]\nwasm = "missing.wasm"\n' + TWO,
    'x.toml:4:1: guest.g.wasm | input/missing | cannot read "missing.wasm": there is no such file',
  ],
  [
    'a missing source',
    BASE + '[[node.file]]\npath = "/a"\nsource = "gone.txt"\n',
    'x.toml:10:1: node[0].file[0].source | input/missing | cannot read "gone.txt": there is no ' +
      'such file',
  ],
  [
    'a relative path of a file',
    BASE + '[[node.file]]\npath = "etc/a"\ntext = "x"\n',
    'x.toml:9:1: node[0].file[0].path | scenario/file-path | "etc/a" is no plain absolute path',
  ],
  [
    'an unknown placeholder',
    BASE + 'args = ["{nmae}"]\n',
    'x.toml:8:9: node[0].args[0] | scenario/placeholder | {nmae} is no placeholder; write ' +
      '{name}, {index}, {peers}, {nodes:<guest>}, or {{ for a brace',
  ],
  [
    'a pattern without the star it compares',
    BASE + '[[property]]\nname = "p"\nkind = "agree"\nconsole = "commit *"\n',
    'x.toml:11:1: property[0].console | scenario/pattern | "agree" compares what the signs * ' +
      'take: it needs at least 2',
  ],
  [
    'a variable that cannot be',
    BASE + 'env = { "A=B" = "x" }\n',
    'x.toml:8:9: node[0].env.A=B | scenario/env | "A=B" cannot be a variable',
  ],
];

describe('the errors of a scenario text', () => {
  it.each(ROWS)('%s', (_name, toml, expected) => {
    expect(errors(toml)).toBe(expected);
  });

  it('refuses what is not UTF-8', () => {
    const result = loadScenarioBytes(Uint8Array.of(0xff), 'x.toml', new MemoryFiles());
    expect(result.ok ? [] : result.errors.map((error) => error.message)).toEqual([
      'the scenario is not UTF-8 text',
    ]);
  });

  it('refuses a text that is too long', () => {
    expect(errors('#'.repeat(1024 * 1024 + 1))).toBe(
      'x.toml | scenario/limit | the text has 1048577 characters, the limit is 1048576',
    );
  });

  it('refuses what nests too deep for the parser', () => {
    const deep = `a = ${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(errors(deep)).toMatch(/^x\.toml(:1:\d+)? \| scenario\/toml \| not (acceptable )?TOML: /);
  });

  it('tells at most fifty errors', () => {
    const many = Array.from({ length: 80 }, (_, index) => `k${index} = 1\n`).join('');
    expect(errors(HEAD + many + GUEST + TWO).split('\n')).toHaveLength(50);
  });

  it('gives errors, never anything else, for a text cut anywhere', () => {
    const whole = BASE + '[[event]]\nname = "e"\nat = "1s"\ndo = "crash"\nnode = "a"\n';
    for (let cut = 0; cut < whole.length; cut++) {
      expect(() => errors(whole.slice(0, cut))).not.toThrow();
    }
  });
});
