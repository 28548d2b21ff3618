import { describe, expect, it } from 'vitest';
import {
  encodeUtf8,
  MILLION,
  NS_PER_MS,
  NS_PER_S,
  type Effect,
  type EventDef,
  type GuestPort,
  type PropertyDef,
} from '../../sim/index.ts';
import { failure } from '../support/failure.ts';
import { SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

interface Ticks {
  left: number;
  socket: number;
}

const PORT = 9000;

/** Ticks every 7 ms: draws, writes, and sends a datagram to the next node; receives what came. */
function ticker(port: GuestPort, node: number, names: readonly string[]): StateGuest<Ticks> {
  return new StateGuest<Ticks>({ left: 20, socket: -1 }, port, (state): Effect => {
    if (state.socket < 0) {
      state.socket = port.sockets.open('udp');
      port.sockets.bind(state.socket, 0, PORT);
    }
    const bytes = new Uint8Array(4);
    while (typeof port.sockets.receiveFrom(state.socket, bytes, false) !== 'number') {
      port.console(1, encodeUtf8(`${port.name} got ${bytes[0]}\n`));
    }
    port.entropy(bytes);
    const next = names[(node + 1) % names.length] as string;
    const address = port.sockets.resolve(next)[0] as number;
    port.sockets.sendTo(state.socket, bytes, address, PORT);
    if (--state.left === 0) return { kind: 'exit', atNs: port.nowNs, code: 0 };
    const deadlineNs = port.nowNs + 7 * NS_PER_MS;
    return {
      kind: 'wait',
      atNs: port.nowNs,
      wait: { deadlineNs, interests: [{ socket: state.socket, readiness: 'read' }] },
    };
  });
}

const NAMES = ['a', 'b', 'c'];

function tickers(options: Partial<SmallOptions> = {}): SmallWorld {
  const names = options.names ?? NAMES;
  return new SmallWorld({ names, make: (port, node) => ticker(port, node, names), ...options });
}

function event(name: string, atNs: number, action: EventDef['action']): EventDef {
  return { name, atNs, withinNs: 0, chance: MILLION, action };
}

describe('the world', () => {
  it('CR-52: a run is a function of scenario and seed', () => {
    const first = tickers({ seed: 5 }).run();
    expect(tickers({ seed: 5 }).run().chains()).toBe(first.chains());
    expect(tickers({ seed: 5 }).run().consoles).toEqual(first.consoles);
    expect(tickers({ seed: 6 }).run().chains()).not.toBe(first.chains());
    expect(first.consoles.every((text) => text.includes('got'))).toBe(true);
  });

  it('CR-7: ends in quiescence when nothing can happen any more', () => {
    const run = tickers().run();
    expect(run.world.endReason).toBe('quiescence');
    expect(run.world.next()).toEqual({ kind: 'end', reason: 'quiescence' });
  });

  it('CR-101: goes on equally from a checkpoint at every step, in a fresh world', () => {
    const plan = [
      event('crash', 40 * NS_PER_MS, { kind: 'crash', oneOf: [0, 1, 2] }),
      event('back', 60 * NS_PER_MS, { kind: 'restart', oneOf: [] }),
      event('cut', 70 * NS_PER_MS, { kind: 'isolate', oneOf: [0, 1] }),
      event('heal', 90 * NS_PER_MS, { kind: 'heal' }),
    ];
    const options = { seed: 3, events: plan, link: { jitterNs: 2 * NS_PER_MS, loss: 200_000 } };
    const whole = tickers(options).run();
    const run = tickers(options);
    let boundaries = 0;
    do {
      const other = tickers(options);
      other.restore(run.capture());
      expect(other.run().chains()).toBe(whole.chains());
      boundaries++;
    } while (run.step());
    expect(boundaries).toBeGreaterThan(60);
  });

  it('CR-113: a delivery that its consumer has overtaken stops the run', () => {
    const names = ['a', 'b'];
    const run = new SmallWorld({
      names,
      make: (port, node) => {
        if (node === 1) return ticker(port, node, names);
        // Runs past its horizon, and looks at the world there.
        return new StateGuest({}, port, (): Effect => {
          port.nowNs = port.horizonNs + NS_PER_S;
          port.observedNs = port.nowNs;
          return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs: null, interests: [] } };
        });
      },
    });
    const error = failure(() => run.run());
    expect(error.code).toBe('crash/late-delivery');
    expect(error.exitCode).toBe(3);
  });

  it('CR-112: equal times go by guest index, and events before guests', () => {
    const order: string[] = [];
    new SmallWorld({
      names: NAMES,
      events: [event('pause', 0, { kind: 'pause', oneOf: [1], forNs: NS_PER_MS })],
      make: (port) => {
        return new StateGuest({}, port, (): Effect => {
          order.push(`${port.name}@${port.nowNs}`);
          return { kind: 'exit', atNs: port.nowNs, code: 0 };
        });
      },
    }).run();
    expect(order).toEqual(['a@0', 'b@0', 'c@0']);
  });

  it('CR-9, CR-10: stops at exactly the quanta limit, which fails no property', () => {
    const properties: PropertyDef[] = [{ kind: 'exit', name: 'done', nodes: [0, 1, 2], code: 0 }];
    const run = tickers({ quantaMax: 25, properties }).run();
    expect(run.world.endReason).toBe('quanta');
    expect(run.world.quanta).toBe(25);
    expect(run.steps.filter((kind) => kind === 'resume').length).toBe(25);
    expect(run.world.results().map(({ verdict }) => verdict)).toEqual(['inconclusive']);
  });

  it('CR-7: until virtual-time runs to the limit and no further', () => {
    const limitNs = 50 * NS_PER_MS;
    const run = tickers({ until: 'virtual-time', virtualNsMax: limitNs }).run();
    expect(run.world.endReason).toBe('virtual-time');
    expect(run.world.nowNs).toBe(limitNs);
  });

  it('idle time costs no steps', () => {
    const sleeper = (sleepNs: number): number => {
      const run = new SmallWorld({
        names: ['a'],
        virtualNsMax: 2 ** 52,
        make: (port) => {
          return new StateGuest({ slept: false }, port, (state): Effect => {
            if (state.slept) return { kind: 'exit', atNs: port.nowNs, code: 0 };
            state.slept = true;
            const deadlineNs = port.nowNs + sleepNs;
            return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs, interests: [] } };
          });
        },
      }).run();
      expect(run.world.nowNs).toBeGreaterThanOrEqual(sleepNs);
      return run.steps.length;
    };
    expect(sleeper(10_000 * NS_PER_S)).toBe(sleeper(NS_PER_S));
  });
});

