import { beforeAll, describe, expect, it } from 'vitest';
import { Simulation, type SimulationResult } from '../../cli/simulation.ts';
import { scenario } from '../../scenarios/index.ts';
import { failure } from '../support/failure.ts';
import { outcomeOf, prepare, type Prepared } from '../guests/simulate.ts';

/** Compiled C programs over lossy links, with a crash of the server in the middle. */
let echo: Prepared;

beforeAll(async () => {
  const builder = scenario('echo with a crash')
    .network({ latency: '5ms', jitter: '2ms', loss: 20_000 })
    .node({ name: 'server', guest: 'echo-server', args: ['7'] })
    .node({ name: 'one', guest: 'echo-client', args: ['server', '7', '6', '200', '20'] })
    .node({ name: 'two', guest: 'echo-client', args: ['server', '7', '6', '200', '20'] })
    .event({ name: 'crash', at: '60ms', within: '40ms', do: 'crash', node: 'server' })
    .event({ name: 'back', at: '300ms', do: 'restart' })
    .limits({ virtual_time: '20s' });
  echo = await prepare(builder, ['echo-server', 'echo-client']);
});

function simulation(seed: number, extra: object = {}): Simulation {
  return new Simulation({ ...echo, scenario: echo.def, seed, ...extra });
}

function finish(run: Simulation): SimulationResult {
  run.runUntil({});
  const result = run.finish();
  run.dispose();
  return result;
}

describe('checkpoints of compiled guests', () => {
  it('CR-20, CR-21, CR-101: a run that goes on from any boundary is the run that never stopped', () => {
    const whole = finish(simulation(4));
    expect(whole.notes.map(({ kind }) => kind)).toContain('crash');
    const run = simulation(4);
    let boundaries = 0;
    for (let quanta = 0; run.runUntil({ quanta }) === 'stopped'; quanta += 3) {
      const other = simulation(4);
      other.restore(run.capture());
      const result = finish(other);
      expect(outcomeOf(result).identity).toBe(outcomeOf(whole).identity);
      expect(Buffer.compare(result.schedule, whole.schedule)).toBe(0);
      expect(Buffer.compare(result.events, whole.events)).toBe(0);
      boundaries++;
    }
    run.dispose();
    expect(boundaries).toBeGreaterThan(15);
  });

  it('CR-20: one simulation goes back to a checkpoint again and again', () => {
    const run = simulation(4);
    run.runUntil({ virtualNs: 50_000_000 });
    const checkpoint = run.capture();
    const identities = new Set<string>();
    for (let round = 0; round < 5; round++) {
      run.restore(checkpoint);
      run.runUntil({});
      identities.add(outcomeOf(run.finish()).identity);
    }
    run.dispose();
    expect(identities.size).toBe(1);
  });

  it('CR-22: forks with other seeds part from the point on, and share what came before', () => {
    const base = simulation(4);
    base.runUntil({ virtualNs: 50_000_000 });
    const checkpoint = base.capture();
    const schedules = [11, 12, 13].map((seed) => {
      base.restore(checkpoint);
      base.reseed(seed);
      base.runUntil({});
      return Buffer.from(base.finish().schedule);
    });
    base.dispose();
    const lengths = checkpoint.schedule.reduce((sum, frame) => sum + frame.length, 0);
    const [first, second, third] = schedules as [Buffer, Buffer, Buffer];
    expect(first.subarray(0, lengths).equals(second.subarray(0, lengths))).toBe(true);
    expect(new Set([first, second, third].map((each) => each.toString('hex'))).size).toBe(3);
  });
});

describe('replay of compiled guests', () => {
  it('CR-27, CR-99: meets every event and fingerprint again, even under another seed', () => {
    const whole = finish(simulation(5));
    const replay = { schedule: whole.schedule, events: whole.events };
    const again = finish(simulation(99, { replay }));
    expect(Buffer.compare(again.schedule, whole.schedule)).toBe(0);
    expect(Buffer.compare(again.events, whole.events)).toBe(0);
    expect(outcomeOf(again).result.fingerprints).toEqual(whole.fingerprints);
  });

  it('CR-27: stops at the first difference, and says what was expected and what came', () => {
    const five = finish(simulation(5));
    const six = finish(simulation(6));
    const mixed = { schedule: five.schedule, events: six.events };
    const error = failure(() => finish(simulation(5, { replay: mixed })));
    expect(error.code).toBe('verdict/divergence');
    expect(error.exitCode).toBe(1);
    expect(error.message).toMatch(/expected .* at \d+\.\d{9}s.*; came .* at \d+\.\d{9}s/);
  });

  it('CR-23: an override answers its decision, and one never reached is told', () => {
    const overrides = [
      { stream: 'plan/crash/at', ordinal: 0, choice: 1 },
      { stream: 'plan/crash/at', ordinal: 7, choice: 1 },
    ];
    const run = simulation(5, { overrides });
    run.runUntil({});
    const crash = run.finish().notes.find(({ kind }) => kind === 'crash');
    expect(crash?.atNs).toBe(60_000_001);
    expect(run.unreachedOverrides()).toEqual(['plan/crash/at#7']);
    run.dispose();
  });
});
