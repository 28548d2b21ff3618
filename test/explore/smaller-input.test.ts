import { describe, expect, it } from 'vitest';
import {
  GRAINS,
  inputPieces,
  inputSize,
  joinBytes,
  cutBytes,
  withBytes,
  withoutPieces,
  type ScenarioDef,
} from '../../sim/index.ts';
import { smallScenario } from '../support/small-world.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

function given(): ScenarioDef {
  const plain = smallScenario({ names: ['a', 'b', 'c'], make: () => expect.fail() });
  const nodes = plain.world.nodes.map((node, index) => ({
    ...node,
    args: index === 2 ? ['other', 'x'] : ['same', 'x'],
    env: [['LANG', 'C'] as const],
    files: [{ path: '/in', bytes: bytes('one\ntwo\n') }],
  }));
  return { ...plain, world: { ...plain.world, nodes } };
}

describe('pieces of input', () => {
  it('are shared by nodes that are given the same', () => {
    const pieces = inputPieces(given());
    expect(pieces.map(({ kind, nodes }) => [kind, nodes])).toEqual([
      ['argument', [0, 1]],
      ['argument', [0, 1, 2]],
      ['variable', [0, 1, 2]],
      ['file', [0, 1, 2]],
      ['argument', [2]],
    ]);
    expect(inputSize(given())).toBe(4 + 4 + 5 + 3 + 3 + 3 * 8);
  });

  it('are left out together, whatever their places', () => {
    const pieces = inputPieces(given());
    const left = withoutPieces(
      given(),
      pieces.filter(({ nodes, kind }) => nodes.length === 2 || kind !== 'argument'),
    );
    expect(left.world.nodes.map(({ args, env, files }) => [args, env, files])).toEqual([
      [['x'], [], []],
      [['x'], [], []],
      [['other', 'x'], [], []],
    ]);
  });

  it('can have other texts', () => {
    const [argument, , variable, file] = inputPieces(given());
    let changed = given();
    for (const piece of [argument, variable, file]) {
      if (piece !== undefined) changed = withBytes(changed, piece, bytes('é'));
    }
    const [first, , last] = changed.world.nodes;
    expect([first?.args, last?.args]).toEqual([
      ['é', 'x'],
      ['other', 'x'],
    ]);
    expect(last?.env).toEqual([['LANG', 'é']]);
    expect(last?.files).toEqual([{ path: '/in', bytes: bytes('é') }]);
  });

  it('are cut into lines, words and characters, none of them broken', () => {
    const text = 'one, two\nthree é\uD83D\uDE00 four';
    const cut = GRAINS.map((grain) => {
      return cutBytes(bytes(text), grain).map((part) => Buffer.from(part).toString());
    });
    expect(cut[0]).toEqual(['one, two\n', 'three é\uD83D\uDE00 four']);
    expect(cut[1]).toEqual(['one,', ' ', 'two\n', 'three ', 'é\uD83D\uDE00 ', 'four']);
    expect(cut[2]).toEqual(Array.from(text));
    for (const grain of GRAINS) {
      expect(Buffer.from(joinBytes(cutBytes(bytes(text), grain))).toString()).toBe(text);
    }
    expect(cutBytes(bytes('--option'), 'words')).toEqual([]);
    expect(cutBytes(bytes('one line that has no end'), 'lines')).toEqual([]);
  });
});
