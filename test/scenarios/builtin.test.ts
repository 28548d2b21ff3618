import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runSeed } from '../../cli/campaign-run.ts';
import {
  builtinScenarioNames,
  builtinScenarioText,
  loadScenarioText,
  LocalFiles,
  type CompiledScenario,
} from '../../scenarios/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

function load(name: string): CompiledScenario {
  const result = loadScenarioText(builtinScenarioText(name) ?? '', name, new LocalFiles('.'));
  if (!result.ok) throw result.errors[0] as Error;
  return result.scenario;
}

describe('built-in scenarios', () => {
  it('CR-62: happy path, partition recovery, crash restart, a fault family, and the demo', () => {
    expect(builtinScenarioNames()).toEqual([
      'crash-restart',
      'fault-campaign',
      'forgotten-vote',
      'hello',
      'partition-recovery',
      'raft',
      'raft-promises',
      'sick-disk',
    ]);
  });

  it.each(['hello', 'partition-recovery', 'crash-restart', 'raft'])(
    'CR-62: %s passes over several seeds',
    (name) => {
      const { def, images } = load(name);
      const engine = new WasmEngine();
      for (const seed of [1, 2, 3]) {
        const { verdict, signature } = runSeed(def, seed, images, engine);
        expect([seed, verdict, signature]).toEqual([seed, 'pass', '']);
      }
    },
  );

  it('CR-62: the fault family passes for most seeds, and finds the client without a timeout', () => {
    const { def, images } = load('fault-campaign');
    const engine = new WasmEngine();
    const verdicts = new Map<string, number>();
    for (let seed = 1; seed <= 40; seed++) {
      const { verdict, signature } = runSeed(def, seed, images, engine);
      const kind = `${verdict} ${signature}`.trim();
      verdicts.set(kind, (verdicts.get(kind) ?? 0) + 1);
    }
    expect([...verdicts.keys()].sort()).toEqual(['fail exit:clients finish', 'pass']);
    expect(verdicts.get('pass')).toBeGreaterThan(20);
  });

  it('CR-62, CR-90: flushes that lie lose what was acknowledged, and honest ones never', () => {
    const { def, images } = load('sick-disk');
    const honest = {
      ...def,
      world: {
        ...def.world,
        nodes: def.world.nodes.map((node) => {
          if (node.disk === undefined) return node;
          return { ...node, disk: { ...node.disk, rule: { ...node.disk.rule, lyingFlush: 0 } } };
        }),
      },
    };
    const engine = new WasmEngine();
    let found = 0;
    for (let seed = 1; seed <= 10; seed++) {
      const { verdict, signature } = runSeed(def, seed, images, engine);
      if (verdict === 'fail') expect(signature).not.toContain('no-trap');
      if (signature.includes('never:nothing acknowledged is lost')) found++;
      expect([seed, runSeed(honest, seed, images, engine).verdict]).toEqual([seed, 'pass']);
    }
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(10);
  });
});

describe('raft-promises, the scenario of docs/properties.md', () => {
  it('CR-95, CR-96: the cluster keeps what it promises over time', () => {
    const { def, images } = load('raft-promises');
    const engine = new WasmEngine();
    for (const seed of [1, 2, 3]) {
      const { verdict, signature, vacuous } = runSeed(def, seed, images, engine);
      expect([seed, verdict, signature, vacuous]).toEqual([seed, 'pass', '', []]);
    }
  });

  it('CR-95: and is caught when it does not: nobody answers within a nanosecond', () => {
    const { def, images } = load('raft-promises');
    const properties = def.properties.map((property) => {
      const waits = property.kind === 'temporal' && property.withinNs !== null;
      return waits ? { ...property, withinNs: 1 } : property;
    });
    const { signature } = runSeed({ ...def, properties }, 1, images, new WasmEngine());
    expect(signature).toBe('eventually:serves in spite of a crash');
  });

  it('stands in the docs as it is', () => {
    const docs = readFileSync('docs/properties.md', 'utf8');
    const text = builtinScenarioText('raft-promises') ?? '';
    const blocks = text.split('\n\n').filter((block) => block.startsWith('[[property]]'));
    expect(blocks.filter((block) => docs.includes(block.trim()))).toHaveLength(2);
  });
});
