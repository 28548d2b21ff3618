import { createHash } from 'node:crypto';
import { DISPLAY_NAME, type ErrorCode, type GuestDef } from '../sim/index.ts';
import type { ScenarioFiles, SourceFile } from './compile.ts';
import type { Issue } from './issues.ts';
import { didYouMean } from './suggest.ts';
import type { KeyPath } from './toml.ts';

/** What the steps of one compilation share: the nodes' names, the files read, the issues found. */
export class CompileContext {
  readonly issues: Issue[] = [];
  readonly images = new Map<string, Uint8Array>();
  /** The scenario's guests by label. */
  guests: ReadonlyMap<string, GuestDef> = new Map();
  nodeNames: readonly string[] = [];
  readonly files: ScenarioFiles;
  private readonly indexes = new Map<string, number>();
  private readonly read = new Map<string, Uint8Array>();

  constructor(files: ScenarioFiles) {
    this.files = files;
  }

  fail(name: string, path: KeyPath, message: string, remedy?: string): void {
    const code: ErrorCode = `scenario/${name}`;
    this.issues.push({ code, path, message, ...(remedy === undefined ? {} : { remedy }) });
  }

  setNodeNames(names: readonly string[]): void {
    this.nodeNames = names;
    names.forEach((name, index) => this.indexes.set(name, index));
  }

  /** The index of the node of that name, or -1 after an issue. */
  nodeIndex(name: string, path: KeyPath): number {
    const index = this.indexes.get(name);
    if (index !== undefined) return index;
    const names = this.nodeNames;
    const some = names.slice(0, 12).join(', ') + (names.length > 12 ? ', …' : '');
    const meant = didYouMean(name, names);
    this.fail('dangling', path, `no node is called "${name}"${meant}; the nodes are ${some}`);
    return -1;
  }

  /** The indexes of the named nodes, ascending; one that stands twice is an issue. */
  nodeIndexes(names: readonly string[], path: KeyPath): number[] {
    const seen = new Set<number>();
    names.forEach((name, at) => {
      const index = this.nodeIndex(name, [...path, at]);
      if (index >= 0 && seen.has(index)) {
        this.fail('duplicate', [...path, at], `"${name}" stands twice`);
      }
      seen.add(index);
    });
    return [...seen].filter((index) => index >= 0).sort((a, b) => a - b);
  }

  /** The indexes of the named nodes, or of all nodes where none are named. */
  nodesOrAll(names: readonly string[] | undefined, path: KeyPath): number[] {
    if (names === undefined) return this.nodeNames.map((_, index) => index);
    return this.nodeIndexes(names, path);
  }

  /** Checks the name of an event or property and that it stands once. */
  displayName(name: string, path: KeyPath, seen: Set<string>): void {
    if (!DISPLAY_NAME.test(name)) {
      this.fail(
        'name',
        path,
        `${JSON.stringify(name)} is no name: letters, digits, spaces and ._:- are allowed`,
      );
    }
    if (seen.has(name)) this.fail('duplicate', path, `the name "${name}" stands twice`);
    seen.add(name);
  }

  /** Keeps an image; returns its SHA-256. */
  addImage(bytes: Uint8Array): string {
    const image = createHash('sha256').update(bytes).digest('hex');
    this.images.set(image, bytes);
    return image;
  }

  /** The bytes of a file that a `source` key names; they are kept for the bundle. */
  readSource(path: string): Uint8Array {
    const known = this.read.get(path);
    if (known !== undefined) return known;
    const bytes = this.files.read(path);
    this.read.set(path, bytes);
    return bytes;
  }

  /** The source files that were read, under names that stay inside a folder. */
  sources(): readonly SourceFile[] {
    return [...this.read].map(([path, bytes]) => ({ name: plainName(path), bytes }));
  }
}

/** `../a/./b c` becomes `up/a/b c`: relative, without steps out of the folder. */
function plainName(path: string): string {
  const parts = path.split(/[/\\]/).filter((part) => part !== '' && part !== '.');
  return parts.map((part) => (part === '..' ? 'up' : part)).join('/');
}
