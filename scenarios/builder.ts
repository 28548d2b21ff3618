import type { CompiledScenario, ScenarioFiles } from './compile.ts';
import { compileScenario } from './compile.ts';
import type { ScenarioText } from './schema.ts';
import type { PlainTable } from './toml.ts';

type GuestText = ScenarioText['guest'][string];
type NodeText = ScenarioText['node'][number];
type NetworkText = NonNullable<ScenarioText['network']>;
type LinkText = NonNullable<ScenarioText['link']>[number];
type EventText = NonNullable<ScenarioText['event']>[number];
type PropertyText = NonNullable<ScenarioText['property']>[number];
type LimitsText = NonNullable<ScenarioText['limits']>;

/**
 * Builds a scenario in TypeScript. Keys and values are those of the TOML form, and so is the
 * result: byte for byte the same canonical scenario (CR-53).
 */
export class ScenarioBuilder {
  private readonly text: ScenarioText & { link: LinkText[]; event: EventText[] } & {
    property: PropertyText[];
  };

  constructor(name: string) {
    this.text = {
      schema_version: 1,
      name,
      guest: {},
      node: [],
      link: [],
      event: [],
      property: [],
    };
  }

  seed(seed: number): this {
    this.text.seed = seed;
    return this;
  }

  until(until: NonNullable<ScenarioText['until']>): this {
    this.text.until = until;
    return this;
  }

  guest(label: string, guest: GuestText): this {
    this.text.guest[label] = guest;
    return this;
  }

  node(node: NodeText): this {
    this.text.node.push(node);
    return this;
  }

  network(network: NetworkText): this {
    this.text.network = network;
    return this;
  }

  scheduling(scheduling: NonNullable<ScenarioText['scheduling']>): this {
    this.text.scheduling = scheduling;
    return this;
  }

  swarm(swarm: NonNullable<ScenarioText['swarm']>): this {
    this.text.swarm = swarm;
    return this;
  }

  liveness(liveness: NonNullable<ScenarioText['liveness']>): this {
    this.text.liveness = liveness;
    return this;
  }

  link(link: LinkText): this {
    this.text.link.push(link);
    return this;
  }

  event(event: EventText): this {
    this.text.event.push(event);
    return this;
  }

  property(property: PropertyText): this {
    this.text.property.push(property);
    return this;
  }

  limits(limits: LimitsText): this {
    this.text.limits = limits;
    return this;
  }

  /** The canonical scenario with its guests' images. Throws the first error as a SimError. */
  build(files: ScenarioFiles): CompiledScenario {
    // The texts of the schema are plain data; the schema checks what a caller made of them.
    const value = structuredClone(this.text) as unknown as PlainTable;
    const source = { file: this.text.name, locate: () => null };
    const result = compileScenario(value, source, files);
    if (result.ok) return result.scenario;
    throw result.errors[0] as Error;
  }
}

/** Begins a scenario of that name. */
export function scenario(name: string): ScenarioBuilder {
  return new ScenarioBuilder(name);
}
