import { expect, it } from 'vitest';
import { VIRTUAL_NS_MAX } from '../../sim/index.ts';
import { Timer } from '../../sim/network/tcp-timer.ts';

/** A timer, the events that it queued, and how those that came fired. */
function watched(): { timer: Timer; queued: number[]; wake: (atNs: number) => void } {
  const queued: number[] = [];
  return { timer: new Timer(0, 1, 'retransmit'), queued, wake: (atNs) => queued.push(atNs) };
}

it('a timer that moves later queues nothing until its event comes', () => {
  const { timer, queued, wake } = watched();
  for (const atNs of [100, 110, 120, 500]) timer.arm(wake, atNs);
  expect(queued).toEqual([100]);
  expect(timer.fires(wake, 100)).toBe(false);
  expect(queued).toEqual([100, 500]);
  expect(timer.fires(wake, 500)).toBe(true);
  expect(timer.isArmed).toBe(false);
});

it('a timer that moves earlier fires once, and its older event neither fires nor multiplies', () => {
  const { timer, queued, wake } = watched();
  timer.arm(wake, 100);
  timer.arm(wake, 50);
  expect(timer.fires(wake, 50)).toBe(true);
  timer.arm(wake, 200);
  expect(timer.fires(wake, 100)).toBe(false);
  expect(queued).toEqual([100, 50, 200]);
  expect(timer.fires(wake, 200)).toBe(true);
});

it('a timer that is stopped does not fire', () => {
  const { timer, queued, wake } = watched();
  timer.arm(wake, 100);
  timer.disarm();
  expect(timer.fires(wake, 100)).toBe(false);
  expect(queued).toEqual([100]);
});

it('a timer past the end of time is never queued', () => {
  const { timer, queued, wake } = watched();
  timer.arm(wake, VIRTUAL_NS_MAX + 1);
  expect(queued).toEqual([]);
});
