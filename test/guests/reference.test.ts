import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { File } from '@bjorn3/browser_wasi_shim';
import { Directory } from '@bjorn3/browser_wasi_shim';
import { describe, expect, it } from 'vitest';
import { guestPath } from '../../guests/index.ts';
import { runOnReference } from './reference-host.ts';

const built = (name: string): Uint8Array<ArrayBuffer> => {
  return new Uint8Array(readFileSync(guestPath('built', `${name}.wasm`)));
};

/** The message that the sha256 guest hashes. */
function message(byteCount: number, round: number): Uint8Array {
  return Uint8Array.from({ length: byteCount }, (_, index) => (index * 31 + round) & 255);
}

describe('the guests do on an independent host what they promise', () => {
  it('sha256 agrees with another implementation at every padding length', () => {
    for (const byteCount of [0, 1, 55, 56, 63, 64, 65, 4096, 100_000]) {
      const expected = [0, 1].map((round) => {
        return createHash('sha256').update(message(byteCount, round)).digest('hex');
      });
      const run = runOnReference(built('sha256'), [String(byteCount), '2']);
      expect(run).toEqual({ exitCode: 0, output: `${expected.join('\n')}\n` });
    }
  });

  it('kv recovers what was synced and cuts a torn record off', () => {
    const root = new Directory(new Map());
    expect(runOnReference(built('kv'), ['/kv', '300'], root).exitCode).toBe(0);
    const log = (root.contents.get('kv') as Directory).contents.get('kv.log') as File;
    log.data = log.data.slice(0, -50);
    const run = runOnReference(built('kv'), ['/kv', '400'], root);
    expect(run.output).toMatch(/^recovered 299\n/);
    expect(run.output).toMatch(/ok: 400 operations, digest [0-9a-f]{8}\n$/);
    const whole = runOnReference(built('kv'), ['/kv', '400']);
    expect(whole.output.split('\n').at(-2)).toBe(run.output.split('\n').at(-2));
  });

  it('kv calls out a log whose content is wrong though its checksums are right', () => {
    const root = new Directory(new Map());
    runOnReference(built('kv'), ['/kv', '10'], root);
    const log = (root.contents.get('kv') as Directory).contents.get('kv.log') as File;
    const recordSize = log.data.length / 10;
    log.data = log.data.slice(recordSize);
    const run = runOnReference(built('kv'), ['/kv', '10'], root);
    expect(run.exitCode).toBe(2);
    expect(run.output).toMatch(/^recovered 10\nwrong: key \d+ after 10 operations\n$/);
  });

  it('the counter counts its starts', () => {
    const root = new Directory(new Map());
    const outputs = [1, 2, 3].map(() => runOnReference(built('files'), ['counter', '/c'], root));
    expect(outputs.map((run) => run.output)).toEqual([
      'found 0\nstored 1\n',
      'found 1\nstored 2\n',
      'found 2\nstored 3\n',
    ]);
  });

  it('hostile ends as each mode says', () => {
    const hostile = built('hostile');
    expect(runOnReference(hostile, ['exit-mid-write'])).toEqual({
      exitCode: 7,
      output: 'half a li',
    });
    for (const mode of ['trap', 'divide', 'write-out-of-bounds', 'recurse']) {
      expect(() => runOnReference(hostile, [mode])).toThrow(WebAssembly.RuntimeError);
    }
    expect(() => runOnReference(hostile, ['recurse-in-registers'])).toThrow(RangeError);
    expect(runOnReference(hostile, ['no such mode']).exitCode).toBe(64);
  });

  it('fp prints the same bits twice, and its kept NaN keeps its payload', () => {
    const first = runOnReference(built('fp'), ['100']);
    expect(first).toEqual(runOnReference(built('fp'), ['100']));
    expect(first.output).toContain('nan kept fff4000012345678\n');
  });
});
