import { describe, expect, it } from 'vitest';
import { loadScenarioText, LocalFiles } from '../../scenarios/index.ts';
import { decodeScenario, encodeScenario } from '../../sim/index.ts';

class Kernels extends LocalFiles {
  override read(path: string): Uint8Array {
    return path === 'kernel' ? Uint8Array.of(1) : super.read(path);
  }
}

const event = (name: string, keys: string): string => {
  return `[[event]]\nname = "${name}"\nat = "1s"\n${keys}\n`;
};

function load(events: string) {
  const text = `schema_version = 1
name = "m"
[guest.linux.machine]
kernel = "kernel"
cpus = 2
[guest.small.machine]
kernel = "kernel"
[guest.client]
builtin = "echo-client"
[[node]]
names = ["vm", "vm2"]
guest = "linux"
[[node]]
name = "small"
guest = "small"
[[node]]
name = "client"
guest = "client"
${events}`;
  return loadScenarioText(text, 'x.toml', new Kernels('.'));
}

function errors(events: string): string {
  const result = load(events);
  if (result.ok) return 'accepted';
  return result.errors.map(({ code, message }) => `${code} | ${message}`).join('\n');
}

describe('processors of machines in a scenario', () => {
  it('CR-53, CR-86: a share and a stall are compiled, and come back from the exchange form', () => {
    const result = load(
      event('a', 'do = "slow"\none_of = ["vm", "client"]\ncpu = "50%"\nfor = "10ms"') +
        event('b', 'do = "stall"\none_of = ["vm", "vm2"]\nvcpu = 1\nfor = "1s"') +
        event('c', 'do = "stall"\nnode = "vm"\nvcpu = 0'),
    );
    if (!result.ok) throw result.errors[0] as Error;
    const { def } = result.scenario;
    expect(def.plan.events.map(({ action, forNs }) => [action, forNs])).toEqual([
      [{ kind: 'slow', oneOf: [0, 3], cpu: 500_000 }, 10e6],
      [{ kind: 'stall', oneOf: [0, 1], vcpu: 1 }, 1e9],
      [{ kind: 'stall', oneOf: [0], vcpu: 0 }, undefined],
    ]);
    expect(decodeScenario(encodeScenario(def))).toEqual(def);
  });

  it.each([
    [
      'CR-108: a guest that is no machine',
      event('a', 'do = "stall"\none_of = ["vm", "client"]\nvcpu = 0'),
      /^scenario\/machine \| "stall" cannot be done to "client": only machines have several processors: use "pause", or "slow"$/,
    ],
    [
      'CR-108: a processor that the machine has not',
      event('a', 'do = "stall"\nnode = "vm"\nvcpu = 2'),
      /^scenario\/machine \| the machine "vm" has processors 0 to 1, not 2: "cpus" of its guest/,
    ],
    [
      'CR-108: another one of a machine with one',
      event('a', 'do = "stall"\nnode = "small"\nvcpu = 1'),
      /^scenario\/machine \| the machine "small" has only processor 0, not 1/,
    ],
    ['a stall of no processor', event('a', 'do = "stall"\nnode = "vm"'), /^scenario\/missing-key/],
    ['a stall of nobody', event('a', 'do = "stall"\nvcpu = 0'), /either "node" or "one_of"/],
    [
      'CR-82: two shares of a machine at once',
      event('a', 'do = "slow"\nnode = "vm"\ncpu = "50%"\nfor = "2s"') +
        event('b', 'do = "slow"\nnode = "vm"\ncpu = "20%"'),
      /^scenario\/conflict \| "a" and "b" contradict each other on vm$/,
    ],
    ['no share at all', event('a', 'do = "slow"\nnode = "vm"\ncpu = 0'), /^scenario\/fault/],
  ])('%s is refused', (_, text, expected) => {
    expect(errors(text)).toMatch(expected);
  });

  it('CR-82: stalls of one processor add up, and go with a share', () => {
    const stalls = ['a', 'b'].map((name) => {
      return event(name, 'do = "stall"\nnode = "vm"\nvcpu = 1\nfor = "2s"');
    });
    const share = event('c', 'do = "slow"\nnode = "vm"\ncpu = "20%"\nfor = "1s"');
    expect(errors(stalls.join('') + share)).toBe('accepted');
  });
});
