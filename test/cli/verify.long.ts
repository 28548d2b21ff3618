import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { builtinScenarioNames } from '../../scenarios/index.ts';
import { SimFolder } from './sim.ts';

const MAIN = join(process.cwd(), 'dist', 'cli', 'main.js');

describe('every built-in scenario', () => {
  it.each(builtinScenarioNames())(
    'CR-14: %s is the same byte for byte on each hostile host',
    async (name) => {
      const folder = new SimFolder();
      const args = [MAIN, 'verify', name, '--seed', '11', '--adversarial', '--format', 'jsonl'];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder.path });
      const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as object;
      expect(last).toMatchObject({ type: 'verify', deterministic: true, runs: 7 });
    },
  );
});
