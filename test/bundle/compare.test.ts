import { describe, expect, it } from 'vitest';
import {
  compareRuns,
  Decisions,
  EventLog,
  type ComparedRun,
  type FingerprintRecord,
} from '../../sim/index.ts';

interface Effect {
  readonly kind: string;
  readonly guest?: number;
  readonly atNs?: number;
  readonly input?: number;
  readonly result?: number;
}

const EFFECTS: readonly Effect[] = Array.from({ length: 30 }, (_, index) => ({
  kind: ['clock_time_get', 'random_get', 'sock_send'][index % 3] as string,
  guest: index % 2,
  atNs: index * 100,
  input: index,
  result: index * 2,
}));

function run(
  effects: readonly Effect[],
  options: { seed?: number; streams?: readonly string[]; guests?: readonly string[] } = {},
): ComparedRun {
  const schedule: Uint8Array[] = [];
  const events: Uint8Array[] = [];
  const decisions = new Decisions(options.seed ?? 1, (frame) => schedule.push(frame));
  const log = new EventLog((frame) => events.push(frame));
  for (const stream of options.streams ?? []) {
    decisions.decide(decisions.stream(stream), 5, 1_000_000);
  }
  for (const { kind, guest = 0, atNs = 0, input = 0, result = 0 } of effects) {
    log.append(log.kind(kind), guest, atNs, input, result);
  }
  decisions.log.flush();
  log.log.flush();
  const fingerprint = (atNs: number, guests: readonly string[]): FingerprintRecord => {
    return { atNs, quanta: 1, decisionChain: '0', eventChain: '0', guests };
  };
  return {
    schedule: Buffer.concat(schedule),
    events: Buffer.concat(events),
    fingerprints: [
      fingerprint(1_000, ['a', 'b']),
      fingerprint(2_000, options.guests ?? ['a', 'b']),
    ],
  };
}

/** The effects with some of them changed. */
function changed(at: number, change: Partial<Effect>): readonly Effect[] {
  return EFFECTS.map((effect, index) => (index === at ? { ...effect, ...change } : effect));
}

describe('comparing two runs', () => {
  it('finds equal runs equal', () => {
    expect(compareRuns(run(EFFECTS), run(EFFECTS))).toBe(null);
  });

  it('CR-15: names the first event that differs, with what stands around it', () => {
    const difference = compareRuns(run(EFFECTS), run(changed(20, { result: 7 })));
    expect(difference?.event?.index).toBe(20);
    expect(difference?.event?.left?.result).toBe(40);
    expect(difference?.event?.right?.result).toBe(7);
    expect([difference?.logNs, difference?.logGuest]).toEqual([2_000, 0]);
    expect(difference?.window.left.map((event) => event.index)).toEqual(
      Array.from({ length: 16 }, (_, index) => index + 12),
    );
  });

  it('CR-15: what a stream does not localise stays unknown', () => {
    const log = compareRuns(run(EFFECTS), run(changed(20, { result: 7 })));
    expect([log?.fingerprint, log?.fingerprintAfterNs, log?.fingerprintByNs]).toEqual([
      null,
      null,
      null,
    ]);
    const state = compareRuns(run(EFFECTS), run(EFFECTS, { guests: ['a', 'c'] }));
    expect([state?.event, state?.decision, state?.logNs, state?.logGuest]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    expect([state?.fingerprintAfterNs, state?.fingerprintByNs, state?.fingerprintGuests]).toEqual([
      1_000,
      2_000,
      [1],
    ]);
  });

  it('names the first decision that differs', () => {
    const difference = compareRuns(
      run(EFFECTS, { streams: ['a', 'b', 'c'] }),
      run(EFFECTS, { streams: ['a', 'c', 'b'] }),
    );
    expect(difference?.decision?.index).toBe(1);
    expect([difference?.decision?.left?.stream, difference?.decision?.right?.stream]).toEqual([
      'b',
      'c',
    ]);
    expect(difference?.event).toBe(null);
  });

  it('says where one run ends before the other', () => {
    const difference = compareRuns(run(EFFECTS), run(EFFECTS.slice(0, 10)));
    expect([difference?.event?.index, difference?.event?.right]).toEqual([10, null]);
  });

  it.each<[string, readonly Effect[], RegExp]>([
    ['clock', changed(3, { result: 9 }), /^clock: a clock was read/],
    ['entropy', changed(4, { result: 9 }), /^entropy: random bytes differ/],
    ['memory', changed(5, { input: 99 }), /^memory: what the guest computed/],
    ['clock', changed(5, { atNs: 501 }), /^clock: the same effect at another time/],
    [
      'iteration order',
      [...EFFECTS.slice(0, 6), ...EFFECTS.slice(6, 8).reverse(), ...EFFECTS.slice(8)],
      /^iteration order: the same effects/,
    ],
    ['unknown', changed(5, { kind: 'fd_read', input: 99 }), /^unknown: the guests went/],
  ])('names the likely source: %s', (_name, effects, expected) => {
    expect(compareRuns(run(EFFECTS), run(effects))?.source).toMatch(expected);
  });

  it('names host I/O, stack depth and unseen memory', () => {
    const read = (result: number): readonly Effect[] => [{ kind: 'fd_read', result }];
    expect(compareRuns(run(read(1)), run(read(2)))?.source).toMatch(/^host I\/O/);
    const trap = (input: number): readonly Effect[] => [{ kind: 'guest/trap', input }];
    expect(compareRuns(run(trap(1)), run(trap(2)))?.source).toMatch(/^stack depth/);
    expect(compareRuns(run([]), run([], { guests: ['x', 'b'] }))?.source).toMatch(/^memory: no/);
    const streams = ['a'];
    expect(compareRuns(run([], { streams }), run([], { streams, seed: 2 }))?.source).toMatch(
      /^entropy: the same question/,
    );
  });
});
