import { expect, it } from 'vitest';
import { NS_PER_S } from '../../sim/index.ts';
import { runChaos } from '../support/net-chaos.ts';

it('whatever programs, nodes and links do for 1,000 seeds, streams stay whole', () => {
  for (let seed = 1_001; seed <= 2_000; seed++) {
    const ending = runChaos(seed, 500);
    expect(ending, `seed ${seed}`).toMatchObject({ socketsLeft: 0, bytesLeft: 0 });
    expect(ending.restNs, `seed ${seed}`).toBeLessThan(400 * NS_PER_S);
  }
});
