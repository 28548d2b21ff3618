import { expect, it } from 'vitest';
import { NS_PER_S } from '../../sim/index.ts';
import { runChaos } from '../support/net-chaos.ts';

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
