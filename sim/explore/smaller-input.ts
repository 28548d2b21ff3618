import { encodeUtf8, decodeUtf8 } from '../kernel/utf8.ts';
import type { NodeDef, ScenarioDef } from '../plan/scenario.ts';

/**
 * A piece of what programs are given: an argument, a variable of the environment, or a file that
 * stands on the disk before the start. Nodes of one guest that are given the same share the piece.
 */
export interface InputPiece {
  readonly nodes: readonly number[];
  readonly kind: 'argument' | 'variable' | 'file';
  /** Its place among the arguments, or among the variables or files of its nodes. */
  readonly place: number;
  readonly bytes: Uint8Array;
}

/** A text of fewer bytes is a word: it is kept or left out, but not cut, which gains nothing. */
export const WORD_BYTES = 16;

/** All pieces of input of a scenario, those of the first nodes first. */
export function inputPieces({ world }: ScenarioDef): readonly InputPiece[] {
  const pieces: Shared[] = [];
  const named = new Map<string, Shared[]>();
  world.nodes.forEach((node, index) => {
    const add = (
      kind: InputPiece['kind'],
      place: number,
      name: string,
      bytes: Uint8Array,
    ): void => {
      const key = [node.guest.image, kind, place, name].join('\n');
      const alike = named.get(key) ?? [];
      const known = alike.find((one) => isEqual(one.bytes, bytes));
      if (known !== undefined) return void known.nodes.push(index);
      const piece = { nodes: [index], kind, place, bytes };
      named.set(key, [...alike, piece]);
      pieces.push(piece);
    };
    node.args.forEach((text, place) => add('argument', place, '', encodeUtf8(text)));
    node.env.forEach(([name, value], place) => add('variable', place, name, encodeUtf8(value)));
    node.files.forEach(({ path, bytes }, place) => add('file', place, path, bytes));
  });
  return pieces;
}

interface Shared extends InputPiece {
  readonly nodes: number[];
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** The scenario without these pieces; the places of others are those that `inputPieces` gave. */
export function withoutPieces(scenario: ScenarioDef, gone: readonly InputPiece[]): ScenarioDef {
  return changeNodes(scenario, (node, index) => {
    const stays =
      (kind: InputPiece['kind']) =>
      (_: unknown, place: number): boolean => {
        return !gone.some((one) => {
          return one.kind === kind && one.place === place && one.nodes.includes(index);
        });
      };
    return {
      ...node,
      args: node.args.filter(stays('argument')),
      env: node.env.filter(stays('variable')),
      files: node.files.filter(stays('file')),
    };
  });
}

/** The scenario in which a piece has another text. */
export function withBytes(
  scenario: ScenarioDef,
  piece: InputPiece,
  bytes: Uint8Array,
): ScenarioDef {
  const { nodes, kind, place } = piece;
  return changeNodes(scenario, (node, index) => {
    if (!nodes.includes(index)) return node;
    switch (kind) {
      case 'argument':
        return { ...node, args: replaced(node.args, place, () => decodeUtf8(bytes)) };
      case 'variable':
        return {
          ...node,
          env: replaced(node.env, place, ([name]) => [name, decodeUtf8(bytes)] as const),
        };
      case 'file':
        return { ...node, files: replaced(node.files, place, (file) => ({ ...file, bytes })) };
    }
  });
}

/** How many bytes of input all nodes are given together, names not counted. */
export function inputSize(scenario: ScenarioDef): number {
  return inputPieces(scenario).reduce((sum, { nodes, bytes }) => {
    return sum + nodes.length * bytes.length;
  }, 0);
}

/** The ways to cut a text, from coarse to fine: its lines, its words, its characters. */
export type Grain = 'lines' | 'words' | 'characters';

export const GRAINS: readonly Grain[] = ['lines', 'words', 'characters'];

/**
 * The parts of a text, which together are the text; nothing where it falls into one part. Bytes that are no UTF-8 count as characters of one byte each.
 */
export function cutBytes(bytes: Uint8Array, grain: Grain): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (let end = 1; end <= bytes.length; end++) {
    if (end < bytes.length && !isCut(bytes, end, grain)) continue;
    parts.push(bytes.subarray(from, end));
    from = end;
  }
  return parts.length < 2 ? [] : parts;
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

const LINE_FEED = 10;
const SPACES: ReadonlySet<number> = new Set([9, LINE_FEED, 13, 32]);
const COMMA = 44;

function isCut(bytes: Uint8Array, at: number, grain: Grain): boolean {
  const before = bytes[at - 1] as number;
  switch (grain) {
    case 'lines':
      return before === LINE_FEED;
    case 'words':
      return SPACES.has(before) || before === COMMA;
    case 'characters':
      // Bytes that go on with a character of UTF-8 have the highest bits 10.
      return ((bytes[at] as number) & 0xc0) !== 0x80;
  }
}

function changeNodes(
  scenario: ScenarioDef,
  change: (node: NodeDef, index: number) => NodeDef,
): ScenarioDef {
  const { world } = scenario;
  return { ...scenario, world: { ...world, nodes: world.nodes.map(change) } };
}

function replaced<T>(items: readonly T[], place: number, change: (item: T) => T): readonly T[] {
  return items.map((item, at) => (at === place ? change(item) : item));
}
