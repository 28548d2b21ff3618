import { z } from 'zod';
import { MILLION, SCHEDULING_CHOICES_DEFAULT, SCHEDULING_CHOICES_MAX } from '../sim/index.ts';
import {
  faultEvents,
  inFlight,
  linkFaults,
  liveness,
  nodeClock,
  swarm,
  whenMore,
} from './schema-faults.ts';
import { hardwareEvents } from './schema-hardware.ts';
import { disk, diskAtlas, diskEvents } from './schema-disk.ts';
import { machine } from './schema-machine.ts';
import { property } from './schema-property.ts';
import { bandwidth, nodeName, nodeNames, share, span, table, text } from './schema-words.ts';

/** One node by name, or several of which one is drawn. */
const target = { node: nodeName.optional(), one_of: nodeNames.optional() };

const guest = table({
  wasm: text.optional(),
  builtin: text.optional(),
  record: text.optional(),
  faults: text.optional(),
  port: z.int().min(1).max(65_535).optional(),
  model: text.optional(),
  machine: machine.optional(),
});

const file = table({ path: text, text: text.optional(), source: text.optional() });

const node = table({
  name: nodeName.optional(),
  names: nodeNames.optional(),
  guest: text,
  args: z.array(text).default([]),
  env: z.record(text, text).default({}),
  file: z.array(file).default([]),
  memory_pages_max: z.int().min(1).max(65_536).default(4_096),
  ns_per_thousand_instructions: z.int().min(1).max(1_000_000_000).default(1_000),
  start: span.default(0),
  clock: nodeClock.optional(),
  disk: disk.optional(),
});

const linkQuality = {
  latency: span.optional(),
  jitter: span.optional(),
  loss: share.optional(),
  bandwidth: bandwidth.optional(),
  ...linkFaults,
};

const network = table({ topology: z.enum(['mesh', 'none']).default('mesh'), ...linkQuality });

const scheduling = table({
  delay: span,
  choices: z.int().min(2).max(SCHEDULING_CHOICES_MAX).default(SCHEDULING_CHOICES_DEFAULT),
});

const link = table({
  between: z.tuple([nodeName, nodeName]).optional(),
  from: nodeName.optional(),
  to: nodeName.optional(),
  ...linkQuality,
});

const when = {
  name: text,
  at: span,
  within: span.default(0),
  chance: share.default(MILLION),
  ...whenMore,
};

const event = z.discriminatedUnion('do', [
  table({ ...when, do: z.literal('crash'), ...target }),
  table({ ...when, do: z.literal('restart'), ...target }),
  table({ ...when, do: z.literal('pause'), ...target, for: span }),
  table({ ...when, do: z.literal('isolate'), ...target, ...inFlight }),
  table({ ...when, do: z.literal('partition'), groups: z.array(nodeNames).min(2), ...inFlight }),
  table({ ...when, do: z.literal('cut'), from: nodeNames, to: nodeNames, ...inFlight }),
  table({ ...when, do: z.literal('heal') }),
  table({ ...when, do: z.literal('disk'), ...diskEvents.disk }),
  table({ ...when, do: z.literal('disk-heal'), ...diskEvents.heal }),
  table({
    ...when,
    do: z.literal('degrade'),
    nodes: nodeNames.optional(),
    loss: share.default(0),
    extra_latency: span.default(0),
    bandwidth: bandwidth.optional(),
    ...linkFaults,
  }),
  ...hardwareEvents(when),
  ...faultEvents(when),
]);

const limits = table({
  virtual_time: span.default(60_000_000_000),
  quanta: z.int().min(1).default(100_000_000),
});

/** The strict schema of a scenario's text. Keys are the same in TOML and in the TypeScript API. */
export const scenarioSchema = table({
  schema_version: z.literal(1, 'expected 1, the version that this sim knows'),
  name: text,
  seed: z.int().min(0).optional(),
  until: z.enum(['quiescence', 'property', 'stopped', 'virtual-time']).default('quiescence'),
  guest: z.record(text, guest),
  node: z.array(node).min(1),
  disk: disk.optional(),
  disk_atlas: diskAtlas.optional(),
  network: network.prefault({}),
  scheduling: scheduling.optional(),
  swarm: swarm.optional(),
  liveness: liveness.optional(),
  link: z.array(link).default([]),
  event: z.array(event).default([]),
  property: z.array(property).default([]),
  limits: limits.prefault({}),
});

/** A scenario as it is written: spans and shares are text, defaults may be left out. */
export type ScenarioText = z.input<typeof scenarioSchema>;
/** A scenario as it was read: spans in nanoseconds, shares in millionths, defaults filled in. */
export type ScenarioFields = z.output<typeof scenarioSchema>;
export type NodeFields = z.output<typeof node>;
export type LinkFields = z.output<typeof link>;
export type EventFields = z.output<typeof event>;
export type PropertyFields = z.output<typeof property>;
export type FileFields = z.output<typeof file>;
