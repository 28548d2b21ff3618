import { packBundle, type BundleParts } from '../../cli/bundle.ts';
import { Decisions, encodeUtf8, EventLog, sha256, type ScenarioDef } from '../../sim/index.ts';
import { sampleScenario } from '../scenarios/sample.ts';

const IMAGE = encodeUtf8('an image of a guest, as good as any');

/** The sample scenario with an image that exists. */
export function bundleScenario(): ScenarioDef {
  const def = sampleScenario();
  const nodes = def.world.nodes.map((node) => ({
    ...node,
    guest: { ...node.guest, image: sha256(IMAGE) },
  }));
  return { ...def, world: { ...def.world, nodes } };
}

/** The records of a run that never was: `change` alters one event of it. */
export function bundleLogs(change = -1): {
  schedule: Uint8Array;
  events: Uint8Array;
  decisionChain: string;
  eventChain: string;
} {
  const scheduleFrames: Uint8Array[] = [];
  const eventFrames: Uint8Array[] = [];
  const decisions = new Decisions(42, (frame) => scheduleFrames.push(frame));
  const events = new EventLog((frame) => eventFrames.push(frame));
  for (let index = 0; index < 200; index++) {
    decisions.decide(decisions.stream(`node/${index % 3}/net`), index * 10, 1000);
    const result = index === change ? -1 : index;
    events.append(events.kind('send'), index % 3, index * 10, index * 7, result);
  }
  decisions.log.flush();
  events.log.flush();
  return {
    schedule: Uint8Array.from(Buffer.concat(scheduleFrames)),
    events: Uint8Array.from(Buffer.concat(eventFrames)),
    decisionChain: decisions.log.chain(),
    eventChain: events.log.chain(),
  };
}

export function bundleParts(change = -1): BundleParts {
  const { schedule, events, decisionChain, eventChain } = bundleLogs(change);
  return {
    scenario: bundleScenario(),
    images: new Map([[sha256(IMAGE), IMAGE]]),
    sources: [
      { name: 'sample.toml', bytes: encodeUtf8('schema_version = 1\n') },
      { name: 'up/ä/.hidden', bytes: encodeUtf8('x') },
    ],
    schedule,
    events,
    fingerprints: [
      { atNs: 1_000, quanta: 5, decisionChain, eventChain, guests: ['0'.repeat(16), '1', '2'] },
    ],
    checkpoint: null,
    plan: '{"schema_version":1}\n',
    trace: null,
    environment: '{"schema_version":1}\n',
    manifest: {
      kind: 'run',
      engine: { name: 'athanor', version: '0.1.0', schema: 1 },
      seed: 42,
      thin: false,
      outcome: {
        verdict: 'fail',
        reason: 'quiescence',
        signature: 'never:never',
        endNs: 2_000,
        quanta: 5,
        decisionCount: 200,
        eventCount: 200,
        decisionChain,
        eventChain,
        lastDraw: 123,
        properties: [
          { name: 'never', kind: 'never', verdict: 'fail', detail: 'a wrote "panic"', atNs: 7 },
        ],
        nodes: [{ name: 'a', status: 'exited', code: 0, lives: 1, instructions: 1000 }],
      },
      savepoint: null,
      lineage: null,
    },
  };
}

export function sampleBundle(): Uint8Array {
  return packBundle(bundleParts());
}
