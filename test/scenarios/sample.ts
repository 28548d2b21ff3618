import type { ScenarioDef } from '../../sim/index.ts';

/** A scenario that uses every kind of action and property. */
export function sampleScenario(): ScenarioDef {
  const node = (name: string): ScenarioDef['world']['nodes'][number] => ({
    name,
    guest: { kind: 'wasm', image: 'ab'.repeat(32), label: 'server' },
    args: [name, '--peers=a,b,c'],
    env: [
      ['HOME', '/'],
      ['LANG', 'C'],
    ],
    files: [{ path: '/etc/config', bytes: Uint8Array.of(1, 2, 3) }],
    nsPerThousandInstructions: 1_000,
    memoryPagesMax: 256,
    startNs: 0,
  });
  const link = (from: number, to: number): ScenarioDef['world']['links'][number] => ({
    from,
    to,
    latencyNs: 1_000_000,
    jitterNs: 500_000,
    loss: 1_000,
    bandwidth: to === 2 ? 1_000_000 : null,
  });
  const event = (
    name: string,
    atNs: number,
    action: ScenarioDef['plan']['events'][number]['action'],
  ): ScenarioDef['plan']['events'][number] => ({
    name,
    atNs,
    withinNs: 5,
    chance: 1_000_000,
    action,
  });
  return {
    name: 'sample',
    world: {
      nodes: [node('a'), node('b'), node('c')],
      links: [link(0, 1), link(0, 2), link(1, 0), link(1, 2), link(2, 0), link(2, 1)],
    },
    plan: {
      events: [
        event('crash', 10, { kind: 'crash', oneOf: [0, 1] }),
        event('restart', 20, { kind: 'restart', oneOf: [] }),
        event('pause', 30, { kind: 'pause', oneOf: [2], forNs: 7 }),
        event('partition', 40, { kind: 'partition', groups: [[0], [1, 2]] }),
        event('isolate', 50, { kind: 'isolate', oneOf: [1] }),
        event('cut', 60, { kind: 'cut', from: [0], to: [2] }),
        event('heal', 70, { kind: 'heal' }),
        event('degrade', 80, { kind: 'degrade', nodes: [], loss: 10, extraLatencyNs: 20 }),
      ],
      until: 'quiescence',
      limits: { virtualNsMax: 1_000_000_000, quantaMax: 1_000_000 },
    },
    properties: [
      { kind: 'agree', name: 'agree', nodes: [0, 1, 2], console: 'commit * *' },
      { kind: 'eventually', name: 'eventually', nodes: [0], console: 'done', withinNs: null },
      { kind: 'exit', name: 'exit', nodes: [0], code: 0 },
      { kind: 'never', name: 'never', nodes: [0, 1, 2], console: 'panic' },
      { kind: 'no-trap', name: 'no-trap' },
      { kind: 'unique', name: 'unique', nodes: [0, 1, 2], console: 'leader *' },
    ],
    seed: 42,
  };
}
