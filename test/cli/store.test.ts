import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Store } from '../../cli/store.ts';
import { encodeUtf8, scenarioIds, sha256 } from '../../sim/index.ts';
import { bundleParts, bundleScenario } from '../bundle/parts.ts';
import { failure } from '../support/failure.ts';

function emptyStore(): { store: Store; folder: string; object(address: string): string } {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const object = (address: string): string => {
    return join(folder, 'sha256', address.slice(0, 2), address.slice(2));
  };
  return { store: new Store(folder), folder, object };
}

describe('the store', () => {
  it('CR-105: keeps an object under its SHA-256', () => {
    const { store, object } = emptyStore();
    const bytes = encodeUtf8('some bytes');
    const address = store.put(bytes);
    expect(address).toBe(sha256(bytes));
    expect(store.put(bytes)).toBe(address);
    expect(Buffer.compare(store.get(address), bytes)).toBe(0);
    expect(readFileSync(object(address), 'utf8')).toBe('some bytes');
  });

  it.each(['', '12', 'G'.repeat(64), 'A'.repeat(64), '../../etc/passwd', '0'.repeat(65)])(
    'CR-105: the address "%s" is refused',
    (address) => {
      const error = failure(() => emptyStore().store.get(address));
      expect([error.code, error.exitCode]).toEqual(['store/address', 5]);
    },
  );

  it('CR-105: a missing object is an error', () => {
    const error = failure(() => emptyStore().store.get('0'.repeat(64)));
    expect([error.code, error.exitCode]).toEqual(['store/missing', 5]);
  });

  it('CR-105: an object of another content or length is an error, never repaired', () => {
    for (const damage of ['some bytez', 'some byte', '']) {
      const { store, object } = emptyStore();
      const address = store.put(encodeUtf8('some bytes'));
      writeFileSync(object(address), damage);
      const error = failure(() => store.get(address));
      expect([error.code, error.message]).toEqual([
        'store/damaged',
        `an object of the store is damaged: expected ${address}, found ${sha256(encodeUtf8(damage))}`,
      ]);
      expect(readFileSync(object(address), 'utf8')).toBe(damage);
    }
  });

  it('CR-50, CR-105: gives a scenario back by its id, with its closure', () => {
    const { store, object } = emptyStore();
    const def = bundleScenario();
    const { images } = bundleParts();
    const id = store.putScenario(def, images);
    expect(id).toBe(scenarioIds(def).scenario);
    const stored = store.getScenario(id);
    expect(stored?.def).toStrictEqual(def);
    expect([...(stored?.images.keys() ?? [])]).toEqual([...images.keys()]);
    expect(store.getScenario('0'.repeat(64))).toBe(null);
    rmSync(object([...images.keys()][0] ?? ''));
    expect(failure(() => store.getScenario(id)).code).toBe('store/missing');
  });

  it('CR-105: an entry that names another scenario is an error', () => {
    const { store, folder } = emptyStore();
    const { images } = bundleParts();
    const id = store.putScenario(bundleScenario(), images);
    const other = store.putScenario({ ...bundleScenario(), seed: 43 }, images);
    const names = readdirSync(join(folder, 'scenarios')).sort();
    expect(names).toEqual([id, other].sort());
    writeFileSync(
      join(folder, 'scenarios', id),
      readFileSync(join(folder, 'scenarios', other), 'utf8'),
    );
    const error = failure(() => store.getScenario(id));
    expect([error.code, error.message]).toEqual([
      'store/damaged',
      `the store names another scenario: expected ${id}, found ${other}`,
    ]);
  });
});
