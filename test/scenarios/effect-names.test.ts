import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EFFECT_NAMES, effectTable, loadScenarioText } from '../../scenarios/index.ts';
import { MemoryFiles } from './memory-files.ts';

/** What a scenario is told whose only event does this: code, message, remedy. */
function told(word: string): string {
  const text = `schema_version = 1
name = "x"
guest.g.wasm = "g.wasm"
[[node]]
name = "a"
guest = "g"
[[event]]
name = "e"
at = "1s"
do = "${word}"
`;
  const result = loadScenarioText(text, 'x.toml', new MemoryFiles());
  if (result.ok) return 'accepted';
  return result.errors
    .map(({ code, message, remedy }) => `${code} | ${message} → ${remedy}`)
    .join();
}

describe('effects by the names of fault models', () => {
  it('CR-86: are 71, each known once, by family', () => {
    const names = EFFECT_NAMES.map(({ name }) => name);
    expect(new Set(names).size).toBe(71);
    const families = new Map<string, number>();
    for (const name of names) {
      const [family = ''] = name.split('.');
      families.set(family, (families.get(family) ?? 0) + 1);
    }
    expect(Object.fromEntries(families)).toEqual({
      network: 31,
      storage: 18,
      ninep: 2,
      node: 2,
      cpu: 5,
      interrupt: 2,
      memory: 5,
      clock: 2,
      accelerator: 4,
    });
  });

  it.each([
    [
      'network.rf_channel',
      '"network.rf_channel" is not built: there is no radio → nearest: degrade',
    ],
    ['network.frame_loss', '"network.frame_loss" has another name here → use degrade with loss'],
    [
      'battery.drain',
      '"battery.drain" is not to be had: guests have no battery → use an event of nodes, links, disks or clocks: see docs/faults.md',
    ],
  ])('CR-86, CR-108: %s is refused by name, with what to do', (word, expected) => {
    expect(told(word)).toBe(`scenario/unsupported | ${expected}`);
  });

  it('CR-86, CR-108: none is taken for a misspelt word', () => {
    for (const { name, use } of EFFECT_NAMES) {
      expect(told(name)).toMatch(/^scenario.unsupported /);
      expect(told(name)).toContain(use);
    }
    expect(told('crush')).toMatch(/^scenario.value .*did you mean "crash"/);
  });

  it('CR-86: stand in the documentation as they are', () => {
    const page = new URL('../../docs/faults.md', import.meta.url);
    expect(readFileSync(page, 'utf8')).toContain(effectTable());
  });
});
