import { describe, expect, it } from 'vitest';
import { Simulation } from '../../cli/simulation.ts';
import { builtinScenarioText, loadScenarioText, LocalFiles } from '../../scenarios/index.ts';
import {
  decodeEvents,
  LOG_EVENTS,
  NS_PER_MS,
  NS_PER_S,
  readWholeLog,
  type Effect,
  type GuestPort,
} from '../../sim/index.ts';
import { WasmEngine } from '../../wasm/index.ts';
import { SmallWorld } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

function hello(): Simulation {
  const loaded = loadScenarioText(builtinScenarioText('hello') ?? '', 'hello', new LocalFiles('.'));
  if (!loaded.ok) throw loaded.errors[0] as Error;
  const { def: scenario, images } = loaded.scenario;
  return new Simulation({ scenario, images, engine: new WasmEngine(), seed: 1 });
}

const PORT = 9000;

/**
 * The first node waits for a datagram for at most 5 s, and once it has one, for ever. The second
 * sends it at 1 s.
 */
function impatient(port: GuestPort, node: number): StateGuest<{ socket: number; turns: number }> {
  return new StateGuest({ socket: 0, turns: 0 }, port, (state): Effect => {
    const { sockets } = port;
    state.turns++;
    if (state.turns === 1) {
      state.socket = sockets.open('udp');
      sockets.bind(state.socket, 0, PORT);
    } else if (node === 1) {
      const [address] = sockets.resolve('a');
      sockets.sendTo(state.socket, new Uint8Array(1), address as number, PORT);
      return { kind: 'exit', atNs: port.nowNs, code: 0 };
    }
    sockets.receiveFrom(state.socket, new Uint8Array(1), false);
    const waitNs = node === 1 ? NS_PER_S : 5 * NS_PER_S;
    const deadlineNs = state.turns === 1 ? port.nowNs + waitNs : null;
    const interests = [{ socket: state.socket, readiness: 'read' as const }];
    return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs, interests } };
  });
}

describe('quiescence', () => {
  it('comes with the last thing that happens, not with the timers that were stopped', () => {
    const simulation = hello();
    simulation.runUntil({});
    const result = simulation.finish();
    const events = [...decodeEvents(readWholeLog(result.events, LOG_EVENTS))];
    expect(result.reason).toBe('quiescence');
    expect(result.endNs).toBe(Math.max(...events.map(({ atNs }) => atNs)));
    simulation.dispose();
  });

  it('comes at the same time after a savepoint that holds stopped timers', () => {
    const [whole, saved, resumed] = [hello(), hello(), hello()];
    whole.runUntil({});
    saved.runUntil({ virtualNs: 515 * NS_PER_MS });
    resumed.restore(saved.capture());
    resumed.runUntil({});
    const end = whole.finish();
    expect(end.endNs).toBeGreaterThan(515 * NS_PER_MS);
    expect(resumed.finish().fingerprints).toEqual(end.fingerprints);
    for (const simulation of [whole, saved, resumed]) simulation.dispose();
  });

  it('does not wait for a deadline that a guest has given up', () => {
    const run = new SmallWorld({ names: ['a', 'b'], make: impatient }).run();
    expect(run.world.endReason).toBe('quiescence');
    expect(run.world.nowNs).toBe(NS_PER_S + 5 * NS_PER_MS);
  });

  it('is not a limit of time that only given-up timers would reach', () => {
    const options = { names: ['a', 'b'], make: impatient, virtualNsMax: 2 * NS_PER_S };
    expect(new SmallWorld(options).run().world.endReason).toBe('quiescence');
  });
});
