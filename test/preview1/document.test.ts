import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ERRNO, errnoName } from '../../sim/index.ts';
import { BYTES_PER_NS, COST_NS } from '../../wasm/preview1/costs.ts';
import {
  ALL_FUNCTIONS,
  PREVIEW1_FUNCTIONS,
  SOCKET_FUNCTIONS,
} from '../../wasm/preview1/functions.ts';
import { randomSource } from '../storage/support.ts';
import { openSocket } from './sockets.ts';
import { Ended, Wasi } from './wasi.ts';

const text = readFileSync('docs/wasi-preview1.md', 'utf8');

interface Row {
  readonly name: string;
  readonly waits: boolean;
  readonly errors: readonly string[];
}

/** The rows of the table below a heading. */
function table(heading: string): Row[] {
  const section = text.split('\n## ').find((part) => part.startsWith(heading)) ?? '';
  return section.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    const name = /^`(\w+)`$/.exec(cells[1] ?? '')?.[1];
    if (name === undefined) return [];
    const errors = [...(cells[4] ?? '').matchAll(/`(\w+)`/g)].map((match) => match[1] as string);
    return [{ name, waits: cells[2] === 'yes', errors }];
  });
}

const preview1 = table('Preview 1');
const sockets = table('Sockets');
const documented = new Map([...preview1, ...sockets].map((row) => [row.name, row]));

/** What any call with paths may give; the page says so once. */
const OF_PATHS = ['ILSEQ', 'NAMETOOLONG', 'INVAL', 'NOENT', 'PERM', 'LOOP', 'NOTDIR'];

describe('docs/wasi-preview1.md', () => {
  it('has a row for each function, in the order of the code', () => {
    expect(preview1.map(({ name }) => name)).toEqual(PREVIEW1_FUNCTIONS.map(({ name }) => name));
    const names = SOCKET_FUNCTIONS.map(({ name }) => name.replace(/_v2$/, ''));
    const added = names.filter((name) => !preview1.some((row) => row.name === name));
    expect(sockets.map(({ name }) => name)).toEqual([...new Set(added)]);
  });

  it('says which calls wait', () => {
    for (const { name, blocks } of [...PREVIEW1_FUNCTIONS, ...SOCKET_FUNCTIONS]) {
      expect([name, documented.get(name.replace(/_v2$/, ''))?.waits]).toEqual([name, blocks]);
    }
  });

  it('names errors that exist', () => {
    const unknown = [...documented.values()].flatMap(({ errors }) => {
      return errors.filter((name) => !Object.hasOwn(ERRNO, name));
    });
    expect(unknown).toEqual([]);
  });

  it('says what calls take', () => {
    const { clock, yield: yields, descriptor, file, synchronise } = COST_NS;
    expect([clock, yields, descriptor, file, synchronise, BYTES_PER_NS]).toEqual([
      20, 100, 200, 1000, 100_000, 4,
    ]);
    expect(text).toContain(
      '20 ns for clocks and arguments, 100 ns for a yield, 200 ns for what only looks',
    );
  });

  it('names every errno that random calls give', () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 6; seed++) {
      const random = randomSource(seed);
      const wasi = populated();
      for (let count = 0; count < 1_500; count++) {
        const row = ALL_FUNCTIONS[random(ALL_FUNCTIONS.length)] as (typeof ALL_FUNCTIONS)[number];
        if (!row.returnsErrno || row.name === 'proc_raise' || row.name === 'fd_renumber') continue;
        const args = Array.from(row.parameters, (letter) => {
          return letter === 'I'
            ? BigInt(random(40) - 1) ** BigInt(1 + random(2))
            : someWord(random);
        });
        seen.add(`${row.name.replace(/_v2$/, '')} ${errnoName(safely(wasi, row, args))}`);
      }
    }
    const missing = [...seen].filter((each) => {
      const [name, errno] = each.split(' ') as [string, string];
      const allowed = documented.get(name)?.errors ?? [];
      const general = name.startsWith('path_') ? OF_PATHS : [];
      return !['SUCCESS', ...allowed, ...general].includes(errno);
    });
    expect(missing).toEqual([]);
    expect(seen.size).toBeGreaterThan(150);
  });
});

function safely(
  wasi: Wasi,
  row: (typeof ALL_FUNCTIONS)[number],
  args: (number | bigint)[],
): number {
  try {
    return wasi.make(() => wasi.preview1.bind(row), args);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    wasi.abandon();
    return 0;
  }
}

/** Small numbers (descriptors, flags), addresses of paths and vectors, and nonsense. */
function someWord(random: (below: number) => number): number {
  switch (random(8)) {
    case 0:
      return -1;
    case 1:
      return 262_144 - random(70);
    case 2:
    case 3:
      return 1024 + 16 * random(24);
    default:
      return random(14);
  }
}

/** A guest with files, sockets, and a memory of short paths, vectors and addresses. */
function populated(): Wasi {
  const wasi = new Wasi({ peers: ['peer'] });
  wasi.data.fill(0, 0, 65_536);
  for (let index = 0; index < 24; index++) {
    const at = 1024 + 16 * index;
    const path = ['a', 'b', 'd', 'd/a', 'd/', 'l', '..', '/a', '.', 'peer', 'd/e', 'loop'][
      index % 12
    ] as string;
    if (index < 12) wasi.data.set(Buffer.from(path), at);
    else
      wasi.data.set(
        new Uint8Array(Uint32Array.from([2048, [4, 16, 128, 8][index % 4] as number]).buffer),
        at,
      );
  }
  wasi.data.set([10, 0, 0, 2], 2048);
  wasi.touched(0, 65_536);
  wasi.open('a', { oflags: 1 });
  wasi.mkdir('d');
  wasi.mkdir('e');
  wasi.symlink('a', 'l');
  wasi.symlink('loop', 'loop');
  openSocket(wasi, 'tcp');
  openSocket(wasi, 'udp');
  wasi.open('d', { rights: 0 });
  return wasi;
}
