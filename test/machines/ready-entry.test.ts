import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { READY_ENTRIES_MAX, ReadyCache } from '../../cli/machines/ready-entry.ts';

const KEY = 'a'.repeat(64);
const MEMORY_BYTES = 8_192;
const FOUND = {
  course: {
    seed: 1,
    bootNs: 0,
    offsetNs: 0,
    stoppedNs: 5,
    instructions: 9,
    status: 0,
    text: Uint8Array.of(65),
    panic: { line: '', panicked: 'no' },
  },
  hash: '0'.repeat(32),
  event: { kind: 'bell', value: 7 },
  node: { atNs: 5, files: { version: 1 }, ends: [] },
} as const;

describe('CR-55: the cache of ready points', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'athanor-ready-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const keep = (key = KEY, state = 'devices'): void => {
    const cache = new ReadyCache(folder);
    const draft = cache.draft();
    writeFileSync(join(draft, 'ram'), new Uint8Array(MEMORY_BYTES));
    writeFileSync(join(draft, 'state'), state);
    cache.keep(draft, key, FOUND);
    cache.drop(draft);
  };
  const open = () => new ReadyCache(folder).open(KEY, MEMORY_BYTES);

  it('gives back what was kept, and leaves no draft', () => {
    expect(open()).toBeNull();
    keep();
    expect(open()).toMatchObject({ key: KEY, ...FOUND });
    expect(readdirSync(folder)).toEqual([KEY]);
  });

  it('keeps the first of two that are made at once', () => {
    keep(KEY, 'first');
    const { digest } = open() ?? {};
    keep(KEY, 'second');
    expect(open()?.digest).toBe(digest);
    expect(readFileSync(join(folder, KEY, 'state'), 'utf8')).toBe('first');
    expect(readdirSync(folder)).toEqual([KEY]);
  });

  it('takes no entry that is not whole, and removes it', () => {
    const spoil: readonly ((entry: string) => void)[] = [
      (entry) => rmSync(join(entry, 'sums')),
      (entry) => truncateSync(join(entry, 'ram'), 4_096),
      (entry) => writeFileSync(join(entry, 'state'), 'Devices'),
      (entry) => writeFileSync(join(entry, 'ready'), 'x'),
      (entry) => rmSync(join(entry, 'ram')),
    ];
    for (const damage of spoil) {
      keep();
      damage(join(folder, KEY));
      expect(open()).toBeNull();
      new ReadyCache(folder).remove(KEY);
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  it('has no trace of one who was killed while he wrote', () => {
    const draft = join(folder, 'draft-999999999-x', 'entry');
    mkdirSync(draft, { recursive: true });
    writeFileSync(join(draft, 'ram'), 'half');
    keep();
    expect(readdirSync(folder)).toEqual([KEY]);
  });

  it('keeps so many, and lets those go that nobody has used for longest', () => {
    const keys = Array.from({ length: READY_ENTRIES_MAX + 2 }, (_, index) => {
      return String(index).padStart(64, '0');
    });
    keys.forEach((key, index) => {
      keep(key);
      utimesSync(join(folder, key), 1_000 + index, 1_000 + index);
      // The first one is used again and again.
      new ReadyCache(folder).open(keys[0] ?? '', MEMORY_BYTES);
    });
    const left = readdirSync(folder);
    expect(left).toHaveLength(READY_ENTRIES_MAX);
    expect(left).toContain(keys[0]);
    expect(left).not.toContain(keys[1]);
  });
});
