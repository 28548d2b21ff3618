import { describe, expect, it } from 'vitest';
import type { MachineEvent } from '../../bridge/index.ts';
import { ReadyWatch } from '../../cli/machines/ready-watch.ts';
import { BELL_READY, NS_PER_MS } from '../../sim/index.ts';

function stop(atNs: number, instructions: number, ...events: readonly MachineEvent[]) {
  return { atNs, instructions, events };
}

function said(port: number, text: string): MachineEvent {
  return { kind: 'console', atNs: 1, port, bytes: Buffer.from(text) };
}

function bell(value: number, offset = 0): MachineEvent {
  return { kind: 'bell', atNs: 1, offset, value };
}

function frame(atNs: number): MachineEvent {
  return { kind: 'frame', atNs, port: 0, bytes: Buffer.alloc(60) };
}

describe('CR-55: a machine is ready', () => {
  it('when it rings the bell that says so, and by no other ring', () => {
    const watch = new ReadyWatch({ kind: 'bell' }, 1);
    expect([watch.stops, watch.limitNs(5)]).toEqual([['bell'], Infinity]);
    watch.saw(stop(1, 1, bell(7), bell(BELL_READY, 4), said(0, 'ready\n')));
    expect(watch.isReady).toBe(false);
    watch.saw(stop(2, 2, bell(BELL_READY)));
    expect([watch.isReady, watch.event]).toEqual([true, { kind: 'bell', value: BELL_READY }]);
  });

  it('when a line with the text is complete, on the port where it stands', () => {
    const watch = new ReadyWatch({ kind: 'console', text: 'is up' }, 1);
    for (const byte of 'x is up') watch.saw(stop(1, 1, said(1, byte)));
    watch.saw(stop(2, 2, said(0, 'another line\r\n'), said(0, 'is ')));
    watch.saw(stop(2, 2, said(1, '?'), said(0, 'down\n')));
    expect(watch.isReady).toBe(false);
    watch.saw(stop(3, 3, said(1, '\r\n')));
    const bytes = Buffer.from('x is up?\n');
    expect([watch.isReady, watch.event]).toEqual([true, { kind: 'console', port: 1, bytes }]);
  });

  it('when it has executed so many instructions: at most a millisecond later', () => {
    const watch = new ReadyWatch({ kind: 'instructions', count: 10_000_000 }, 8);
    expect(watch.limitNs(0)).toBe(80_000_000);
    watch.saw(stop(80_000_000, 9_999_999));
    expect(watch.isReady).toBe(false);
    expect(watch.limitNs(80_000_000)).toBe(80_000_000 + NS_PER_MS);
    watch.saw(stop(81_000_000, 10_000_002));
    expect([watch.isReady, watch.event]).toEqual([true, null]);
  });

  it('when it has sent frames, and then none for so long', () => {
    const watch = new ReadyWatch({ kind: 'network-idle', forNs: 1_000 }, 1);
    watch.saw(stop(9_000, 1));
    expect([watch.isReady, watch.limitNs(9_000)]).toEqual([false, Infinity]);
    watch.saw(stop(10_000, 2, frame(9_500)));
    expect([watch.isReady, watch.limitNs(10_000)]).toEqual([false, 10_500]);
    watch.saw(stop(10_500, 3, frame(10_400)));
    expect([watch.isReady, watch.limitNs(10_500)]).toEqual([false, 11_400]);
    watch.saw(stop(11_400, 4));
    expect([watch.isReady, watch.event]).toEqual([true, null]);
  });
});
