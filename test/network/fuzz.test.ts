import { expect, it } from 'vitest';
import { NS_PER_S, type Interest } from '../../sim/index.ts';
import { Chaos, runChaos } from '../support/net-chaos.ts';

it('whatever programs, nodes and links do, streams stay whole and all comes to rest', () => {
  let bytesChecked = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const ending = runChaos(seed, 300);
    bytesChecked += ending.bytesChecked;
    expect(ending, `seed ${seed}`).toMatchObject({ socketsLeft: 0, bytesLeft: 0 });
    // The longest: a SYN that nobody answers, which was sent just before the end.
    expect(ending.restNs, `seed ${seed}`).toBeLessThan(400 * NS_PER_S);
  }
  expect(bytesChecked).toBeGreaterThan(1_000_000);
});

it('whoever waits for several sockets is woken by exactly the events that make one ready', () => {
  let wokenCount = 0;
  for (let seed = 1; seed <= 8; seed++) {
    const chaos = new Chaos(seed);
    const { loop } = chaos;
    loop.watch = (node) => {
      const stack = loop.stack(node);
      const waits = everySocket().filter((interest) => !stack.isReady([interest]));
      return () => {
        for (const interest of waits) {
          const ready = stack.isReady([interest]);
          if (ready) wokenCount++;
          expect(stack.becameReady([interest]), `seed ${seed}`).toBe(ready);
        }
      };
    };
    for (let count = 0; count < 300; count++) chaos.act();
  }
  expect(wokenCount).toBeGreaterThan(500);
});

/** Both kinds of waiting for each socket that a short chaos can have made. */
function everySocket(): readonly Interest[] {
  return Array.from({ length: 80 }, (_, index) => index + 1).flatMap((socket): Interest[] => [
    { socket, readiness: 'read' },
    { socket, readiness: 'write' },
  ]);
}
