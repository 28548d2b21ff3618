import { describe, expect, it } from 'vitest';
import { loadScenarioText, LocalFiles } from '../../scenarios/index.ts';
import { familyOf, type ActionDef } from '../../sim/index.ts';

class Kernels extends LocalFiles {
  override read(path: string): Uint8Array {
    return path === 'kernel' ? Uint8Array.of(1) : super.read(path);
  }
}

/** What one event about a machine of two processors is compiled to, or what is wrong with it. */
function compile(keys: string): ActionDef | string {
  const text = `schema_version = 1
name = "hardware"
[guest.linux.machine]
kernel = "kernel"
cpus = 2
[guest.client]
builtin = "echo-client"
[[node]]
names = ["m1", "m2"]
guest = "linux"
[[node]]
name = "c1"
guest = "client"
[[event]]
name = "e"
at = "1s"
${keys}`;
  const result = loadScenarioText(text, 'x.toml', new Kernels('.'));
  if (result.ok) return result.scenario.def.plan.events[0]?.action ?? 'nothing';
  return result.errors
    .map(({ code, message, place }) => `${place}: ${code} | ${message}`)
    .join('\n');
}

describe('faults inside a node in the text of a scenario', () => {
  it.each<[string, ActionDef]>([
    ['do = "flip"\ntarget = "memory"\nnode = "c1"', { kind: 'flip-memory', oneOf: [2], bits: 1 }],
    [
      'do = "flip"\ntarget = "memory"\none_of = ["m1", "m2"]\nbits = 3\naddress = 0x100000\nbytes = 4096',
      { kind: 'flip-memory', oneOf: [0, 1], bits: 3, range: { address: 0x10_0000, bytes: 4096 } },
    ],
    [
      'do = "flip"\ntarget = "memory"\nnode = "m1"\naddress = 0x100008',
      { kind: 'flip-memory', oneOf: [0], bits: 1, range: { address: 0x10_0008, bytes: 8 } },
    ],
    [
      'do = "flip"\ntarget = "register"\nnode = "m1"',
      { kind: 'flip-register', oneOf: [0], bits: 1 },
    ],
    [
      'do = "flip"\ntarget = "register"\nnode = "m1"\nregister = "r13"\ncpu = 1\nbits = 64',
      { kind: 'flip-register', oneOf: [0], bits: 64, register: 'r13', cpu: 1 },
    ],
    ['do = "machine-check"\nnode = "m1"', { kind: 'machine-check', oneOf: [0], corrected: false }],
    [
      'do = "machine-check"\nnode = "m1"\ncorrected = true\naddress = 0x4000\ncpu = 1',
      { kind: 'machine-check', oneOf: [0], corrected: true, address: 0x4000, cpu: 1 },
    ],
    [
      'do = "storm"\nnode = "m1"\ncount = 100\ngap = "10us"',
      { kind: 'storm', oneOf: [0], line: 4, count: 100, gapNs: 10_000 },
    ],
  ])('CR-86: is compiled: %s', (keys, action) => {
    const compiled = compile(keys);
    expect(compiled).toEqual(action);
    expect(familyOf(compiled as ActionDef)).toBe('hardware');
  });

  it.each([
    ['do = "flip"\nnode = "m1"', /event\[0\]\.target.* scenario\/missing-key/],
    ['do = "flip"\ntarget = "rip"\nnode = "m1"', /"rip" is not one of "memory", "register"/],
    [
      'do = "flip"\ntarget = "memory"\nnode = "m1"\nregister = "rax"',
      /register: scenario\/fault \| it says nothing about target = "memory"/,
    ],
    [
      'do = "flip"\ntarget = "register"\nnode = "m1"\naddress = 8',
      /address: scenario\/fault \| it says nothing about target = "register"/,
    ],
    [
      'do = "flip"\ntarget = "memory"\nnode = "m1"\nbytes = 8',
      /bytes: scenario\/fault \| it needs "address", where they begin/,
    ],
    [
      'do = "flip"\ntarget = "register"\nnode = "m1"\nregister = "rip"',
      /"rip" is not one of "rax"/,
    ],
    ['do = "flip"\ntarget = "memory"\nnode = "m1"\nbits = 65', /bits.* scenario\//],
    [
      'do = "flip"\ntarget = "register"\nnode = "c1"',
      /event\[0\]: scenario\/machine \| .* only machines have processors of their own/,
    ],
    ['do = "storm"\nnode = "m1"\ncount = 5', /event\[0\]\.gap.* scenario\/missing-key/],
    ['do = "machine-check"\ncorrected = true', /scenario\/target/],
    [
      'do = "machine-check"\nnode = "m1"\nfor = "1s"',
      /scenario\/fault \| "machine-check" is nothing that ends/,
    ],
  ])('CR-108: is refused at its place: %s', (keys, expected) => {
    expect(compile(keys)).toMatch(expected);
  });
});

describe('CR-86: the clocks of a machine in the text of a scenario', () => {
  it.each<[string, ActionDef]>([
    ['jump = "-2s"', { kind: 'clock', oneOf: [0], change: { kind: 'jump', byNs: -2e9 } }],
    ['drift = 200', { kind: 'clock', oneOf: [0], change: { kind: 'drift', ppm: 200 } }],
    ['freeze = "both"', { kind: 'clock', oneOf: [0], change: { kind: 'freeze', clock: 'both' } }],
    ['leap = "repeat"', { kind: 'clock', oneOf: [0], change: { kind: 'jump', byNs: -1e9 } }],
    ['synchronize = true', { kind: 'clock', oneOf: [0], change: { kind: 'synchronize' } }],
  ])('%s', (key, expected) => {
    expect(compile(`do = "clock"\nnode = "m1"\n${key}`)).toEqual(expected);
  });

  it.each([
    ['slew = "1s"\nover = "10s"', /the machine "m1" is set at once: use "jump", or "drift"/],
    ['leap = "smear"\nover = "10s"', /the machine "m1" is set at once: use "jump", or "drift"/],
    ['freeze = "realtime"', /the machine "m1" follow one counter: use freeze = "both"/],
  ])('CR-108: %s is refused by name', (keys, expected) => {
    const why = compile(`do = "clock"\none_of = ["c1", "m1"]\n${keys}`);
    expect(why).toMatch(expected);
    expect(why).toContain('event[0]: scenario/machine');
  });
});
