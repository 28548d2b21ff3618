import { scenarioIds, type ScenarioDef } from '../sim/index.ts';
import { packageVersion } from './version.ts';

/**
 * `plan.json`: what a run may do, in the fields of a plan listing (FB-54, FB-56). A scenario is one
 * test with one instance; its events are its faults.
 */
export function planJson(def: ScenarioDef): string {
  const { plan, properties, world } = def;
  const ids = scenarioIds(def);
  const document = {
    schema_version: 1,
    spec_path: `${def.name}.toml`,
    scenario: ids.scenario,
    seed: def.seed,
    determinism: { level: 'L4', runtime: 'wasm', strict: true, explicit: false },
    tests: [
      {
        name: def.name,
        kind: 'scenario',
        instances: 1,
        compositions: [],
        matrix_cells: 0,
        faults: plan.events.map((event) => ({
          name: event.name,
          kind: event.action.kind,
          at_ns: event.atNs,
          within_ns: event.withinNs,
          chance_millionths: event.chance,
        })),
        expect: properties.map((property) => ({ name: property.name, kind: property.kind })),
        until: plan.until,
        timeout: { virtual_ns: plan.limits.virtualNsMax, quanta: plan.limits.quantaMax },
        estimated: false,
      },
    ],
    totals: { instances: 1, estimated: false },
    topology: {
      services: world.nodes.map((node) => ({ name: node.name, guest: node.guest.label })),
    },
    coverage: { edges: [] },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** `env.json`: where a run was made. For people; no part of any identity and never compared. */
export function environmentJson(): string {
  const document = {
    schema_version: 1,
    sim: packageVersion(),
    node: process.versions.node,
    v8: process.versions.v8,
    platform: process.platform,
    arch: process.arch,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