describe('the plan', () => {
  it('CR-60: another event shifts no draw of an event', () => {
    const drawn = (events: readonly EventDef[]): readonly (string | number)[] => {
      const run = tickers({ events, seed: 11 }).run();
      const crash = run.world.notes.find((note) => note.kind === 'crash');
      return crash === undefined ? [] : [crash.node, crash.atNs];
    };
    const crash: EventDef = {
      name: 'crash',
      atNs: 20 * NS_PER_MS,
      withinNs: 30 * NS_PER_MS,
      chance: MILLION,
      action: { kind: 'crash', oneOf: [0, 1, 2] },
    };
    const alone = drawn([crash]);
    expect(alone.length).toBe(2);
    const pause = event('a pause', NS_PER_MS, {
      kind: 'pause',
      oneOf: [0, 1, 2],
      forNs: NS_PER_MS,
    });
    expect(drawn([pause, crash])).toEqual(alone);
  });

  it('a crash ends a guest, a restart begins its next life on the same disk', () => {
    const lives: number[] = [];
    const run = new SmallWorld({
      names: ['a'],
      events: [
        event('crash', NS_PER_S, { kind: 'crash', oneOf: [0] }),
        event('back', 2 * NS_PER_S, { kind: 'restart', oneOf: [] }),
      ],
      make: (port) => {
        return new StateGuest({}, port, (): Effect => {
          const file = port.files.createFile(1, `life-${lives.length}`, 0n);
          port.files.synchronise(file, false);
          port.files.synchronise(1, false);
          lives.push(port.files.lookup(1, 'life-0') > 0 ? 1 : 0);
          const code = lives.length === 2 ? 0 : -1;
          if (code === 0) return { kind: 'exit', atNs: port.nowNs, code };
          return { kind: 'wait', atNs: port.nowNs, wait: { deadlineNs: null, interests: [] } };
        });
      },
    }).run();
    expect(lives).toEqual([1, 1]);
    expect(run.world.life(0)).toMatchObject({ status: 'exited', lives: 2, exitCode: 0 });
    const kinds = run.world.notes.map((note) => note.kind);
    expect(kinds).toEqual(['start', 'crash', 'restart', 'exit']);
  });
});
