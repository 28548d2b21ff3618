import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type YAMLError,
} from 'yaml';
import { SimError } from '../sim/index.ts';
import {
  formatPlace,
  type KeyPath,
  type PlainTable,
  type PlainValue,
  type Position,
} from './toml.ts';

/** A parsed YAML text: its values, and where each of them stands. */
export interface ParsedYaml {
  readonly value: PlainTable;
  /** The position of the key or item at `path`, or of the nearest holder that exists. */
  locate(path: KeyPath): Position;
}

/** A world file is at most this long: 1 MiB. */
export const YAML_LENGTH_MAX = 1024 * 1024;
const DEPTH_MAX = 16;

/** Parses YAML 1.2. Throws `scenario/yaml` with the place of what is wrong and how to mend it. */
export function parseYaml(text: string, file: string): ParsedYaml {
  if (text.length > YAML_LENGTH_MAX) {
    const message = `the text has ${text.length} characters, the limit is ${YAML_LENGTH_MAX}`;
    throw new SimError({ code: 'scenario/limit', message, place: file });
  }
  checkDepth(text, file);
  const lines = new LineCounter();
  const document = read(text, file, lines);
  const error = document.errors[0];
  if (error !== undefined) throw syntaxError(error, text, file, lines);
  const builder = new TreeBuilder(file, lines);
  const value = document.contents === null ? {} : builder.plain(document.contents, []);
  if (typeof value !== 'object' || Array.isArray(value)) {
    const place = formatPlace(file, { line: 1, column: 1 }, []);
    throw new SimError({ code: 'scenario/yaml', message: 'a world file is a map', place });
  }
  return { value, locate: (path) => builder.locate(path) };
}

/** Refuses deep nesting before it is parsed, which takes time that grows with its square. */
function checkDepth(text: string, file: string): void {
  let flow = 0;
  let block = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') flow++;
    else if (token === ']' || token === '}') flow--;
    else if (token === '-' || token === '?') block++;
    else if (token.startsWith('\n')) block = 0;
    if (flow <= DEPTH_MAX && block <= DEPTH_MAX) continue;
    throw new SimError({
      code: 'scenario/yaml',
      message: `values nest deeper than ${DEPTH_MAX}`,
      place: file,
      remedy: 'world files nest seven levels at most',
    });
  }
}

function read(text: string, file: string, lineCounter: LineCounter): Document {
  try {
    return parseDocument(text, { lineCounter, merge: false, uniqueKeys: true, version: '1.2' });
  } catch (error) {
    // The parser recurses: what nests too deep for it runs out of stack.
    if (!(error instanceof RangeError)) throw error;
    const message = 'not acceptable YAML: values nest too deep';
    throw new SimError({ code: 'scenario/yaml', message, place: file, cause: error });
  }
}

function syntaxError(error: YAMLError, text: string, file: string, lines: LineCounter): SimError {
  const { line, col: column } = lines.linePos(error.pos[0]);
  const said = (error.message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '');
  const shown = text.split('\n')[line - 1] ?? '';
  const isFlowType = /\{.*\b(?:enum|ref)\[/.test(shown);
  return new SimError({
    code: 'scenario/yaml',
    message: isFlowType
      ? 'not YAML: a type with brackets cannot stand bare within braces'
      : `not YAML: ${said.charAt(0).toLowerCase()}${said.slice(1)}`,
    place: formatPlace(file, { line, column }, []),
    remedy: isFlowType
      ? 'put it into quotes, { status: "enum[a, b]" }, or on a line of its own'
      : 'mend the text at this place',
    cause: error,
  });
}

class TreeBuilder {
  private readonly file: string;
  private readonly lines: LineCounter;
  private readonly positions = new Map<string, Position>();

  constructor(file: string, lines: LineCounter) {
    this.file = file;
    this.lines = lines;
  }

  locate(path: KeyPath): Position {
    for (let length = path.length; length > 0; length--) {
      const position = this.positions.get(JSON.stringify(path.slice(0, length)));
      if (position !== undefined) return position;
    }
    return { line: 1, column: 1 };
  }

  /** The plain value of a node; a null is as if the key did not stand there. */
  plain(node: Node, path: KeyPath): PlainValue | undefined {
    if (path.length > DEPTH_MAX)
      return this.refuse(node, path, `it nests deeper than ${DEPTH_MAX}`);
    if (isAlias(node)) return this.refuse(node, path, 'an alias has no place in a world file');
    if (isMap(node)) {
      const table: PlainTable = {};
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : '';
        if (name === '' || name === '__proto__') {
          return this.refuse((key ?? node) as Node, path, 'a key is a plain text');
        }
        const place = [...path, name];
        this.mark(place, key as Node);
        const plain = value === null ? undefined : this.plain(value as Node, place);
        if (plain !== undefined) table[name] = plain;
      }
      return table;
    }
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        const place = [...path, index];
        this.mark(place, item as Node);
        return this.plain(item as Node, place) ?? this.refuse(item as Node, place, 'it is empty');
      });
    }
    const value: unknown = isScalar(node) ? node.value : undefined;
    if (value === null) return undefined;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      return value;
    }
    return this.refuse(node, path, 'it is no text, number, true or false');
  }

  private mark(path: KeyPath, node: Node): void {
    this.positions.set(JSON.stringify(path), this.position(node));
  }

  private position(node: Node): Position {
    const { line, col: column } = this.lines.linePos(node.range?.[0] ?? 0);
    return { line, column };
  }

  private refuse(node: Node, path: KeyPath, why: string): never {
    throw new SimError({
      code: 'scenario/value',
      message: why,
      place: formatPlace(this.file, this.position(node), path),
      remedy: 'world files are plain maps of texts and numbers; see docs/record-worlds.md',
    });
  }
}
