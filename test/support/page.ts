import { readFileSync } from 'node:fs';

/** Code as it stands on a page. */
export interface PageBlock {
  /** What stands behind its fence; empty for an indented block. */
  readonly language: string;
  readonly text: string;
  /** Where it begins, counting from 1. */
  readonly line: number;
}

/** A page of docs/, of which tests run the code: each block is taken by the test that runs it. */
export class Page {
  readonly text: string;
  private readonly blocks: PageBlock[];

  constructor(path: string) {
    this.text = readFileSync(path, 'utf8');
    this.blocks = readBlocks(this.text.split('\n'));
  }

  /** The one block that has this text in it. Throws where there is none, or more than one. */
  take(part: string): string {
    const found = this.blocks.filter(({ text }) => text.includes(part));
    const [block] = found;
    if (block === undefined || found.length > 1) {
      throw new Error(`${found.length} blocks of the page have ${JSON.stringify(part)}`);
    }
    this.blocks.splice(this.blocks.indexOf(block), 1);
    return block.text;
  }

  /** The blocks that nobody has taken. */
  left(): readonly PageBlock[] {
    return this.blocks;
  }

  /** Commands of `sim` within the text of the page. */
  commands(): readonly string[] {
    return [...this.text.matchAll(/`(sim [^`]+)`/g)].map((match) => match[1] ?? '');
  }
}

function readBlocks(lines: readonly string[]): PageBlock[] {
  const blocks: PageBlock[] = [];
  for (let at = 0; at < lines.length; at++) {
    const fence = /^```(\w*)$/.exec(lines[at] ?? '');
    if (fence !== null) {
      const end = lines.indexOf('```', at + 1);
      const text = `${lines.slice(at + 1, end).join('\n')}\n`;
      blocks.push({ language: fence[1] ?? '', text, line: at + 1 });
      at = end;
    } else if (isIndented(lines[at]) && lines[at - 1] === '') {
      let end = at;
      while (isIndented(lines[end])) end++;
      const text = `${lines
        .slice(at, end)
        .map((line) => line.slice(4))
        .join('\n')}\n`;
      blocks.push({ language: '', text, line: at + 1 });
      at = end;
    }
  }
  return blocks;
}

function isIndented(line: string | undefined): boolean {
  return line?.startsWith('    ') === true;
}
