import { expect, it } from 'vitest';
import { sha256 } from '../../sim/index.ts';
import { compileTcp, tcpModule } from './programs.ts';

it('the committed TCP program is what its source compiles to', async () => {
  expect(sha256(await compileTcp())).toBe(sha256(tcpModule()));
});
