import { beforeAll, describe, expect, it } from 'vitest';
import { Simulation, type SimulationResult } from '../../cli/simulation.ts';
import { scenario } from '../../scenarios/index.ts';
import {
  decodeDecisions,
  decodeEvents,
  encodeScenario,
  firingsOf,
  keepFaults,
  LOG_DECISIONS,
  LOG_EVENTS,
  pinPlan,
  readWholeLog,
  withEvents,
  withoutNodes,
  type ScenarioDef,
} from '../../sim/index.ts';
import { prepare, type Prepared } from '../guests/simulate.ts';

let stormy: Prepared;

beforeAll(async () => {
  const builder = scenario('storm')
    .network({ latency: '5ms' })
    .node({ name: 'server', guest: 'echo-server', args: ['7'] })
    .node({ names: ['one', 'two'], guest: 'echo-client', args: ['server', '7', '40', '64', '20'] })
    .event({ name: 'crash', at: '10ms', within: '900ms', do: 'crash', one_of: ['one', 'two'] })
    .event({ name: 'never', at: '20ms', chance: 1, do: 'crash', node: 'server' })
    .event({
      name: 'stalls',
      at: '10ms',
      within: '900ms',
      do: 'pause',
      one_of: ['server', 'one', 'two'],
      for: '30ms',
    })
    .event({ name: 'late', at: '30s', do: 'pause', node: 'server', for: '1s' })
    .event({ name: 'back', at: '950ms', do: 'restart' })
    .event({ name: 'heal', at: '950ms', do: 'heal' })
    .limits({ virtual_time: '5s' });
  const prepared = await prepare(builder, ['echo-server', 'echo-client']);
  const trigger = { kind: 'hazard', meanNs: 200_000_000 } as const;
  const { events } = prepared.def.plan;
  const hazards = events.map((event) => (event.name === 'stalls' ? { ...event, trigger } : event));
  stormy = { ...prepared, def: withEvents(prepared.def, hazards) };
});

function finish(def: ScenarioDef, seed: number): SimulationResult {
  const run = new Simulation({ ...stormy, scenario: def, seed });
  run.runUntil({});
  const result = run.finish();
  run.dispose();
  return result;
}

function pinned(
  seed: number,
  def: ScenarioDef = stormy.def,
): { readonly whole: SimulationResult; readonly def: ScenarioDef } {
  const whole = finish(def, seed);
  const decisions = decodeDecisions(readWholeLog(whole.schedule, LOG_DECISIONS));
  const events = decodeEvents(readWholeLog(whole.events, LOG_EVENTS));
  const told = { decisions, events, endNs: whole.endNs };
  return { whole, def: pinPlan(def, firingsOf(def, told)) };
}

describe('what happened of a plan', () => {
  it('makes a plan of its own that draws nothing and does the same', () => {
    let stalls = 0;
    for (const seed of [1, 2, 3, 4, 5]) {
      const { whole, def } = pinned(seed);
      encodeScenario(def);
      const again = finish(def, seed);
      expect(again.notes).toEqual(whole.notes);
      expect(again.consoles).toEqual(whole.consoles);
      const names = def.plan.events.map(({ name }) => name);
      expect(names).toContain('crash');
      expect(names).not.toContain('never');
      expect(names).not.toContain('late');
      stalls += names.filter((name) => name.startsWith('stalls')).length;
      const decisions = decodeDecisions(readWholeLog(again.schedule, LOG_DECISIONS));
      expect([...decisions].filter(({ stream }) => stream.startsWith('plan/'))).toEqual([]);
    }
    expect(stalls).toBeGreaterThan(8);
  });

  it('pins what waited for a quantum, an effect or a decision to when it came', async () => {
    const builder = scenario('waiting')
      .network({ latency: '5ms', jitter: '1ms' })
      .node({ name: 'server', guest: 'echo-server', args: ['7'] })
      .node({ name: 'one', guest: 'echo-client', args: ['server', '7', '40', '64', '20'] })
      .event({
        name: 'quantum',
        at: '0s',
        after: { node: 'one', quanta: 9 },
        do: 'pause',
        node: 'one',
        for: '30ms',
      })
      .event({
        name: 'effect',
        at: '100ms',
        after: { node: 'server', effect: 'net/send', count: 3 },
        do: 'pause',
        node: 'server',
        for: '7ms',
      })
      .event({
        name: 'decision',
        at: '0s',
        after: { stream: 'link/one/server/jitter', ordinal: 20 },
        do: 'degrade',
        extra_latency: '9ms',
        for: '50ms',
      })
      .event({
        name: 'in vain',
        at: '0s',
        after: { stream: 'link/one/server/jitter', ordinal: 1_000_000 },
        do: 'crash',
        node: 'one',
      })
      .limits({ virtual_time: '5s' });
    const prepared = await prepare(builder, ['echo-server', 'echo-client']);
    const run = (def: ScenarioDef): SimulationResult => {
      const simulation = new Simulation({ ...prepared, scenario: def, seed: 3 });
      simulation.runUntil({});
      const result = simulation.finish();
      simulation.dispose();
      return result;
    };
    const whole = run(prepared.def);
    const decisions = decodeDecisions(readWholeLog(whole.schedule, LOG_DECISIONS));
    const events = decodeEvents(readWholeLog(whole.events, LOG_EVENTS));
    const firings = firingsOf(prepared.def, { decisions, events, endNs: whole.endNs });
    const { events: pinnedEvents } = pinPlan(prepared.def, firings).plan;
    expect(pinnedEvents.map(({ name }) => name).sort()).toEqual(['decision', 'effect', 'quantum']);
    expect(pinnedEvents.every(({ trigger }) => trigger === undefined)).toBe(true);
    const again = run(pinPlan(prepared.def, firings));
    expect(again.notes).toEqual(whole.notes);
    expect(again.consoles).toEqual(whole.consoles);
  });

  it('keeps what mends only while a fault of its family stays', () => {
    const names = (kept: readonly string[]): readonly string[] => {
      return keepFaults(stormy.def, new Set(kept)).plan.events.map(({ name }) => name);
    };
    expect(names([])).toEqual([]);
    expect(names(['crash'])).toEqual(['crash', 'back']);
    expect(names(['stalls'])).toEqual(['stalls']);
  });

  it('loses nodes with all that names them', () => {
    const smaller = withoutNodes(stormy.def, new Set([1]));
    encodeScenario(smaller);
    expect(smaller.world.nodes.map(({ name }) => name)).toEqual(['server', 'two']);
    const crash = smaller.plan.events.find(({ name }) => name === 'crash')?.action;
    expect(crash).toEqual({ kind: 'crash', oneOf: [1] });
    expect(smaller.world.links).toHaveLength(2);
    const serverless = withoutNodes(stormy.def, new Set([0]));
    expect(serverless.plan.events.map(({ name }) => name)).not.toContain('never');
    expect(withEvents(smaller, []).plan.events).toEqual([]);
  });
});
