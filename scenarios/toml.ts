import { parseTOML, ParseError, type AST } from 'toml-eslint-parser';
import { SimError } from '../sim/index.ts';

/** A key path such as `['node', 1, 'guest']`. */
export type KeyPath = readonly (string | number)[];

/** A point of a text: both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What TOML values become: no floats and no dates, since a scenario has neither (CR-8). */
export type PlainValue = string | number | boolean | PlainValue[] | PlainTable;
export interface PlainTable {
  [key: string]: PlainValue;
}

/** A parsed text: its values, and where each of them stands. */
export interface ParsedToml {
  readonly value: PlainTable;
  /** The position of the key or item at `path`, or of the nearest holder that exists. */
  locate(path: KeyPath): Position;
}

/** A scenario's text is at most this long: 1 MiB. */
export const TOML_LENGTH_MAX = 1024 * 1024;
/** Keys nest at most this deep; the schema needs five levels. */
const PATH_LENGTH_MAX = 16;

/** Parses TOML 1.0. Throws `scenario/toml` with the place of what is wrong. */
export function parseToml(text: string, file: string): ParsedToml {
  if (text.length > TOML_LENGTH_MAX) {
    throw new SimError({
      code: 'scenario/limit',
      message: `the text has ${text.length} characters, the limit is ${TOML_LENGTH_MAX}`,
      place: file,
    });
  }
  const builder = new TreeBuilder(file);
  for (const item of parse(text, file).body[0].body) {
    if (item.type === 'TOMLKeyValue') builder.keyValue(builder.value, [], item);
    else builder.table(item);
  }
  return builder;
}

/** `file:line:column: key.path`, the way places are written. */
export function formatPlace(file: string, position: Position, path: KeyPath): string {
  const place = `${file}:${position.line}:${position.column}`;
  return path.length === 0 ? place : `${place}: ${formatPath(path)}`;
}

export function formatPath(path: KeyPath): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else text += text === '' ? key : `.${key}`;
  }
  return text;
}

function parse(text: string, file: string): AST.TOMLProgram {
  try {
    return parseTOML(text, { tomlVersion: '1.0' });
  } catch (error) {
    if (error instanceof ParseError) {
      const position = { line: error.lineNumber, column: error.column + 1 };
      throw new SimError({
        code: 'scenario/toml',
        message: `not TOML: ${lowerFirst(error.message)}`,
        place: formatPlace(file, position, []),
        cause: error,
      });
    }
    // The parser recurses: what nests too deep for it runs out of stack.
    if (error instanceof RangeError) {
      throw new SimError({
        code: 'scenario/toml',
        message: 'not acceptable TOML: values nest too deep',
        place: file,
        cause: error,
      });
    }
    throw error;
  }
}

class TreeBuilder implements ParsedToml {
  readonly value: PlainTable = {};
  private readonly file: string;
  private readonly positions = new Map<string, Position>();

  constructor(file: string) {
    this.file = file;
  }

  locate(path: KeyPath): Position {
    for (let length = path.length; length > 0; length--) {
      const position = this.positions.get(JSON.stringify(path.slice(0, length)));
      if (position !== undefined) return position;
    }
    return { line: 1, column: 1 };
  }

  table(table: AST.TOMLTable): void {
    const path = table.resolvedKey;
    this.checkPath(table, path);
    this.mark(path, table.key.loc.start);
    const holder = descend(this.value, path);
    for (const item of table.body) this.keyValue(holder, path, item);
  }

  /** Sets `item` within `holder`, which stands at `base`. */
  keyValue(holder: PlainTable, base: KeyPath, item: AST.TOMLKeyValue): void {
    const keys = item.key.keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value));
    const path = [...base, ...keys];
    this.checkPath(item, path);
    this.mark(path, item.key.loc.start);
    const inner = descend(holder, keys.slice(0, -1));
    inner[keys[keys.length - 1] as string] = this.plain(item.value, path);
  }

  private plain(node: AST.TOMLContentNode, path: KeyPath): PlainValue {
    switch (node.type) {
      case 'TOMLArray':
        return node.elements.map((element, index) => {
          this.mark([...path, index], element.loc.start);
          return this.plain(element, [...path, index]);
        });
      case 'TOMLInlineTable': {
        const table: PlainTable = {};
        for (const item of node.body) this.keyValue(table, path, item);
        return table;
      }
      case 'TOMLValue':
        return this.scalar(node, path);
    }
  }

  private checkPath(node: AST.TOMLNode, path: KeyPath): void {
    if (path.length > PATH_LENGTH_MAX) {
      this.refuse(node, [], `keys nest deeper than ${PATH_LENGTH_MAX}`);
    }
    // Not a name that any table here uses, and one that objects treat apart.
    if (path.includes('__proto__')) this.refuse(node, [], '"__proto__" is no key');
  }

  private scalar(node: AST.TOMLValue, path: KeyPath): PlainValue {
    switch (node.kind) {
      case 'string':
      case 'boolean':
        return node.value;
      case 'integer':
        if (!Number.isSafeInteger(Number(node.bigint))) {
          return this.refuse(node, path, `${node.number} is not within -(2^53 - 1) to 2^53 - 1`);
        }
        return Number(node.bigint);
      case 'float':
        return this.refuse(
          node,
          path,
          `${node.number} is a fraction; spans are texts like "5ms", shares like "0.1%"`,
        );
      default:
        return this.refuse(node, path, 'a date or a time of day has no place in a scenario');
    }
  }

  private mark(path: KeyPath, start: AST.Position): void {
    const key = JSON.stringify(path);
    if (this.positions.has(key)) return;
    this.positions.set(key, { line: start.line, column: start.column + 1 });
  }

  private refuse(node: AST.TOMLNode, path: KeyPath, why: string): never {
    const { line, column } = node.loc.start;
    throw new SimError({
      code: 'scenario/value',
      message: why,
      place: formatPlace(this.file, { line, column: column + 1 }, path),
    });
  }
}

/** The table at `path` below `root`; tables and lists are made where they are missing. */
function descend(root: PlainTable, path: KeyPath): PlainTable {
  let holder: PlainValue = root;
  path.forEach((key, index) => {
    const empty = typeof path[index + 1] === 'number' ? [] : {};
    if (typeof key === 'number') {
      const list = holder as PlainValue[];
      if (key === list.length) list.push(empty);
      holder = list[key] as PlainValue;
    } else {
      const table = holder as PlainTable;
      if (!Object.hasOwn(table, key)) table[key] = empty;
      holder = table[key] as PlainValue;
    }
  });
  return holder as PlainTable;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
