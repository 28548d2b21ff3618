/** A node of a script: an atom, a string (its bytes), or a list; with its place in the source. */
export type Node =
  | { readonly kind: 'atom'; readonly text: string; readonly start: number; readonly end: number }
  | {
      readonly kind: 'string';
      readonly bytes: readonly number[];
      readonly start: number;
      readonly end: number;
    }
  | {
      readonly kind: 'list';
      readonly items: readonly Node[];
      readonly start: number;
      readonly end: number;
    };

export type ListNode = Extract<Node, { kind: 'list' }>;

const ESCAPES: Readonly<Record<string, number>> = {
  t: 9,
  n: 10,
  r: 13,
  '"': 34,
  "'": 39,
  '\\': 92,
};

/** Reads the s-expressions of a `.wast` script (core 2.0, section 6.3, and its comments). */
class Scanner {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** The next node, or null at the end or before a closing parenthesis. */
  node(): Node | null {
    this.#skip();
    const start = this.#at;
    const letter = this.#source[start];
    if (letter === undefined || letter === ')') return null;
    if (letter === '(') return this.#list(start);
    if (letter === '"') return this.#string(start);
    const match = /[^\s()";]+/y;
    match.lastIndex = start;
    const text = match.exec(this.#source)?.[0] ?? '';
    if (text === '') throw new Error(`unexpected ${letter} at ${start}`);
    this.#at = start + text.length;
    return { kind: 'atom', text, start, end: this.#at };
  }

  #list(start: number): Node {
    this.#at += 1;
    const items: Node[] = [];
    for (let item = this.node(); item !== null; item = this.node()) items.push(item);
    if (this.#source[this.#at] !== ')') throw new Error(`unclosed list at ${start}`);
    this.#at += 1;
    return { kind: 'list', items, start, end: this.#at };
  }

  #string(start: number): Node {
    const bytes: number[] = [];
    this.#at += 1;
    for (;;) {
      const letter = this.#source[this.#at];
      if (letter === undefined) throw new Error(`unclosed string at ${start}`);
      if (letter === '"') break;
      if (letter === '\\') this.#escape(bytes);
      else {
        const point = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0);
        bytes.push(...Buffer.from(point, 'utf8'));
        this.#at += point.length;
      }
    }
    this.#at += 1;
    return { kind: 'string', bytes, start, end: this.#at };
  }

  #escape(bytes: number[]): void {
    const next = this.#source[this.#at + 1];
    if (next in ESCAPES) {
      bytes.push(ESCAPES[next]);
      this.#at += 2;
    } else if (next === 'u') {
      const close = this.#source.indexOf('}', this.#at);
      const point = Number.parseInt(this.#source.slice(this.#at + 3, close), 16);
      bytes.push(...Buffer.from(String.fromCodePoint(point), 'utf8'));
      this.#at = close + 1;
    } else {
      bytes.push(Number.parseInt(this.#source.slice(this.#at + 1, this.#at + 3), 16));
      this.#at += 3;
    }
  }

  #skip(): void {
    for (;;) {
      const blank = /(\s|;;[^\n]*)*/y;
      blank.lastIndex = this.#at;
      this.#at += blank.exec(this.#source)?.[0].length ?? 0;
      if (!this.#source.startsWith('(;', this.#at)) return;
      this.#blockComment();
    }
  }

  #blockComment(): void {
    let nesting = 0;
    do {
      if (this.#source.startsWith('(;', this.#at)) {
        nesting += 1;
        this.#at += 2;
      } else if (this.#source.startsWith(';)', this.#at)) {
        nesting -= 1;
        this.#at += 2;
      } else {
        this.#at += 1;
      }
    } while (nesting > 0 && this.#at < this.#source.length);
  }
}

/** The top-level lists of a script. */
export function parseScript(source: string): ListNode[] {
  const scanner = new Scanner(source);
  const nodes: ListNode[] = [];
  for (let node = scanner.node(); node !== null; node = scanner.node()) {
    if (node.kind !== 'list') throw new Error(`no list at ${node.start}`);
    nodes.push(node);
  }
  return nodes;
}

/** The first word of a list. */
export function headOf(node: Node): string {
  if (node.kind !== 'list') return '';
  const head = node.items.at(0);
  return head?.kind === 'atom' ? head.text : '';
}

/** A string node as text. */
export function textOf(node: Node | undefined): string {
  return node?.kind === 'string' ? Buffer.from(node.bytes).toString('utf8') : '';
}
