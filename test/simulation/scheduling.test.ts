import { beforeAll, describe, expect, it } from 'vitest';
import { Simulation, type SimulationResult } from '../../cli/simulation.ts';
import { scenario, type ScenarioBuilder } from '../../scenarios/index.ts';
import {
  decodeDecisions,
  decodeScenario,
  encodeScenario,
  isSchedule,
  LOG_DECISIONS,
  policySource,
  readWholeLog,
  scenarioIds,
  type Decision,
} from '../../sim/index.ts';
import { failure } from '../support/failure.ts';
import { prepare, type Prepared } from '../guests/simulate.ts';

function echo(): ScenarioBuilder {
  return scenario('echo')
    .network({ latency: '5ms' })
    .node({ name: 'server', guest: 'echo-server', args: ['7'] })
    .node({ name: 'one', guest: 'echo-client', args: ['server', '7', '6', '200', '20'] })
    .node({ name: 'two', guest: 'echo-client', args: ['server', '7', '6', '200', '20'] })
    .limits({ virtual_time: '20s' });
}

let prompt: Prepared;
let waiting: Prepared;

beforeAll(async () => {
  const guests = ['echo-server', 'echo-client'];
  prompt = await prepare(echo(), guests);
  waiting = await prepare(echo().scheduling({ delay: '21ms', choices: 4 }), guests);
});

function start(prepared: Prepared, extra: object = {}): Simulation {
  return new Simulation({ ...prepared, scenario: prepared.def, seed: 3, ...extra });
}

function finish(run: Simulation): SimulationResult {
  run.runUntil({});
  const result = run.finish();
  run.dispose();
  return result;
}

function schedule({ schedule: bytes }: SimulationResult): Decision[] {
  return [...decodeDecisions(readWholeLog(bytes, LOG_DECISIONS))].filter(({ stream }) => {
    return isSchedule(stream);
  });
}

function lastExitNs({ notes }: SimulationResult): number {
  return Math.max(...notes.filter(({ kind }) => kind === 'exit').map(({ atNs }) => atNs));
}

describe('waits for the processor', () => {
  it('are off unless the plan has them: no decision, no field, no other id', () => {
    expect(schedule(finish(start(prompt)))).toEqual([]);
    expect('scheduling' in prompt.def.plan).toBe(false);
    const [off, on] = [scenarioIds(prompt.def), scenarioIds(waiting.def)];
    expect([off.world, off.properties]).toEqual([on.world, on.properties]);
    expect(off.plan).not.toBe(on.plan);
    expect(decodeScenario(encodeScenario(waiting.def))).toEqual(waiting.def);
    expect(decodeScenario(encodeScenario(prompt.def))).toEqual(prompt.def);
  });

  it('are a decision at each resume after a wait, and take that long', () => {
    const free = finish(start(waiting));
    const decisions = schedule(free);
    expect(decisions.length).toBeGreaterThan(30);
    expect(new Set(decisions.map(({ choice }) => choice))).toEqual(new Set([0, 1, 2, 3]));
    expect(new Set(decisions.map(({ arity }) => arity))).toEqual(new Set([4]));
    const never = start(waiting);
    never.answerFrom(policySource({ kind: 'delay', seed: 1, delays: 0, steps: 1 }));
    const prompted = finish(never);
    expect(prompted.endNs).toBe(finish(start(prompt)).endNs);
    expect(lastExitNs(free)).toBeGreaterThan(lastExitNs(prompted) + 50_000_000);
    expect(free.verdict).toBe('pass');
  });

  it('go on from a checkpoint as if the run had never stopped, and replay (CR-20, CR-27)', () => {
    const whole = finish(start(waiting));
    const first = start(waiting);
    first.runUntil({ virtualNs: 90_000_000 });
    const second = start(waiting);
    second.restore(first.capture());
    first.dispose();
    expect(finish(second)).toEqual(whole);
    const { schedule: bytes, events } = whole;
    expect(finish(start(waiting, { replay: { schedule: bytes, events } }))).toEqual(whole);
  });

  it('are refused where they could not be', () => {
    const plan = (delayNsMax: number, choices: number) => {
      return { ...waiting.def, plan: { ...waiting.def.plan, scheduling: { delayNsMax, choices } } };
    };
    for (const [delay, choices] of [
      [0, 4],
      [1.5, 4],
      [10_000_000_001, 4],
      [1, 1],
      [1, 65],
    ] as const) {
      expect(failure(() => encodeScenario(plan(delay, choices)))).toMatchObject({
        code: 'scenario/range',
      });
    }
  });
});
